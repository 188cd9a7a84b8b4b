"""Lists of numbers whose elements lie in an array of the graph: what a loop or comprehension has put together.

Such a list becomes Python objects only where something asks for them one by one, or where it leaves the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.region import KINDS
from jitmagic.graph.region_call import tagged_list
from jitmagic.graph.shapes import SymInt, hint_of
from jitmagic.ops.conversions import TO_LIST
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import wrap_size

if TYPE_CHECKING:
    from jitmagic.graph.node import Node
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.array import ArrayTracker
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Growing", "Held", "Mixed", "Repeated"]

MOST_ITEMS = 256  # that are taken out one by one
LISTED = 64  # that are results of one operation
PYTHON = {"pyfloat", "pyint", "pybool", "pycomplex"}


@dataclass(frozen=True, slots=True)
class Held:
    """``array`` has one axis for each level of lists; ``kind`` is the region's name for the type of the numbers."""

    tx: Evaluator
    array: ArrayTracker
    kind: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types that its numbers may have."""
        return (self.kind,)

    def operand(self) -> Node:
        """What stands for the list in a graph. Raises Unsupported where no array of one dtype does."""
        return self.array.node

    @property
    def is_python(self) -> bool:
        return self.kind in PYTHON

    def length(self) -> VariableTracker:
        return wrap_size(self.array.meta.shape[0])

    def items(self, nested: Any) -> list[VariableTracker]:
        """The elements as values of their own; ``nested(held)`` makes the tracker of a list inside.

        Raises Unsupported for numbers that a graph does not take out of an array, and for too many.
        """
        size = self.array.meta.shape[0]
        if (isinstance(size, SymInt) and size.is_run_time) or hint_of(size) > MOST_ITEMS:
            raise Unsupported("long-loop", f"a list of {size} numbers")
        count = int(size)
        if count <= LISTED and self.array.meta.ndim == 1 and self.is_python and self.array.meta.dtype.kind in "ifb":
            return self._listed(count)
        rows = [self.array.item(self.tx, Constant(i)) for i in range(count)]
        if self.array.meta.ndim > 1:
            return [nested(Held(self.tx, row, self.kind)) for row in rows]  # type: ignore[arg-type]  # rows are arrays
        return [self.tx.python_number(row) for row in rows] if self.is_python else rows  # type: ignore[arg-type]  # numbers of arrays

    def _listed(self, count: int) -> list[VariableTracker]:
        """One operation that gives them all."""
        made: Any = self.tx.call_op(TO_LIST, [self.array], {}) if count else None
        return list(made.items) if made is not None else []

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


@dataclass(frozen=True, slots=True)
class Repeated(Held):
    """A list of one constant, ``value``, as often as a size says."""

    value: VariableTracker

    def items(self, nested: Any) -> list[VariableTracker]:
        return [self.value] * int(self.array.meta.shape[0])


@dataclass(frozen=True, slots=True)
class Mixed(Held):
    """A list of numbers of the types ``all_kinds``; ``tags`` has the index in ``KINDS`` of each."""

    all_kinds: tuple[str, ...]
    tags: ArrayTracker

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.all_kinds

    def operand(self) -> Node:
        kinds = set(self.all_kinds)
        if any(kinds <= same for same in _ONE_DTYPE):
            return self.array.node
        if not kinds <= {"pyint", "int64", "pyfloat", "float64"}:
            raise Unsupported("argument", f"a list of {', '.join(self.all_kinds)}")
        return self.tx.add_node(_WITH_FLOATS, (self.array.node, self.tags.node), {}, self.array.meta)

    def item(self, index: VariableTracker) -> VariableTracker | None:
        return None

    def items(self, nested: Any) -> list[VariableTracker]:
        raise Unsupported("long-loop", "a list of numbers of several types")

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.constant(tagged_list)}({emit.value(self.array)}, {emit.value(self.tags)})"


_ONE_DTYPE = ({"pyfloat", "float64"}, {"pyint", "int64"}, {"pybool", "bool"})
_FLOAT_TAGS = [KINDS.index("pyfloat"), KINDS.index("float64")]


def _with_floats(values: Any, tags: Any) -> Any:
    if not np.isin(tags, _FLOAT_TAGS).any():
        raise Unsupported("region", "a list whose numbers are of another type this time")
    return values


def _copy_rule(call: Arguments) -> Inferred:
    return Inferred(call.args[0])


_WITH_FLOATS = Op("with_floats", lambda values, tags: _with_floats(values, tags).copy(), _copy_rule, raises=True)


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
