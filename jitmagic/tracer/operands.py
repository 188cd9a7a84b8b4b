"""Between trackers and graph operands: what a node may hold, and what a result looks like to the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.node import Node
from jitmagic.ops import Inferred, Op
from jitmagic.ops.conversions import PYTHON_KINDS, TO_PYTHON
from jitmagic.ops.draws import GENERATORS
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.either import Either
from jitmagic.tracer.variables.held import Held
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import OpaqueTracker
from jitmagic.tracer.variables.random_generators import GeneratorTracker
from jitmagic.tracer.variables.sequences import (
    ListTracker,
    RangeTracker,
    SequenceTracker,
    SliceTracker,
    TupleTracker,
)
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["operand", "to_python_number", "wrap_inferred", "wrap_node"]

SAFE_OBJECTS = (np.dtype, np.generic, np.ufunc)


def operand(tx: Evaluator, value: VariableTracker) -> Any:
    """A tracker as an operand: a node, a symbolic size, a constant, or a nesting of these.

    Raises Unsupported for anything that a graph cannot hold.
    """
    value = tx.realize(value)
    convert = _OPERANDS.get(type(value))
    if isinstance(value, OpaqueTracker) and value.code == "dtype":
        raise Unsupported(value.code, value.detail)
    if convert is None:
        raise Unsupported("argument", value.describe())
    if isinstance(value, ListTracker | DictTracker) and contains_itself(value):
        raise Unsupported("self-containing", value.describe())
    return convert(tx, value)


def contains_itself(value: VariableTracker, around: tuple[VariableTracker, ...] = ()) -> bool:
    """Whether a container holds itself, directly or through others."""
    if isinstance(value, Lazy):
        value = value.realize()
    if not isinstance(value, SequenceTracker | DictTracker) or getattr(value, "held", None) is not None:
        return False
    if any(value is each for each in around):
        return True
    parts = value.items.values() if isinstance(value, DictTracker) else value.items
    return any(contains_itself(part, (*around, value)) for part in parts)


def _constant(tx: Evaluator, value: Any) -> Any:
    known = value.value
    if isinstance(known, np.ndarray):
        raise Unsupported("argument", value.describe())
    return known


def _dtype_class(tx: Evaluator, value: Any) -> Any:
    """``np.float32`` or ``float`` where a dtype is meant."""
    if issubclass(value.value, np.generic) or value.value in (bool, int, float, complex):
        return value.value
    raise Unsupported("argument", value.describe())


def _of_held(held: Any) -> Any:
    """A list whose elements lie in arrays."""
    return held.operand() if isinstance(held, Held) else held.array.node


_OPERANDS: dict[type, Callable[[Any, Any], Any]] = {
    ArrayTracker: lambda tx, v: v.node,
    TensorTracker: lambda tx, v: v.node,
    Either: lambda tx, v: v.node,
    RunTimeNumber: lambda tx, v: v.node,
    GeneratorTracker: lambda tx, v: v.node,
    SymbolicInt: lambda tx, v: v.value,
    Constant: _constant,
    TupleTracker: lambda tx, v: tuple(operand(tx, i) for i in v.items),
    NamedTupleTracker: lambda tx, v: tuple(operand(tx, i) for i in v.items),
    ListTracker: lambda tx, v: [operand(tx, i) for i in v.items] if v.held is None else _of_held(v.held),
    SliceTracker: lambda tx, v: slice(*(operand(tx, p) for p in v.parts)),
    RangeTracker: lambda tx, v: v.constant(),
    DictTracker: lambda tx, v: {k: operand(tx, i) for k, i in v.items.items()},
    Lazy: lambda tx, v: operand(tx, v.realize()),
    ClassTracker: _dtype_class,
}


def wrap_node(tx: Evaluator, node: Node, meta: Meta) -> VariableTracker:
    """The tracker of a node's result."""
    if isinstance(meta, ArrayMeta):
        tensors = tx.output.tensors
        if tensors is not None and tensors.gives_tensor(node):
            return TensorTracker(tensors, node, meta)
        return ArrayTracker(node, meta)
    if meta.type in GENERATORS:
        return GeneratorTracker(node, meta.type)
    return RunTimeNumber(node, meta.type)


def wrap_inferred(
    tx: Evaluator, node: Node, inferred: Inferred, operands: Sequence[VariableTracker]
) -> VariableTracker:
    """The tracker of a call's result, with views, run-time sizes and multiple results."""
    meta = inferred.meta
    if tx.output.tensors is not None:
        tx.output.tensors.check_call(node)
    if inferred.view_of is not None:
        node.view_of = node.args[inferred.view_of]
    if inferred.same_as is not None:
        target = node.kwargs["out"] if inferred.same_as == "out" else node.args[inferred.same_as]  # type: ignore[index]  # out= is by name, others by place
        return _same_object(node, target, operands)
    if isinstance(meta, tuple):
        return _wrap_tuple(tx, node, inferred)
    meta = _with_known_sizes(tx, node, inferred)
    node.meta = meta
    return Constant(None) if meta is None else wrap_node(tx, node, meta)


def _with_known_sizes(tx: Evaluator, node: Node, inferred: Inferred) -> Any:
    """The description of a result whose sizes only the data tell; one mask selects as many elements each time."""
    meta = inferred.meta
    for _, axis, symbol in inferred.run_time_sizes:
        mask = _mask_of(node)
        known = None if mask is None else tx.output.selected_by(mask)
        if known is not None and isinstance(meta, ArrayMeta):
            meta = meta.with_shape(tuple(known if n is symbol else n for n in meta.shape))
            continue
        tx.output.graph.bind(symbol, node, axis)
        if mask is not None:
            tx.output.note_selected(mask, symbol)
    return meta


def _mask_of(node: Node) -> Node | None:
    """The boolean array that alone selects the elements of ``x[mask]``."""
    if node.op is None or node.op.name != "getitem" or not isinstance(node.args[1], Node):
        return None
    mask: Node = node.args[1]
    is_mask = isinstance(mask.meta, ArrayMeta) and mask.meta.dtype.kind == "b" and not mask.meta.scalar
    return mask if is_mask else None


def _same_object(node: Node, target: Any, operands: Sequence[VariableTracker]) -> VariableTracker:
    """The tracker of an operand that a call gives back itself; those of several ``out=`` in a tuple."""
    if isinstance(target, tuple):
        return TupleTracker([_operand_of(t, operands) for t in target])
    found = _operand_of(target, operands)
    node.meta = target.meta
    return found


def _operand_of(target: Any, operands: Sequence[VariableTracker]) -> VariableTracker:
    for value in operands:
        for candidate in value.items if isinstance(value, TupleTracker) else [value]:
            real = candidate.realize() if isinstance(candidate, Lazy) else candidate
            if isinstance(real, ArrayTracker) and real.node is target:
                return real
    raise Unsupported("operator", "out=...")


def _wrap_tuple(tx: Evaluator, node: Node, inferred: Inferred) -> VariableTracker:
    assert isinstance(inferred.meta, tuple)
    items: list[VariableTracker] = []
    for index, meta in enumerate(inferred.meta):
        if meta is None:
            items.append(Constant(None))
            continue
        entry = tx.output.graph.item(node, index, meta)
        if inferred.view_of is not None:
            entry.view_of = node.args[inferred.view_of]
        for which, axis, symbol in inferred.run_time_sizes:
            if which == index:
                tx.output.graph.bind(symbol, entry, axis)
        items.append(wrap_node(tx, entry, meta))
    if inferred.container is list:
        return ListTracker(items)
    return TupleTracker(items) if inferred.container is tuple else NamedTupleTracker(inferred.container, items)


def to_python_number(tx: Evaluator, array: ArrayTracker) -> VariableTracker:
    """``array.item()``: a Python number known at run time."""
    if isinstance(array, TensorTracker):  # the number has no history
        array = array.tensors.array_of(array)
    row: Op | None = TO_PYTHON.get(array.meta.dtype.kind)
    if row is None or array.meta.dtype.char in "gG":  # a long double stays one
        raise Unsupported("data-number", f"the number inside {array.describe()}")
    kind = PYTHON_KINDS[array.meta.dtype.kind]
    node = tx.add_node(row, (array.node,), {}, PyMeta(kind))
    return RunTimeNumber(node, kind)
