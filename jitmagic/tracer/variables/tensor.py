"""Tensors: arrays whose results are Tensors again; what leaves the trace shares one node of the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node
from jitmagic.ops import lookup_method
from jitmagic.ops.derivatives import DETACH
from jitmagic.ops.registry import ATTRIBUTES
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.tensors import Tensors

__all__ = ["TensorTracker"]

SHARED = ATTRIBUTES | {"shape", "ndim", "dtype", "size", "itemsize", "nbytes"}  # what Tensors and arrays answer alike


class TensorTracker(ArrayTracker):
    """A Tensor of the caller (with a source), or one that operations on Tensors gave."""

    def __init__(
        self,
        tensors: Tensors,
        node: Node,
        meta: ArrayMeta,
        source: Source | None = None,
        requires_grad: bool = False,
    ) -> None:
        super().__init__(node, meta, source)
        self.tensors = tensors
        self.requires_grad = requires_grad  # of a Tensor of the caller

    def python_type(self) -> type:
        return Tensor

    def is_same_object(self, other: VariableTracker) -> bool:
        return self is other

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in SHARED or (lookup_method(name) is not None and hasattr(Tensor, name)):
            return super().attribute(tx, name)
        if name == "detach":
            return DetachMethod(self)
        if name == "requires_grad" and self.source is not None:  # guarded
            return Constant(self.requires_grad)
        raise Unsupported("tensor", f"{self.describe()}.{name}")

    def set_attribute(self, tx: Evaluator, name: str, value: Any) -> None:
        raise Unsupported("tensor", f"{self.describe()}.{name} = ...")

    def reconstruct(self, emit: Emitter) -> str:
        return self.tensors.emit(self, emit)


class DetachMethod(VariableTracker):
    """``x.detach``, not called yet."""

    def __init__(self, receiver: TensorTracker) -> None:
        self.receiver = receiver

    def describe(self) -> str:
        return f"{self.receiver.describe()}.detach"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if args or kwargs:
            raise Unsupported("tensor", f"{self.describe()}() with arguments")
        return tx.call_op(DETACH, [self.receiver], {})
