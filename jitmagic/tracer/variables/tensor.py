"""Tensors: arrays whose results are Tensors again; what leaves the trace shares one node of the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node
from jitmagic.ops import lookup_method
from jitmagic.ops.derivatives import DETACH
from jitmagic.ops.registry import ATTRIBUTES
from jitmagic.tracer.effects import AttributeEffect
from jitmagic.tracer.guards import DictSource, Source
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.tensors import Tensors

__all__ = ["TensorTracker", "plain_of"]

SHARED = ATTRIBUTES | {"shape", "ndim", "dtype", "size", "itemsize", "nbytes"}  # what Tensors and arrays answer alike


class TensorTracker(ArrayTracker):
    """A Tensor of the caller (``value``, with a source), or one that operations on Tensors gave.

    ``array`` is the array behind it, where that is known. A leaf that was written is watched anew when it is read next:
    what is computed from then on depends on its new value.
    """

    def __init__(
        self,
        tensors: Tensors,
        node: Node,
        meta: ArrayMeta,
        source: Source | None = None,
        requires_grad: bool = False,
        value: Tensor | None = None,
        array: ArrayTracker | None = None,
    ) -> None:
        self._node = node
        self.is_stale = False
        super().__init__(node, meta, source)
        self.tensors = tensors
        self.requires_grad = requires_grad  # of a Tensor of the caller
        self.value = value
        self.array = array
        self.grad: VariableTracker | None = None  # what was written
        self.written: dict[str, VariableTracker] = {}  # to attributes of the user's

    @property
    def node(self) -> Node:
        if self.is_stale:
            self.is_stale = False
            self._node = self.tensors.watch_again(self)
        return self._node

    @node.setter
    def node(self, node: Node) -> None:
        self._node = node

    def python_type(self) -> type:
        return Tensor

    def real_object(self) -> Any:
        return NO_OBJECT if self.value is None else self.value

    def hashed(self) -> Any:
        return super().hashed() if self.value is None else self.value

    def is_same_object(self, other: VariableTracker) -> bool:
        return self is other

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in SHARED or (lookup_method(name) is not None and hasattr(Tensor, name)):
            return super().attribute(tx, name)
        if name in _METHODS:
            return TensorMethod(self, name)
        read = _READ.get(name)
        if read is not None:
            return read(tx, self)
        if self._is_extra(name):
            if name in self.written:
                return self.written[name]
            if self.value is not None and self.source is not None and name in self.value.__dict__:
                return tx.output.builder.wrap(tx, self.value.__dict__[name], DictSource(self.source, name))
        raise Unsupported("tensor", f"{self.describe()}.{name}")

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        if self._is_extra(name) and self.source is not None:
            self.written[name] = value
            tx.output.add_effect(AttributeEffect(self, name, value, span=tx.span))
            return
        is_none = isinstance(value, Constant) and value.value is None
        if name != "grad" or self.source is None or not (is_none or isinstance(value, TensorTracker)):
            raise Unsupported("tensor", f"{self.describe()}.{name} = ...")
        self.tensors.set_gradient(tx, self, value)

    def _is_extra(self, name: str) -> bool:
        """Whether it is a name that the user gave to this very Tensor (row B18)."""
        return not name.startswith("_") and name != "grad" and not hasattr(Tensor, name)

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        target = self.unrecorded(tx)
        if target is None:
            super().set_item(tx, key, value)
        else:
            target.set_item(tx, key, plain_of(tx, value))

    def unrecorded(self, tx: Evaluator) -> ArrayTracker | None:
        """The array to write to where a write of this Tensor of the caller is not recorded: under ``no_grad``."""
        if self.value is None or self.array is None or not self.tensors.is_off(self):
            return None
        return self.tensors.allow_writes(tx, self)

    def plain(self, tx: Evaluator) -> ArrayTracker:
        """The array behind it, as ``numpy()`` gives it."""
        if self.array is None:
            if self.meta.scalar:
                raise Unsupported("tensor", f"{self.describe()}.numpy()")
            self.array = self.tensors.array_of(self)
        return self.array

    def reconstruct(self, emit: Emitter) -> str:
        return self.tensors.emit(self, emit)


def plain_of(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """The array behind a Tensor; anything else as it is."""
    if not isinstance(value, TensorTracker):
        return value
    return value.tensors.array_of(value) if value.meta.scalar else value.plain(tx)


def _grad(tx: Evaluator, tensor: TensorTracker) -> VariableTracker:
    if tensor.grad is not None:
        return tensor.grad
    if tensor.value is None or tensor.source is None:  # computed Tensors get none
        return Constant(None)
    return tx.output.builder.wrap(tx, tensor.value.__dict__["grad"], DictSource(tensor.source, "grad"))


def _requires_grad(tx: Evaluator, tensor: TensorTracker) -> VariableTracker:
    """Of a Tensor of the caller it is guarded; of others it follows from how they were computed."""
    return Constant(tensor.tensors.requires_gradient(tensor))


_READ: dict[str, Callable[[Evaluator, TensorTracker], VariableTracker]] = {
    "grad": _grad,
    "requires_grad": _requires_grad,
}


class TensorMethod(VariableTracker):
    """A method that only Tensors have, not called yet."""

    def __init__(self, receiver: TensorTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def describe(self) -> str:
        return f"{self.receiver.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return _METHODS[self.name](tx, self, args, kwargs)


Args = Sequence[VariableTracker]
Named = dict[str, VariableTracker]


def _without_arguments(
    meaning: Callable[[Evaluator, TensorTracker], VariableTracker],
) -> Callable[[Evaluator, TensorMethod, Args, Named], VariableTracker]:
    def call(tx: Evaluator, method: TensorMethod, args: Args, kwargs: Named) -> VariableTracker:
        if args or kwargs:
            raise Unsupported("tensor", f"{method.describe()}() with arguments")
        return meaning(tx, method.receiver)

    return call


def _number(tx: Evaluator, tensor: TensorTracker) -> VariableTracker:
    if tensor.meta.is_symbolic or tensor.meta.size != 1:
        raise Unsupported("tensor", f"{tensor.describe()}.item()")
    return tx.python_number(tensor)


def _zero_grad(tx: Evaluator, tensor: TensorTracker) -> VariableTracker:
    tensor.set_attribute(tx, "grad", Constant(None))
    return Constant(None)


def _backward(tx: Evaluator, method: TensorMethod, args: Args, kwargs: Named) -> VariableTracker:
    names = ("gradient", "retain_graph", "create_graph")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if len(args) > len(names) or not given.keys() <= set(names):
        raise Unsupported("tensor", f"{method.describe()}() with other arguments")
    method.receiver.tensors.backward(tx, method.receiver, **given)
    return Constant(None)


_METHODS: dict[str, Callable[[Evaluator, TensorMethod, Args, Named], VariableTracker]] = {
    "backward": _backward,
    "detach": _without_arguments(lambda tx, tensor: tx.call_op(DETACH, [tensor], {})),
    "item": _without_arguments(lambda tx, tensor: _number(tx, tensor)),
    "numpy": _without_arguments(lambda tx, tensor: tensor.plain(tx)),
    "zero_grad": _without_arguments(_zero_grad),
}
