"""What one trace knows of Tensors: which nodes are some, whose gradient is recorded, and how they leave the trace.

The trace is over their arrays. All Tensors that leave it and depend on one that requires a gradient become results of
one node of the record, whose backward half is compiled with the forward half (rows A28, A29).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.autograd.compiled import CompiledRun, plain_tensor
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node, nodes_in
from jitmagic.ops.derivatives import WATCH
from jitmagic.ops.pullback import PULLBACK
from jitmagic.tracer.guards import AttributeSource, Source
from jitmagic.tracer.guards.kinds import type_guard
from jitmagic.tracer.guards.recording import tensor_guards
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.objects import OpaqueTracker
from jitmagic.tracer.variables.sequences import SequenceTracker
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.output import OutputGraph

__all__ = ["Tensors", "wrap_tensor"]

ITEMS = frozenset({"__getitem__", "__setitem__"})


def wrap_tensor(builder: Builder, value: Recorded, source: Source) -> VariableTracker:
    """The tracker of a Tensor of the caller; whether a gradient is recorded is guarded (row A28)."""
    output = builder.output
    known = output.known(value, source)
    if known is not None:
        return known
    output.guards.add(type_guard(source, type(value)))
    if type(value) is not Tensor:
        return OpaqueTracker(value, source, "tensor", f"{source.text} (a {type(value).__name__})")
    array = builder.wrap(None, value._data, AttributeSource(source, "_data"))
    if not isinstance(array, ArrayTracker):
        return OpaqueTracker(value, source, "tensor", f"{source.text} of dtype {value._data.dtype}")
    for each in tensor_guards(source, value.requires_grad):
        output.guards.add(each)
    if output.tensors is None:
        output.tensors = Tensors(output)
    node = output.tensors.add_input(source, array.node, value.requires_grad and is_grad_enabled())
    tracker = TensorTracker(output.tensors, node, array.meta, source, value.requires_grad)
    output.track(value, tracker)
    return tracker


class Tensors:
    """Of one trace."""

    def __init__(self, output: OutputGraph) -> None:
        self.output = output
        self.nodes: set[Node] = set()
        self.inputs: list[tuple[Source, Node]] = []  # those that require a gradient, watched
        self.values: list[Node] = []  # what leaves, in order
        self.pullback: Node | None = None
        self.run = ""  # the program's name for the CompiledRun
        self.left: list[Node] = []
        self.depends: dict[Node, bool] = {}

    def add_input(self, source: Source, node: Node, requires_grad: bool) -> Node:
        """The node of a Tensor of the caller, whose array is ``node``."""
        if requires_grad:
            watched = self.output.graph.call(WATCH, (node,), {}, node.meta)
            if isinstance(node.meta, ArrayMeta) and not node.meta.scalar:
                watched.view_of = node
            self.inputs.append((source, watched))
            self.depends[watched] = True
            node = watched
        self.nodes.add(node)
        return node

    def gives_tensor(self, node: Node) -> bool:
        """Whether the call behind ``node`` gives a Tensor."""
        if not self._takes_some(node.args[0] if node.kind == "item" else node):
            return False
        self.nodes.add(node)
        return True

    def _takes_some(self, call: Node) -> bool:
        return any(n in self.nodes for n in nodes_in((call.args, call.kwargs)))

    def check_call(self, call: Node) -> None:
        """Raises Unsupported for a function that makes plain arrays of Tensors."""
        if self._takes_some(call) and not _takes_tensors(call.op):
            raise Unsupported("tensor", f"{getattr(call.op, 'name', '')}() of a Tensor")

    def check_method(self, name: Any, args: Sequence[VariableTracker]) -> None:
        """Raises Unsupported for methods of plain arrays that get Tensors: NumPy makes plain arrays of them."""
        is_operator = not isinstance(name, str) or (name.startswith("__") and name not in ITEMS)
        if not is_operator and args and not self._is_tensor(args[0]) and any(map(self._is_tensor, args[1:])):
            raise Unsupported("tensor", f"a Tensor given to {name} of an array")

    def _is_tensor(self, value: VariableTracker) -> bool:
        if isinstance(value, Lazy):
            value = value.realize()
        if isinstance(value, SequenceTracker):
            return any(map(self._is_tensor, value.items))
        return value.python_type() is Tensor if isinstance(value, ArrayTracker) else False

    def check_write(self, node: Node, target: Node) -> None:
        """Raises Unsupported for a write to a Tensor of the caller, and of a Tensor into a plain array."""
        root = target
        while root.view_of is not None:
            root = root.view_of
        if self._takes_some(node) and (root.kind == "input" or target not in self.nodes):
            raise Unsupported("tensor", "a write in place to a Tensor that existed before, or of one to an array")

    # -- leaving the trace
    def emit(self, tracker: TensorTracker, emit: Emitter) -> str:
        """The Tensor as an expression of the program."""
        node, meta = tracker.node, tracker.meta
        self._check_memory(node)
        if meta.dtype.kind not in "fc" or not self._depends(node):
            return f"{emit.constant(plain_tensor)}({emit.output(node)})"
        self.values.append(node)
        if self.pullback is None:
            self._start(emit)
        assert self.pullback is not None
        self.pullback.args = (tuple(self.values), tuple(n for _, n in self.inputs))
        return f"{self.run}.result({emit.output(node)})"

    def _start(self, emit: Emitter) -> None:
        self.pullback = self.output.graph.call(PULLBACK, ((), ()), {}, None)
        self.run = emit.temporary()
        inputs = ", ".join(emit.source(source) for source, _ in self.inputs)
        emit.line(f"{self.run} = {emit.constant(CompiledRun)}({emit.output(self.pullback)}, ({inputs},))")

    def _check_memory(self, node: Node) -> None:
        """Tensors that share memory know of each other: those of the caller, and two that leave, are left plain."""
        root = _owner(node)
        if root.kind == "input" or any(_owner(v) is root and v is not node for v in self.left):
            raise Unsupported("tensor", "Tensors that share memory and leave the function")
        self.left.append(node)

    def _depends(self, node: Node) -> bool:
        """Whether a gradient can flow from ``node`` to a watched input."""
        known = self.depends.get(node)
        if known is None:
            op: Any = node.op
            operands = [node.args[0]] if node.kind == "item" else list(nodes_in((node.args, node.kwargs)))
            flows = node.kind == "item" or (node.kind == "call" and op.vjp != ())
            known = self.depends[node] = flows and any(map(self._depends, operands))
        return known


def _owner(node: Node) -> Node:
    while node.view_of is not None:
        node = node.view_of
    return node


def _takes_tensors(op: Any) -> bool:
    """Whether NumPy hands the function to Tensors; ``np.asarray`` and classes make plain arrays of them."""
    call = getattr(op, "call", None)
    if isinstance(call, np.ufunc):
        return True
    if isinstance(call, type):
        return False
    module = getattr(call, "__module__", None) or ""
    inner = getattr(call, "__wrapped__", None)  # rows may wrap a function of NumPy
    return not module.startswith("numpy") or hasattr(call, "_implementation") or hasattr(inner, "_implementation")
