"""What ``sorted`` and ``list.sort`` mean over trackers: by keys that are known, by tracing ``<``, or by an operation.

Python compares in an order of its own, which is kept: the comparisons are those that ``sorted`` itself asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.operators import compare
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.sequences import ListTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["sort"]


def sort(
    tx: Evaluator, items: Sequence[VariableTracker], key: VariableTracker | None, reverse: VariableTracker | None
) -> list[VariableTracker]:
    """The items in order."""
    real = [tx.realize(v) for v in items]
    is_plain = key is None or (key.is_constant and key.constant() is None)
    keys = real if is_plain or key is None else [tx.realize(key.call(tx, [v], {})) for v in real]
    backwards = reverse is not None and tx.truth(reverse)
    if all(map(_is_number, keys)) and any(isinstance(k, ArrayTracker) for k in keys):
        return _by_data(tx, real, keys, backwards)
    places = range(len(real))
    try:
        if any(isinstance(k, RunTimeNumber) or not k.is_constant for k in keys):
            asked = [_Asked(tx, k) for k in keys]
            return [real[i] for i in sorted(places, key=asked.__getitem__, reverse=backwards)]
        known = [k.constant() for k in keys]
        return [real[i] for i in sorted(places, key=known.__getitem__, reverse=backwards)]
    except TypeError as error:
        raise Raised(error) from None


class _Asked:
    """A key whose ``<`` is traced."""

    def __init__(self, tx: Evaluator, value: VariableTracker) -> None:
        self.tx = tx
        self.value = value

    def __lt__(self, other: _Asked) -> bool:
        return self.tx.truth(compare(self.tx, "lt", self.value, other.value))


# -- numbers that only the data tell
def _is_number(value: VariableTracker) -> bool:
    return isinstance(value, ArrayTracker) and value.meta.scalar and value.meta.dtype.kind in "fiub"


def _by_data(
    tx: Evaluator, items: list[VariableTracker], keys: list[VariableTracker], backwards: bool
) -> list[VariableTracker]:
    """NumPy scalars of one dtype; what is sorted by them are they themselves, or ints."""
    if tx.output.differentiating or len({k.meta.dtype for k in keys if isinstance(k, ArrayTracker)}) != 1:
        raise Unsupported("data-number", "sorted()")
    whole = all(isinstance(v, Constant) and type(v.value) is int and abs(v.value) < 2**62 for v in items)
    if keys is not items and not whole:
        raise Unsupported("data-number", "sorted() of values other than numbers")
    stacked = tx.call_form(*row_of(np.array), [ListTracker(keys)], {})
    order = tx.call_op(_ORDER, [stacked, Constant(backwards)], {})
    if keys is items:
        chosen = stacked.item(tx, order)
        return [tx.realize(chosen.item(tx, Constant(i))) for i in range(len(items))]
    table = tx.output.builder.constant_object(tx, np.array([v.constant() for v in items]))
    chosen = table.item(tx, order)
    return [tx.python_number(chosen.item(tx, Constant(i))) for i in range(len(items))]  # type: ignore[arg-type]  # an array of one number


def _in_order(keys: np.ndarray[Any, Any], backwards: bool) -> np.ndarray[Any, Any]:
    """What Python's own sort makes of the numbers of ``keys``; nan has no place, so it is asked where there is one."""
    if keys.dtype.kind != "f" or not np.isnan(keys).any():
        if not backwards:
            return np.argsort(keys, kind="stable")
        return (len(keys) - 1 - np.argsort(keys[::-1], kind="stable"))[::-1].copy()
    scalars = list(keys)
    return np.array(sorted(range(len(scalars)), key=scalars.__getitem__, reverse=backwards), np.intp)


def _order_rule(call: Arguments) -> Inferred:
    return Inferred(ArrayMeta.dense(np.dtype(np.intp), call.args[0].shape))


_ORDER = Op("sorted_order", _in_order, _order_rule)
