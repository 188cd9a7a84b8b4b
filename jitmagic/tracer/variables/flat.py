"""``x.flat``: elements of an array by their number in C order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node, nodes_in
from jitmagic.graph.shapes import hint_of
from jitmagic.ops.registry import by_name
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.iterators import CountedIterator
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.array import ArrayTracker

__all__ = ["Flat", "place_of"]


class Flat(VariableTracker):
    """The elements of ``array``; writes go through ``np.put``, which repeats and leaves out values in the same way."""

    def __init__(self, array: ArrayTracker) -> None:
        self.array = array

    def describe(self) -> str:
        return f"{self.array.describe()}.flat"

    def length(self, tx: Evaluator) -> VariableTracker:
        return wrap_size(self.array.meta.size)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return CountedIterator(int(self.array.meta.size), lambda i: self.item(tx, Constant(i)))

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        if not key.is_constant or type(key.constant()) is not int:
            return tx.call_op(by_name("flat_item"), [self.array, key], {})
        return self.array.item(tx, TupleTracker([Constant(i) for i in place_of(self.array, key.constant())]))

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        places = self._places(tx, key)
        operand = tx.operand(value)
        nodes = list(nodes_in(operand))
        overlaps = any(n.storage is self.array.node.storage for n in nodes)  # the order of reading and writing shows
        if places is None or overlaps or operand in ([], ()) or any(map(_is_empty, nodes)):
            raise Unsupported("store", f"{self.describe()}[...] = ...")
        tx.call_method_form("put", [self.array, places, value])

    def _places(self, tx: Evaluator, key: VariableTracker) -> VariableTracker | None:
        """The numbers of the elements that a known key selects; None where NumPy refuses it or only the run tells."""
        meta = self.array.meta
        if not key.is_constant or meta.is_symbolic or meta.scalar:
            return None
        index, size = key.constant(), int(meta.size)
        if index is Ellipsis:
            index = slice(None)
        if isinstance(index, slice):
            bounds = [Constant(n) for n in index.indices(size)]
            return tx.call_op(by_name("arange"), bounds, {})
        numbers = index if isinstance(index, list) else [index]
        if not numbers or not all(type(n) is int and -size <= n < size for n in numbers):
            return None
        return ListTracker([Constant(n % size) for n in numbers])


def _is_empty(node: Node) -> bool:
    return isinstance(node.meta, ArrayMeta) and 0 in map(hint_of, node.meta.shape)


def place_of(array: ArrayTracker, number: int) -> tuple[int, ...]:
    """The index of an element, counted in C order. Raises Unsupported for none: NumPy words the error."""
    shape = tuple(int(n) for n in array.meta.shape)
    total = math.prod(shape)
    if not -total <= number < total:
        raise Unsupported("subscript", f"{array.describe()} beyond its end")
    return tuple(int(i) for i in np.unravel_index(number % total, shape))
