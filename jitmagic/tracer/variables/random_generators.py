"""``np.random.Generator`` and ``RandomState``: a node that draws are made from, in program order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.graph.node import Node
from jitmagic.ops.draws import draw
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["GeneratorTracker"]


class GeneratorTracker(VariableTracker):
    """A random generator. ``node`` is an input, or the call that made it."""

    immutable = False

    def __init__(self, node: Node, kind: type, source: Source | None = None, value: Any = NO_OBJECT) -> None:
        self.node = node
        self.kind = kind
        self.source = source
        self.value = value

    def python_type(self) -> type:
        return self.kind

    def real_object(self) -> Any:
        return self.value

    def truth(self, tx: Evaluator) -> bool:
        return True

    def has(self, function: Any) -> bool:
        """Whether ``function`` is a method of its class."""
        return getattr(self.kind, getattr(function, "__name__", ""), None) is function

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        draw(self.kind, name)
        return DrawMethod(self, name)

    def reconstruct(self, emit: Emitter) -> str:
        return emit.output(self.node)


class DrawMethod(VariableTracker):
    """A method of a generator, not called yet."""

    def __init__(self, generator: GeneratorTracker, name: str) -> None:
        self.generator = generator
        self.name = name

    def describe(self) -> str:
        return f"{self.generator.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return tx.call_op(draw(self.generator.kind, self.name), [self.generator, *args], kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.generator)}.{self.name}"
