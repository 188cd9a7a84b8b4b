"""ndarrays and NumPy scalars: a node of the graph with its description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import NumpyVersion

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.ops import lookup_method
from jitmagic.ops.conversions import CONTAINS
from jitmagic.ops.derivatives import DETACH
from jitmagic.ops.registry import lookup_attribute
from jitmagic.tracer.effects import MetadataEffect
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.flat import Flat, place_of
from jitmagic.tracer.variables.iterators import CountedIterator
from jitmagic.tracer.variables.number import SymbolicInt, found_at_run_time, wrap_size
from jitmagic.tracer.variables.sequences import TupleTracker
from jitmagic.tracer.variables.slices import with_known_bounds

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["ArrayMethod", "ArrayTracker", "register_array_method", "stands_for_tensor"]


class ArrayTracker(VariableTracker):
    """An array, or a NumPy scalar if ``meta.scalar``. Writes through it are nodes of the graph."""

    immutable = False

    def __init__(self, node: Node, meta: ArrayMeta, source: Source | None = None) -> None:
        self.node = node
        self.meta = meta
        self.source = source
        self.twins: list[ArrayTracker] | None = None  # all trackers of this one object, if it is differentiated by
        self.made: tuple[Node, list[tuple[str, VariableTracker]]] | None = None  # before its metadata were assigned

    def python_type(self) -> type:
        return self.meta.dtype.type if self.meta.scalar else np.ndarray

    def describe(self) -> str:
        if self.source is not None:
            return self.source.text
        kind = f"{self.meta.dtype}" if self.meta.scalar else f"array of {self.meta.dtype}"
        return f"(a computed {kind})"  # breaks.describe drops parentheses without need

    def is_same_object(self, other: VariableTracker) -> bool:
        if isinstance(other, ArrayTracker) and self.meta.scalar and other.meta.scalar and self.node is other.node:
            return True
        return self is other

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _KNOWN:
            return _KNOWN[name](self)
        found = lookup_attribute(name)
        if found is not None:
            return tx.call_op(found, [self], {})
        if lookup_method(name) is not None or name in _METHODS:
            return ArrayMethod(self, name)
        if name in _OF_TENSORS and stands_for_tensor(tx, self):
            return ArrayMethod(self, name)
        if not hasattr(self.python_type(), name):
            kind = "numpy." + self.python_type().__name__
            raise python_error(AttributeError, f"{kind!r} object has no attribute {name!r}")
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        if name == "flat" and not self.meta.scalar:
            Flat(self).set_item(tx, Constant(...), value)
            return
        view = self._viewed(tx, name, value)
        if view is None:
            raise Unsupported("shape-assignment", f"{self.describe()}.{name} = ...")
        if self.source is not None:
            tx.output.add_effect(MetadataEffect(self, name, value, span=tx.span))
        for tracker in self.twins or [self]:
            tracker.become(view if tracker is self else tracker._viewed(tx, name, value), name, value)

    def _viewed(self, tx: Evaluator, name: str, value: VariableTracker) -> ArrayTracker | None:
        """The view that the array is after ``x.shape = ...`` or ``x.dtype = ...``; None where that is left to NumPy."""
        method = _ASSIGNED.get(name)
        if method is None or self.meta.scalar or tx.output.graph is not tx.output.root:
            return None
        if _WARNS and not (tx.output.options.tensors or tx.output.differentiating):
            return None
        found = tx.call_method_form(method, [self, value])
        is_view = isinstance(found, ArrayTracker) and found.node.storage is self.node.storage
        return found if is_view else None  # type: ignore[return-value]  # an array

    def become(self, view: ArrayTracker | None, name: str, value: VariableTracker) -> None:
        """Be what ``view`` is from now on; the object stays the same."""
        if view is None:
            raise Unsupported("shape-assignment", f"{self.describe()}.{name} = ...")
        node, assigned = self.made or (self.node, [])
        self.made = node, [*assigned, (name, value)]
        self.node, self.meta = view.node, view.meta

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        key = with_known_bounds(tx, self.meta.shape, key)
        try:
            return tx.call_method_form("__getitem__", [self, key])
        except DataDependentSize:  # whether it lies inside is seen when the size is
            if not isinstance(key, Constant | SymbolicInt) or key.python_type() is not int or self.meta.ndim != 1:
                raise
        return tx.call_method_form("__getitem__", [self, found_at_run_time(tx, key, self.meta.shape[0])])

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        key = with_known_bounds(tx, self.meta.shape, key)
        tx.call_method_form("__setitem__", [self, key, value])

    def truth(self, tx: Evaluator) -> bool:
        if self.meta.shape and not self.meta.is_symbolic and self.meta.size > 1:
            raise python_error(
                ValueError,
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
            )
        raise Unsupported("data-branch", self.describe())

    def length(self, tx: Evaluator) -> VariableTracker:
        if not self.meta.shape:
            kind = "len() of unsized object"
            if self.meta.scalar:
                kind = f"object of type 'numpy.{self.python_type().__name__}' has no len()"
            raise python_error(TypeError, kind)
        return wrap_size(self.meta.shape[0])

    def iterate(self, tx: Evaluator) -> VariableTracker:
        if not self.meta.shape:
            kind = "iteration over a 0-d array"
            if self.meta.scalar:
                kind = f"'numpy.{self.python_type().__name__}' object is not iterable"
            raise python_error(TypeError, kind)
        return CountedIterator(int(self.meta.shape[0]), lambda i: self.item(tx, Constant(i)))

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return tx.call_op(CONTAINS, [self, value], {})

    def reconstruct(self, emit: Emitter) -> str:
        if self.made is None:
            emit.output_graph.ties.check_view(self.node)
            return emit.output(self.node)
        node, assigned = self.made
        emit.output_graph.ties.check_view(node)
        name = emit.temporary()
        emit.line(f"{name} = {emit.output(node)}")
        for attribute, value in assigned:
            emit.line(f"{name}.{attribute} = {emit.value(value)}")
        return name


def _shape(array: ArrayTracker) -> VariableTracker:
    return TupleTracker([wrap_size(n) for n in array.meta.shape])


def _strides(array: ArrayTracker) -> VariableTracker:
    if array.meta.is_symbolic:
        raise Unsupported("attribute", f"{array.describe()}.strides")
    return TupleTracker([Constant(n) for n in array.meta.strides])


_ASSIGNED = {"shape": "reshape", "dtype": "view"}  # the method that gives a view like what the assignment makes
_WARNS = NumpyVersion(np.__version__) >= "2.5.0.dev0"  # of such an assignment, at its own line

_KNOWN: dict[str, Callable[[ArrayTracker], VariableTracker]] = {
    "shape": _shape,
    "strides": _strides,
    "ndim": lambda a: Constant(a.meta.ndim),
    "dtype": lambda a: Constant(a.meta.dtype),
    "size": lambda a: wrap_size(a.meta.size),
    "itemsize": lambda a: Constant(a.meta.dtype.itemsize),
    "nbytes": lambda a: wrap_size(a.meta.size * a.meta.dtype.itemsize),
    "device": lambda a: Constant("cpu"),
    "flags": lambda a: Flags(a),
    "flat": lambda a: Flat(a),
    "__class__": lambda a: Constant(a.python_type()),
}


def _to_number(tx: Evaluator, array: ArrayTracker, args: Sequence[VariableTracker], kind: str) -> VariableTracker:
    """``x.item()`` and ``float(x)`` of a single element."""
    if args:
        return tx.python_number(_element(tx, array, args, kind))
    if array.meta.shape and int(array.meta.size) != 1:
        raise Unsupported("data-number", f"{array.describe()}.{kind}")
    return tx.python_number(array)


def _element(tx: Evaluator, array: ArrayTracker, args: Sequence[VariableTracker], kind: str) -> ArrayTracker:
    """``x.item(5)`` and ``x.item(1, 2)``: one element, counted as in C order, or by its index."""
    places = [a.constant() for a in args]
    index = tuple(places[0]) if len(places) == 1 and isinstance(places[0], tuple) else tuple(places)
    if len(index) == 1 and array.meta.ndim != 1 and type(index[0]) is int:
        index = place_of(array, index[0])
    if len(index) != array.meta.ndim or array.meta.dtype.kind not in "fciub":
        raise Unsupported("data-number", f"{array.describe()}.{kind}")
    found = array.item(tx, TupleTracker([Constant(i) for i in index]))
    assert isinstance(found, ArrayTracker)
    return found


def _to_device(tx: Evaluator, array: ArrayTracker, args: Sequence[VariableTracker]) -> VariableTracker:
    """NumPy knows one device."""
    if [a.constant() for a in args] != ["cpu"] or array.meta.scalar:
        raise Unsupported("call", f"{array.describe()}.to_device")
    return array


def _conjugated(tx: Evaluator, array: ArrayTracker, args: Sequence[VariableTracker]) -> VariableTracker:
    """``x.conj()``: unlike ``np.conj(x)`` the array itself, bools included, unless its numbers are complex."""
    if array.meta.dtype.kind == "c":
        return tx.call_method_form("conj", [array, *args])
    if args or array.meta.dtype.kind not in "biuf":
        raise Unsupported("call", f"{array.describe()}.conj")
    is_another = array.meta.scalar and array.meta.dtype.kind != "b"  # there are two bools only
    return tx.call_method_form("__pos__", [array]) if is_another else array


class Flags(VariableTracker):
    """``x.flags``: what guards hold on to, by either name."""

    def __init__(self, array: ArrayTracker) -> None:
        self.array = array

    def describe(self) -> str:
        return f"{self.array.describe()}.flags"

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        orders = _ORDERS.get(name)
        if orders is None or self.array.meta.scalar:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return Constant(orders(self.array.meta.contiguous))

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        name = _FLAG_NAMES.get(key.constant())
        if name is None:
            raise Unsupported("subscript", self.describe())
        return self.attribute(tx, name)


_ORDERS: dict[str, Callable[[str], bool]] = {
    "c_contiguous": lambda order: "C" in order,
    "contiguous": lambda order: "C" in order,
    "f_contiguous": lambda order: "F" in order,
    "fortran": lambda order: "F" in order,
    "forc": lambda order: order != "",
    "fnc": lambda order: order == "F",
}
_FLAG_NAMES = {"C_CONTIGUOUS": "c_contiguous", "C": "c_contiguous", "CONTIGUOUS": "c_contiguous"}
_FLAG_NAMES |= {"F_CONTIGUOUS": "f_contiguous", "F": "f_contiguous", "FORTRAN": "f_contiguous", "FNC": "fnc"}


_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "item": lambda tx, array, args: _to_number(tx, array, args, "item()"),
    "conj": _conjugated,
    "conjugate": _conjugated,
    "to_device": _to_device,
    "__len__": lambda tx, array, args: array.length(tx),
    "__iter__": lambda tx, array, args: array.iterate(tx),
}


# Methods of Tensors that count as arrays
_OF_TENSORS: dict[str, Callable[..., VariableTracker]] = {
    "detach": lambda tx, array, args: tx.call_op(DETACH, [array, *args], {}),
}


def stands_for_tensor(tx: Evaluator, array: ArrayTracker) -> bool:
    """Whether it is a Tensor in the plain run, where Tensors count as arrays: it is made of one."""
    counted = tx.output.counted_tensors
    waiting, seen = [array.node] if counted else [], set()
    while waiting:
        node = waiting.pop()
        if node in counted:
            return True
        if node not in seen:
            seen.add(node)
            waiting += node.operands()
    return False


def register_array_method(name: str, call: Callable[..., VariableTracker]) -> None:
    """Say what ``array.name(...)`` is where no operation is meant: ``call(tx, array, args)``."""
    _METHODS[name] = call


class ArrayMethod(VariableTracker):
    """A method of an array, not called yet."""

    def __init__(self, receiver: ArrayTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def describe(self) -> str:
        return f"{self.receiver.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        own = _METHODS.get(self.name) or _OF_TENSORS.get(self.name)
        if own is _conjugated and kwargs and not self.receiver.meta.scalar:
            raise Raised(TypeError(f"ndarray.{self.name}() takes no keyword arguments"))
        if own is not None and not kwargs:
            return own(tx, self.receiver, args)
        found = lookup_method(self.name)
        if found is None:
            raise Unsupported("call", self.describe())
        if self.receiver.meta.scalar and not hasattr(self.receiver.python_type(), self.name):
            raise Raised(AttributeError(self.name))
        return tx.call_form(*found, [self.receiver, *args], kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.receiver)}.{self.name}"
