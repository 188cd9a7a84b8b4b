"""What one trace knows of Tensors: which nodes are some, whose gradient is recorded, and how they leave the trace.

The trace is over their arrays. All Tensors that leave it and depend on one that requires a gradient become results of
one node of the record, whose backward half is compiled with the forward half (rows A28, A29).

``loss.backward()`` in the trace asks for the gradients right there: a node that ``jitmagic.aot`` expands by the same
rules, so that forward, backward and what is done with the gradients are one graph. The leaves get their ``grad`` when
the graph has run. See ``tracer.backward``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.autograd.compiled import CompiledRun, plain_tensor, released_tensor
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node, nodes_in
from jitmagic.ops.derivatives import DETACH, GRADIENT, WATCH
from jitmagic.ops.pullback import PULLBACK
from jitmagic.tracer.backward import run_backward
from jitmagic.tracer.effects import GradientEffect, WriteEffect
from jitmagic.tracer.guards import DictSource, MemberSource, Source
from jitmagic.tracer.guards.kinds import identity_guard, type_guard
from jitmagic.tracer.guards.recording import grad_mode_guard, tensor_guards
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.objects import OpaqueTracker
from jitmagic.tracer.variables.sequences import SequenceTracker
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.output import OutputGraph

__all__ = ["Tensors", "Watched", "wrap_tensor"]

ITEMS = frozenset({"__getitem__", "__setitem__"})


def wrap_tensor(builder: Builder, value: Recorded, source: Source) -> VariableTracker:
    """The tracker of a Tensor of the caller; whether a gradient is recorded is guarded (row A28).

    One in a table of a specialised module is held by the entry, as an array there would be (row N02).
    """
    output = builder.output
    known = output.known(value, source)
    if known is not None:
        return known
    if type(value) is not Tensor:
        output.guards.add(type_guard(source, type(value)))
        return OpaqueTracker(value, source, "tensor", f"{source.text} (a {type(value).__name__})")
    if isinstance(source, MemberSource) and source.is_held and output.ties_array_to(value, source):
        output.guards.add(identity_guard(source, value))
        source = output.held_array(value, source)
    else:
        output.guards.add(type_guard(source, type(value)))
    array = builder.wrap(None, value._values, DictSource(source, "_values"))
    if not isinstance(array, ArrayTracker):
        return OpaqueTracker(value, source, "tensor", f"{source.text} of dtype {value._values.dtype}")
    for each in tensor_guards(source, value):
        output.guards.add(each)
    tensors = tensors_of(output)
    if value.requires_grad and not tensors.is_mode_guarded:
        tensors.is_mode_guarded = True
        output.guards.add(grad_mode_guard(source))
    requires = value.requires_grad and is_grad_enabled()
    tracker = TensorTracker(tensors, array.node, array.meta, source, value.requires_grad, value, array)
    tracker.node = tensors.add_input(tracker, array.node, requires)
    output.track(value, tracker)
    return tracker


def tensors_of(output: OutputGraph) -> Tensors:
    if output.tensors is None:
        output.tensors = Tensors(output)
    return output.tensors


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A Tensor of the caller that requires a gradient, and the node that derivatives with regard to it end at."""

    tracker: TensorTracker
    node: Node

    @property
    def source(self) -> Source:
        assert self.tracker.source is not None
        return self.tracker.source


@dataclass(slots=True, eq=False)
class Tensors:
    """Of one trace."""

    output: OutputGraph
    nodes: set[Node] = field(default_factory=set)
    inputs: list[Watched] = field(default_factory=list)
    arrays: dict[Node, TensorTracker] = field(default_factory=dict)  # Tensors of the caller by their arrays
    writable: set[Node] = field(default_factory=set)  # arrays that ``writable`` was asked for
    writes: dict[Node, list[Node]] = field(default_factory=dict)  # to arrays made here, by their owner
    released: set[Node] = field(default_factory=set)  # what a backward pass has let go of
    values: list[Node] = field(default_factory=list)  # what leaves, in order
    pullback: Node | None = None
    run: str = ""  # the program's name for the CompiledRun
    left: list[Node] = field(default_factory=list)
    is_mode_guarded: bool = False

    def add_input(self, tracker: TensorTracker, node: Node, requires_grad: bool) -> Node:
        """The node of a Tensor of the caller, whose array is ``node``."""
        self.arrays[node] = tracker
        if requires_grad:
            watched = self.output.graph.call(WATCH, (node,), {}, node.meta)
            if isinstance(node.meta, ArrayMeta) and not node.meta.scalar:
                watched.view_of = node
            self.inputs.append(Watched(tracker, watched))
        else:
            watched = self._seen_as_constant(node)
        self.nodes.add(watched)
        return watched

    def watch_again(self, tracker: TensorTracker) -> Node:
        """The node of a leaf that was written since it was read last."""
        assert tracker.array is not None
        return self.add_input(tracker, tracker.array.node, True)

    def array_of(self, tracker: TensorTracker) -> ArrayTracker:
        """The array behind a Tensor made here: the same memory, no Tensor."""
        return ArrayTracker(self._seen_as_constant(tracker.node), tracker.meta)

    def tensor_over(self, array: ArrayTracker) -> TensorTracker:
        """A Tensor without history over an array made here."""
        node = self._seen_as_constant(array.node)
        self.nodes.add(node)
        return TensorTracker(self, node, array.meta, array=array)

    def _seen_as_constant(self, node: Node) -> Node:
        made = self.output.graph.call(DETACH, (node,), {}, node.meta)
        if isinstance(node.meta, ArrayMeta) and not node.meta.scalar:
            made.view_of = node
        return made

    # -- calls
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

    # -- writes
    def check_write(self, node: Node, target: Node) -> None:
        """Raises Unsupported for a write to a Tensor of the caller, and of a Tensor into a plain array.

        ``writable`` has announced those that are meant; whoever reads the Tensor then sees the new values.
        """
        root = target.storage
        self.writes.setdefault(root, []).append(node)
        if self._takes_some(node) and (root.kind == "input" or target not in self.nodes):
            raise Unsupported("tensor", "a write in place to a Tensor that existed before, or of one to an array")
        tracker = self.arrays.get(root)
        if tracker is not None:
            if root not in self.writable:
                raise Unsupported("tensor", f"a write to the array behind {tracker.describe()}")
            tracker.is_stale = any(watched.tracker is tracker for watched in self.inputs)

    def allow_writes(self, tx: Evaluator, tracker: TensorTracker) -> ArrayTracker:
        """``writable(tensor)``."""
        array = tracker.plain(tx)
        if tracker.value is not None and array.node not in self.writable:
            self.writable.add(array.node)
            self.output.add_effect(WriteEffect(tracker, span=tx.span))
        return array

    def is_off(self, tracker: TensorTracker) -> bool:
        """Whether nothing is recorded of what is done with a Tensor of the caller; guarded."""
        if self.output.grad_off:
            return True
        if is_grad_enabled() or tracker.source is None:
            return False
        if not self.is_mode_guarded:
            self.is_mode_guarded = True
            self.output.guards.add(grad_mode_guard(tracker.source))
        return True

    # -- gradients
    def requires_gradient(self, tracker: TensorTracker) -> bool:
        if tracker.value is not None:
            return tracker.requires_grad
        return tracker.meta.dtype.kind in "fc" and bool(self.leaves_behind([tracker.node]))

    def backward(self, tx: Evaluator, tracker: TensorTracker, **options: VariableTracker) -> None:
        run_backward(tx, self, tracker, **options)

    def set_gradient(self, tx: Evaluator, tracker: TensorTracker, value: VariableTracker) -> None:
        """``tracker.grad = value``, once the graph has run."""
        if tracker.grad is None:
            self.output.add_effect(GradientEffect(tracker, span=tx.span))
        tracker.grad = value

    def path_from(self, nodes: Iterable[Node]) -> set[Node]:
        """The nodes that derivatives of ``nodes`` go through, writes in place included, down to what is watched."""
        ends = {watched.node for watched in self.inputs}
        seen: set[Node] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in ends:
                waiting += self._behind(node)
        return seen

    def _behind(self, node: Node) -> list[Node]:
        """What the value of ``node`` was computed from, as far as derivatives flow."""
        found = [operand for write in self.writes.get(node.storage, ()) for operand in _differentiated(write)]
        if node.kind == "item":
            return [*found, node.args[0]]
        return [*found, *(_differentiated(node) if node.kind == "call" else ())]

    def leaves_behind(self, nodes: Iterable[Node]) -> list[Watched]:
        """The watched Tensors that derivatives of ``nodes`` lead to."""
        path = self.path_from(nodes)
        return [watched for watched in self.inputs if watched.node in path]

    # -- leaving the trace
    def emit(self, tracker: TensorTracker, emit: Emitter) -> str:
        """The Tensor as an expression of the program."""
        node, meta = tracker.node, tracker.meta
        if tracker.array is not None and tracker.array.source is None:
            node = tracker.array.node
        self._check_memory(node)
        if meta.dtype.kind not in "fc" or not self.leaves_behind([node]):
            return f"{emit.constant(plain_tensor)}({emit.output(node)})"
        if not self.released.isdisjoint(self.path_from([node])):
            return f"{emit.constant(released_tensor)}({emit.output(node)})"
        self.values.append(node)
        if self.pullback is None:
            self._start(emit)
        assert self.pullback is not None
        self.pullback.args = (tuple(self.values), tuple(watched.node for watched in self.inputs))
        return f"{self.run}.result({emit.output(node)})"

    def _start(self, emit: Emitter) -> None:
        self.pullback = self.output.graph.call(PULLBACK, ((), ()), {}, None)
        self.run = emit.temporary()
        self.inputs = self._by_arrival()
        inputs = ", ".join(emit.source(watched.source) for watched in self.inputs)
        emit.line(f"{self.run} = {emit.constant(CompiledRun)}({emit.output(self.pullback)}, ({inputs},))")

    def _by_arrival(self) -> list[Watched]:
        """The watched Tensors in the order in which gradients reach them on the tape: who was used last comes first."""
        places: dict[Node, int] = {}
        for node in reversed(self.output.graph.nodes):
            for operand in _differentiated(node) if node.kind == "call" else ():
                places.setdefault(operand, len(places))
        return sorted(self.inputs, key=lambda watched: places.get(watched.node, len(places)))

    def _check_memory(self, node: Node) -> None:
        """Tensors that share memory know of each other: those of the caller, and two that leave, are left plain."""
        root = node.storage
        if root.kind == "input" or any(v.storage is root and v is not node for v in self.left):
            raise Unsupported("tensor", "Tensors that share memory and leave the function")
        self.left.append(node)


def _differentiated(call: Node) -> Iterable[Node]:
    op: Any = call.op
    return nodes_in((call.args, call.kwargs)) if op.vjp != () and op is not GRADIENT else ()


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
