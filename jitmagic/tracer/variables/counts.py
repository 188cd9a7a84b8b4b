"""Takes the arguments of a call that makes an array, gives them with sizes in place of numbers that only the data tell.

``n = int(keep.sum())`` and ``x[keep]`` have one size, so that ``out = np.empty(n); out[:] = x[keep]`` asks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.python_numbers import COUNT, NUMBER_OPS, SIZE, NumberOp
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call, wrap_size
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["with_sizes"]

Args = Sequence[VariableTracker]
Named = dict[str, VariableTracker]


def with_sizes(tx: Evaluator, function: Any, args: Args, kwargs: Named) -> tuple[Args, Named]:
    """The arguments of ``function``; they stay as they are if it takes no sizes, or none of the data."""
    rule = RULES.get(function)
    if rule is None or tx.output.differentiating or tx.output.tensors is not None:
        return args, kwargs
    return rule(tx, args, kwargs)


def _shapes(*names: str) -> Callable[[Evaluator, Args, Named], tuple[Args, Named]]:
    """For functions whose first parameters, of these names, are sizes or tuples of sizes."""

    def rule(tx: Evaluator, args: Args, kwargs: Named) -> tuple[Args, Named]:
        first = [_shape(tx, a) for a in args[: len(names)]]
        named = {k: _shape(tx, v) if k in names else v for k, v in kwargs.items()}
        return [*first, *args[len(names) :]], named

    return rule


def _shape(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    value = tx.realize(value)
    if type(value) is TupleTracker or (type(value) is ListTracker and value.held is None):
        return TupleTracker([_size(tx, v, SIZE) for v in value.items])
    return _size(tx, value, SIZE)


def _steps(tx: Evaluator, args: Args, kwargs: Named) -> tuple[Args, Named]:
    """Of ``np.linspace`` and its kin."""
    named = {k: _size(tx, v, SIZE) if k == "num" else v for k, v in kwargs.items()}
    return [*args[:2], *(_size(tx, a, SIZE) for a in args[2:3]), *args[3:]], named


def _stop(tx: Evaluator, args: Args, kwargs: Named) -> tuple[Args, Named]:
    """Of ``np.arange(n)`` and ``np.arange(1, n)``, which are empty where ``n`` is too small.

    Integers of other types than NumPy's own change its dtype.
    """
    first, *others = map(tx.realize, args) if args else [None]
    value = others[0] if others else first
    if len(others) > 1 or value is None or not set(kwargs) <= {"dtype"} or not _is_number_of_data(value):
        return args, kwargs
    if isinstance(value, ArrayTracker) and value.meta.dtype != np.dtype(np.int64):
        return args, kwargs
    if not others:
        return [_size(tx, value, COUNT)], kwargs
    if not isinstance(first, Constant) or type(first.value) is not int:
        return args, kwargs
    number = _number(tx, value)
    length = _size(tx, number_call(tx, NUMBER_OPS["sub"], (number, first)), COUNT)
    assert isinstance(length, SymbolicInt)
    return [first, wrap_size(length.value + first.value)], kwargs


RULES: dict[Any, Callable[[Evaluator, Args, Named], tuple[Args, Named]]] = {
    **dict.fromkeys((np.zeros, np.ones, np.empty, np.full), _shapes("shape")),
    **dict.fromkeys((np.eye, np.tri), _shapes("N", "M")),
    np.identity: _shapes("n"),
    **dict.fromkeys((np.linspace, np.logspace, np.geomspace), _steps),
    np.arange: _stop,
}


def _size(tx: Evaluator, value: VariableTracker, row: NumberOp) -> VariableTracker:
    """A number of the data as a size; anything else as it is."""
    value = tx.realize(value)
    if not _is_number_of_data(value):
        return value
    node: Any = value.node  # type: ignore[attr-defined]  # of a number or an array
    graph = tx.output.graph
    mask = _counted(graph.nodes, node)
    known = None if mask is None else tx.output.selected_by(mask)
    if known is not None:
        return SymbolicInt(known)
    place = number_call(tx, row, (_number(tx, value),))
    assert isinstance(place, RunTimeNumber)
    symbol: SymInt = tx.output.env.new_run_time_symbol()
    graph.bind(symbol, place.node, None)
    if mask is not None:
        tx.output.note_selected(mask, symbol)
    return SymbolicInt(symbol)


def _number(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return value if isinstance(value, RunTimeNumber) else tx.python_number(value)  # type: ignore[arg-type]  # an array


def _is_number_of_data(value: VariableTracker) -> bool:
    if isinstance(value, RunTimeNumber):
        return value.kind is int
    return type(value) is ArrayTracker and value.meta.scalar and value.meta.dtype.kind in "iu"


def _counted(nodes: Sequence[Node], number: Node) -> Node | None:
    """The mask whose true elements ``number`` counts, if it is still what it was then."""
    node = number
    while node.op is not None and node.op.name in CONVERSIONS and isinstance(node.args[0], Node):
        node = node.args[0]
    if node.op is None or node.op.name not in COUNTERS or len(node.args) != 1 or node.kwargs:
        return None
    (mask,) = node.args
    if not isinstance(mask, Node) or not isinstance(mask.meta, ArrayMeta) or mask.meta.dtype.kind != "b":
        return None
    if mask.meta.scalar or node not in nodes:
        return None
    later = nodes[nodes.index(node) :]
    return None if any(w.storage is mask.storage for n in later for w in n.written()) else mask


CONVERSIONS = ("to_int", "py_int")
COUNTERS = ("sum", "count_nonzero")
