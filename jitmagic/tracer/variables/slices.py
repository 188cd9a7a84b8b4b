"""Takes the index of an array, gives it with slices whose bounds are sizes that only the data tell: ``x[:x.argmax()]``.

Python's rules for bounds that are negative or too large are part of the graph: what comes out lies inside the axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.graph.shapes import Dim
from jitmagic.ops.python_numbers import SLICE_BOUND
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call, wrap_size
from jitmagic.tracer.variables.sequences import SliceTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["with_known_bounds"]


def with_known_bounds(tx: Evaluator, shape: Sequence[Dim], key: VariableTracker) -> VariableTracker:
    """``key`` for an array of ``shape``, its slice bounds that are numbers of the data as sizes.

    Anything that has no form so is left as it is.
    """
    entries = [tx.realize(e) for e in key.items] if type(key) is TupleTracker else [key]
    axes = _axes(entries, len(shape))
    if axes is None or not any(_is_of_data(tx, e) for e in entries):
        return key
    made = [_bounded(tx, e, shape[a]) if _is_of_data(tx, e) else e for e, a in zip(entries, axes, strict=True)]
    return TupleTracker(made) if type(key) is TupleTracker else made[0]


def _axes(entries: Sequence[VariableTracker], ndim: int) -> list[int] | None:
    """The axis that each entry of an index is for; None where that is not plain to see."""
    rests = [i for i, e in enumerate(entries) if isinstance(e, Constant) and e.value is Ellipsis]
    used = [_is_number(e) or isinstance(e, SliceTracker) for e in entries]
    other = [isinstance(e, Constant) and (e.value is None or e.value is Ellipsis) for e in entries]
    if len(rests) > 1 or sum(used) > ndim or not all(u or o for u, o in zip(used, other, strict=True)):
        return None
    skipped = ndim - sum(used)
    return [sum(used[:i]) + (skipped if rests and i > rests[0] else 0) for i in range(len(entries))]


def _is_number(value: VariableTracker) -> bool:
    known = isinstance(value, Constant) and type(value.value) is int
    return known or isinstance(value, SymbolicInt) or _is_number_of_data(value)


def _is_number_of_data(value: VariableTracker) -> bool:
    if isinstance(value, RunTimeNumber):
        return value.kind is int
    meta: Any = getattr(value, "meta", None)  # of an array
    return meta is not None and meta.ndim == 0 and meta.dtype.kind in "iu"


def _is_of_data(tx: Evaluator, entry: VariableTracker) -> bool:
    """Whether it is a slice that goes forward and has a bound that only the data tell."""
    if not isinstance(entry, SliceTracker):
        return False
    start, stop, step = map(tx.realize, entry.parts)
    forward = isinstance(step, Constant) and (step.value is None or (type(step.value) is int and step.value > 0))
    return forward and any(map(_is_number_of_data, (start, stop)))


def _bounded(tx: Evaluator, entry: VariableTracker, size: Dim) -> SliceTracker:
    assert isinstance(entry, SliceTracker)
    start, stop, step = map(tx.realize, entry.parts)
    return SliceTracker([_bound(tx, start, size), _bound(tx, stop, size), step])


def _bound(tx: Evaluator, value: VariableTracker, size: Dim) -> VariableTracker:
    """Where a bound lies in an axis, as a size: from 0 to ``size``. One number gives one size."""
    if not _is_number_of_data(value):
        return value
    node: Any = value.node  # type: ignore[attr-defined]  # of a number or an array
    graph, key = tx.output.graph, (node, repr(size))
    known = tx.output.slice_bounds.get(key)
    if known is not None and known[0] is graph:
        return SymbolicInt(known[1])
    number = value if isinstance(value, RunTimeNumber) else tx.python_number(value)  # type: ignore[arg-type]  # an array
    place = number_call(tx, SLICE_BOUND, (number, wrap_size(size)))
    assert isinstance(place, RunTimeNumber)
    symbol = tx.output.env.new_run_time_symbol()
    graph.bind(symbol, place.node, None)
    if isinstance(value, RunTimeNumber) or value.meta.scalar:  # type: ignore[attr-defined]  # an array may be written
        tx.output.slice_bounds[key] = (graph, symbol)
    return SymbolicInt(symbol)
