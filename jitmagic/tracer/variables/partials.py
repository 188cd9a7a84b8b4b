"""``functools.partial``: a callee with some of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["PartialTracker"]


class PartialTracker(VariableTracker):
    """``functools.partial``."""

    def __init__(
        self,
        function: VariableTracker,
        args: Sequence[VariableTracker],
        kwargs: dict[str, VariableTracker],
        source: Source | None = None,
    ) -> None:
        self.function = function
        self.args = list(args)
        self.kwargs = kwargs
        self.source = source

    def python_type(self) -> type:
        return partial

    def describe(self) -> str:
        return self.function.describe()

    def truth(self, tx: Evaluator) -> bool:
        return True

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "func":
            return self.function
        if name == "args":
            return TupleTracker(self.args)
        if name == "keywords" and self.source is None:
            return DictTracker(self.kwargs)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return self.function.call(tx, [*self.args, *args], {**self.kwargs, **kwargs})

    def reconstruct(self, emit: Emitter) -> str:
        parts = [emit.value(self.function), *(emit.value(a) for a in self.args)]
        parts += [f"{k}={emit.value(v)}" for k, v in self.kwargs.items()]
        return f"partial({', '.join(parts)})"
