"""Lists of numbers whose elements lie in an array of the graph: what a loop or comprehension has put together.

Such a list becomes Python objects only where something asks for them one by one, or where it leaves the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import SymInt
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import wrap_size

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.array import ArrayTracker
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Growing", "Held"]

MOST_ITEMS = 256  # that are taken out one by one
PYTHON = {"pyfloat", "pyint", "pybool"}


@dataclass(frozen=True, slots=True)
class Held:
    """``array`` has one axis for each level of lists; ``kind`` is the region's name for the type of the numbers."""

    tx: Evaluator
    array: ArrayTracker
    kind: str

    @property
    def is_python(self) -> bool:
        return self.kind in PYTHON

    def length(self) -> VariableTracker:
        return wrap_size(self.array.meta.shape[0])

    def items(self, nested: Any) -> list[VariableTracker]:
        """The elements as values of their own; ``nested(held)`` makes the tracker of a list inside.

        Raises Unsupported for numbers that a graph does not take out of an array, and for too many.
        """
        count = self.array.meta.shape[0]
        if isinstance(count, SymInt) or count > MOST_ITEMS:
            raise Unsupported("long-loop", f"a list of {count} numbers")
        rows = [self.array.item(self.tx, Constant(i)) for i in range(count)]
        if self.array.meta.ndim > 1:
            return [nested(Held(self.tx, row, self.kind)) for row in rows]  # type: ignore[arg-type]  # rows are arrays
        return [self.tx.python_number(row) for row in rows] if self.is_python else rows  # type: ignore[arg-type]  # numbers of arrays

    def item(self, index: VariableTracker) -> VariableTracker | None:
        """The number there, of a list whose length only the data tell; None for others."""
        if self.array.meta.ndim != 1 or not self.array.meta.is_counted:
            return None
        found = self.array.item(self.tx, index)
        return self.tx.python_number(found) if self.is_python else found  # type: ignore[arg-type]  # a number of an array

    def reconstruct(self, emit: Emitter) -> str:
        text = emit.value(self.array)
        if self.is_python:
            return f"{text}.tolist()"
        depth = self.array.meta.ndim
        return f"list({text})" if depth == 1 else f"[{_nested(depth - 1)} for r in {text}]"


def _nested(depth: int) -> str:
    """Lists of NumPy's numbers inside lists."""
    return "list(r)" if depth == 1 else f"[{_nested(depth - 1)} for r in r]"


class Growing:
    """What a list holds while a loop is recorded that appends to it: nobody may look."""

    is_python = False

    @property
    def array(self) -> ArrayTracker:
        raise Unsupported("region", "a list that is read in the loop that appends to it")

    def length(self) -> VariableTracker:
        raise Unsupported("region", "a list whose length is asked in the loop that appends to it")

    def item(self, index: VariableTracker) -> VariableTracker:
        raise Unsupported("region", "a list that is read in the loop that appends to it")

    def items(self, nested: Any) -> list[VariableTracker]:
        raise Unsupported("region", "a list that is read in the loop that appends to it")

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("region", "a list that is used in the loop that appends to it")
