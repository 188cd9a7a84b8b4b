"""Takes a list or tuple of numbers, gives the array that stands for it in a graph; what a loop writes goes back.

    for v in k:                    a0 = array of the numbers of q          one of the caller is converted at each call
        q[v] += 1          =>      the region, on a copy of a0
                                   q[:] = a0.tolist()                      after the graph

All numbers of a list are of one type, which is asked of the whole list when it is converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.region import KINDS
from jitmagic.graph.region_call import kind_of
from jitmagic.graph.shapes import Dim
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.guards.contents import first_item_guard
from jitmagic.tracer.loops.elements import room_for
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.given_numbers import GivenNumbers
from jitmagic.tracer.variables.held import Held, Mixed
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.number_kinds import DTYPES, number_kind
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["is_many", "numbers_of", "replaced_by", "with_tags"]

MOST_ITEMS = 4096  # of a list that the function has put together number by number


def is_many(value: VariableTracker) -> bool:
    """Whether it is a list of so many numbers that a loop over it is kept a loop."""
    if type(value) is not ListTracker:
        return False
    if value.held is not None:
        return isinstance(value.held, Held) and value.held.array.meta.ndim == 1
    return value.given is not None and not value.is_changed and value.given.is_long and bool(value.given.kind)


def numbers_of(tx: Evaluator, value: SequenceTracker) -> Held:
    """The numbers of a list or tuple as it is now. Raises Unsupported for other contents."""
    if tx.output.differentiating:
        raise refuse("a list, and a derivative")
    if isinstance(value, ListTracker) and value.held is not None:
        if not isinstance(value.held, Held):
            raise refuse("a list that is being put together")
        return value.held
    if isinstance(value, ListTracker) and value.given is not None and not value.is_changed:
        return _given(tx, value.given)
    if not value.items:
        raise refuse(f"a {value.kind.__name__} without elements")
    return _collected(tx, value)


def _collected(tx: Evaluator, value: SequenceTracker) -> Held:
    """Of a list that was made in the trace, or of a tuple."""
    first = value.items[0]
    if all(v is first for v in value.items) and (kind := number_kind(first)) and isinstance(first, Constant):
        dtype = np.dtype(DTYPES.get(kind, kind))
        made = tx.call_form(*row_of(np.full), [Constant(len(value.items)), first, Constant(dtype)], {})
        assert isinstance(made, ArrayTracker)
        return Held(tx, made, kind)
    if len(value.items) > MOST_ITEMS:
        raise refuse(f"a list of {len(value.items)} numbers")
    items = [tx.realize(v) for v in value.items] if isinstance(value, TupleTracker) else value.items
    if (rows := _rows(tx, items)) is not None:
        return _table(tx, value, rows)
    kinds = dict.fromkeys(number_kind(v) for v in items)
    if None not in kinds and len(kinds) > 1:
        return _mixed(tx, items, [str(number_kind(v)) for v in items])
    if None in kinds:
        raise refuse(f"a {value.kind.__name__} of {_words(kinds)}")
    (kind,) = kinds
    operands = [tx.operand(v) for v in items]
    return Held(tx, _made(tx, _COLLECTED, (operands, kind), str(kind), len(operands)), str(kind))


def _mixed(tx: Evaluator, items: Sequence[VariableTracker], kinds: Sequence[str]) -> Mixed:
    """Of numbers of several types, ``[inf, 0, inf]``: a float64 array, and the type of each."""
    different = tuple(dict.fromkeys(kinds))
    room = room_for(different)
    operands = [tx.operand(v) for v in items]
    array = _made(tx, _COLLECTED_MIXED, (operands, tuple(kinds), room), room, len(operands))
    tags = tx.output.builder.constant_object(tx, np.array([KINDS.index(k) for k in kinds], np.int8))
    assert isinstance(tags, ArrayTracker)
    return Mixed(tx, array, "", different, tags)


def _rows(tx: Evaluator, items: Sequence[VariableTracker]) -> list[list[VariableTracker]] | None:
    """The items of sequences of one length; None for other things."""
    given = [v for v in items if isinstance(v, TupleTracker | ListTracker)]
    if len(given) != len(items) or any(isinstance(v, ListTracker) and v.held is not None for v in given):
        return None
    rows = [[tx.realize(item) for item in v.items] for v in given]
    return rows if rows[0] and all(len(row) == len(rows[0]) for row in rows) else None


def _table(tx: Evaluator, value: SequenceTracker, rows: Sequence[Sequence[VariableTracker]]) -> Held:
    """Of constants: ``((0, 1), (1, 0))``; such a table is only read."""
    numbers = [item for row in rows for item in row]
    kinds = {number_kind(item) for item in numbers if isinstance(item, Constant)}
    if not all(isinstance(item, Constant) for item in numbers) or len(kinds) > 1 or not kinds <= {*DTYPES}:
        raise refuse(f"a {value.kind.__name__} of {_words({None: None})}")
    (kind,) = kinds
    array = np.array([[item.constant() for item in row] for row in rows], DTYPES[str(kind)])
    made = tx.output.builder.constant_object(tx, array)
    assert isinstance(made, ArrayTracker)
    return Held(tx, made, str(kind))


def _words(kinds: Mapping[str | None, None]) -> str:
    return "numbers of several types" if None not in kinds else "other things than numbers"


def _given(tx: Evaluator, given: GivenNumbers) -> Held:
    """Of a list of the caller: it is an input of the graph."""
    kind = given.kind
    if not kind:
        raise refuse(f"a list of {given.words}")
    node = tx.output.list_inputs.get(given.source)
    if node is None:
        node = tx.output.list_inputs[given.source] = tx.output.add_input(given.source, PyMeta(list), given.value)
        tx.output.guards.add(first_item_guard(given.source, kind_of(kind)))
    length = tx.operand(given.length())
    return Held(tx, _made(tx, _CONVERTED, (node, kind, length), kind, length), kind)


def _made(tx: Evaluator, op: Op, operands: tuple[Any, ...], kind: str, length: Dim) -> ArrayTracker:
    meta = array_meta(kind, length)
    return ArrayTracker(tx.add_node(op, operands, {}, meta), meta)


def array_meta(kind: str, length: Dim) -> ArrayMeta:
    return ArrayMeta.dense(np.dtype(DTYPES.get(kind, kind)), (length,))


def _as_array(values: Sequence[Any], kind: str) -> Any:
    if set(map(type, values)) != {kind_of(kind)}:
        raise Unsupported("region", "a list whose numbers are of another type this time")
    return np.array(values, DTYPES.get(kind, kind))


def _convert(values: list[Any], kind: str, length: int) -> Any:
    return _as_array(values, kind)


_CONVERTED = Op("numbers", _convert, lambda call: Inferred(array_meta(call.args[1], call.args[2])), raises=True)


def _as_mixed(values: Sequence[Any], kinds: Sequence[str], room: str) -> Any:
    if [*map(type, values)] != [kind_of(k) for k in kinds]:
        raise Unsupported("region", "a list whose numbers are of another type this time")
    if room == "float64" and any(isinstance(v, int | np.integer) and abs(int(v)) > 2**53 for v in values):
        raise Unsupported("region", "an int in a list that no float is equal to")
    return np.array(values, room)


_COLLECTED_MIXED = Op(
    "numbers", _as_mixed, lambda call: Inferred(array_meta(call.args[2], len(call.args[0]))), raises=True
)


def _collected_rule(call: Arguments) -> Inferred:
    return Inferred(array_meta(call.args[1], len(call.args[0])))


_COLLECTED = Op("numbers", _as_array, _collected_rule, raises=True)


def with_tags(tx: Evaluator, held: Held, kinds: tuple[str, ...]) -> Mixed:
    """The list with room for numbers of all these types."""
    if held.array.meta.ndim != 1:
        raise refuse("lists of lists of numbers of several types")
    room = np.dtype(room_for(kinds))
    array, tags = held.array, held.tags if isinstance(held, Mixed) else None
    if array.meta.dtype != room:
        op = _TO_FLOATS if room.kind == "f" and array.meta.dtype.kind in "iu" else _WIDENED
        meta = array_meta(room.name, array.meta.shape[0])
        array = ArrayTracker(tx.add_node(op, (array.node, room), {}, meta), meta)
    if tags is None:
        code = Constant(KINDS.index(held.kind))
        made = tx.call_form(*row_of(np.full), [wrap_size(array.meta.shape[0]), code, Constant(np.dtype("int8"))], {})
        assert isinstance(made, ArrayTracker)
        tags = made
    return Mixed(tx, array, "", kinds, tags)


def _widened_rule(call: Arguments) -> Inferred:
    return Inferred(array_meta(call.args[1].name, call.args[0].shape[0]))


def _to_floats(array: Any, room: np.dtype[Any]) -> Any:
    if array.size and max(-int(array.min()), int(array.max())) > 2**53:
        raise Unsupported("region", "an int in a list that no float is equal to")
    return array.astype(room)


_TO_FLOATS = Op("to_floats", _to_floats, _widened_rule, raises=True)
_WIDENED = Op("widened", lambda array, room: array.astype(room), _widened_rule)


def replaced_by(tx: Evaluator, value: ListTracker, held: Held) -> None:
    """The list has these numbers from now on."""
    value.will_change(tx)
    value.hold(held)
