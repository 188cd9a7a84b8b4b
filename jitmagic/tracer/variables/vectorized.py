"""What ``np.vectorize`` makes: a function of numbers that is called for every element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.tracer.guards import AttributeSource, Source
from jitmagic.tracer.guards.kinds import type_guard
from jitmagic.tracer.variables.base import VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Vectorized", "is_vectorize", "wrap_vectorize"]

SETTINGS = ("otypes", "excluded", "cache", "signature")


class Vectorized(VariableTracker):
    """``settings`` are the keywords it was made with."""

    def __init__(
        self, function: VariableTracker, settings: Mapping[str, VariableTracker], source: Source | None = None
    ) -> None:
        self.function = function
        self.settings = dict(settings)
        self.source = source

    def python_type(self) -> type:
        return np.vectorize

    def describe(self) -> str:
        return f"np.vectorize({self.function.describe()})"

    def truth(self, tx: Evaluator) -> bool:
        return True

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return tx.language.builtins[Vectorized](tx, self, args, kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        named = ", ".join(f"{k}={emit.value(v)}" for k, v in self.settings.items())
        return f"{emit.constant(np.vectorize)}({emit.value(self.function)}, {named})"


def is_vectorize(value: Any) -> bool:
    return type(value) is np.vectorize


def wrap_vectorize(builder: Builder, value: Any, source: Source) -> VariableTracker:
    """One that existed before the call, guarded by what it is made of."""
    builder.output.guards.add(type_guard(source, type(value)))
    function = builder.wrap(None, value.pyfunc, AttributeSource(source, "pyfunc"))
    settings = {k: builder.wrap(None, getattr(value, k), AttributeSource(source, k)) for k in SETTINGS}
    return Vectorized(function, settings, source)
