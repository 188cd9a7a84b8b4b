"""What ``loss.backward()`` means in a trace: the joint graph is made from the trace's own graph.

    def step(x, y):                              %loss = mean(...)
        opt.zero_grad()                          %gradient = gradient(%loss, None, (%watch_w, %watch_b))
        loss = loss_fn(model(x), y)              %g0 = %gradient[0]
        loss.backward()                     =>   %g1 = %gradient[1]
        opt.step()                               %setitem = setitem(%w, ..., %w - lr * %g0)
        return loss                              ...

Every Tensor of the caller that requires a gradient is *watched* when the trace reads it. ``backward()`` looks which of
them the loss depends on and adds one node that asks for their gradients; ``jitmagic.aot`` puts the backward computation
there, by the rules and in the order of the tape, so the bits are those of the tape. What follows in the trace
(clipping, the optimiser) computes with the results as with any others, and all of it becomes kernels of one program.

Outside nothing happens until that program has run: then parameters and optimiser state have been written in place, and
each leaf gets what the trace left in its ``grad``. Tensors that leave the trace after a pass without ``retain_graph``
say, as they would on the tape, that their record was let go of.

What the tape does beyond that is left to it, by a graph break: hooks on leaves, ``create_graph``, and passes that go on
into what was computed before the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.ops.derivatives import GRADIENT, gradient_meta
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.guards.kinds import missing_key_guard
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.tensors import Tensors, Watched

__all__ = ["run_backward"]

HOOKS = "_hooks"


def run_backward(
    tx: Evaluator,
    tensors: Tensors,
    tensor: TensorTracker,
    gradient: VariableTracker | None = None,
    retain_graph: VariableTracker | None = None,
    create_graph: VariableTracker | None = None,
) -> None:
    """Add the gradients of ``tensor`` to ``grad`` of its leaves. What is an error is left to the plain run."""
    retain = retain_graph is not None and tx.truth(retain_graph)
    if create_graph is not None and tx.truth(create_graph):
        raise _refused(tensor, "with create_graph")
    if tensor.value is not None or not tensors.requires_gradient(tensor):
        raise _refused(tensor, "of a Tensor that was not computed here from one that requires a gradient")
    leaves = _leaves(tx, tensors, tensor)
    request = tx.output.graph.call(
        GRADIENT,
        (tensor.node, _cotangent(tx, tensor, gradient), tuple(leaf.node for leaf in leaves)),
        {},
        None,
        span=tx.span,
        stack=tx.stack,
    )
    for index, leaf in enumerate(leaves):
        meta = gradient_meta(leaf.node.meta)
        _accumulate(tx, tensors, leaf.tracker, ArrayTracker(tx.output.graph.item(request, index, meta), meta))
    if not retain:
        tensors.released |= _between(tensors, tensor)


def _refused(tensor: TensorTracker, why: str) -> Unsupported:
    return Unsupported("tensor", f"{tensor.describe()}.backward() {why}")


def _leaves(tx: Evaluator, tensors: Tensors, tensor: TensorTracker) -> list[Watched]:
    """The leaves that get a gradient; guarded to be nothing more than leaves."""
    if not tensors.released.isdisjoint(tensors.path_from([tensor.node])):
        raise _refused(tensor, "for the second time")
    leaves = tensors.leaves_behind([tensor.node])
    if len({id(leaf.tracker) for leaf in leaves}) < len(leaves):
        raise _refused(tensor, "through a leaf as it is now and as it was before it was written")
    for leaf in leaves:
        value = leaf.tracker.value
        if value is None or not value._requires:
            raise _refused(tensor, f"goes on into what was computed before the call: {leaf.source.text}")
        if value.__dict__.get(HOOKS):
            raise _refused(tensor, f"reaches {leaf.source.text}, which has hooks")
        if HOOKS not in value.__dict__:
            tx.output.guards.add(missing_key_guard(leaf.source, HOOKS))
        else:
            raise _refused(tensor, f"reaches {leaf.source.text}, which had hooks")
    return leaves


def _cotangent(tx: Evaluator, tensor: TensorTracker, gradient: VariableTracker | None) -> Any:
    """What the pass starts with; None for 1."""
    if gradient is None or (isinstance(gradient, Constant) and gradient.value is None):
        if tensor.meta.is_symbolic or tensor.meta.size != 1 or tensor.meta.dtype.kind == "c":
            raise _refused(tensor, "without gradient=")
        return None
    if not isinstance(gradient, ArrayTracker) or gradient.meta.dtype != tensor.meta.dtype:
        raise _refused(tensor, "with a gradient= of another dtype")
    if len(gradient.meta.shape) != len(tensor.meta.shape) or gradient.meta.scalar != tensor.meta.scalar:
        raise _refused(tensor, "with a gradient= of another shape")
    if not all(a == b for a, b in zip(gradient.meta.shape, tensor.meta.shape, strict=True)):
        raise _refused(tensor, "with a gradient= of another shape")
    return gradient.node


def _accumulate(tx: Evaluator, tensors: Tensors, leaf: TensorTracker, found: ArrayTracker) -> None:
    """Put ``found`` into ``grad``, or add it to what is there."""
    known = tx.realize(leaf.attribute(tx, "grad"))
    if isinstance(known, TensorTracker):
        if tensors.requires_gradient(known) or "C" not in known.meta.contiguous:
            raise _refused(leaf, "has a grad that is recorded itself, or not in C order")
        before = known.plain(tx)
        total = tx.call_op(row_of(np.add)[0], [before, found], {})
        if not isinstance(total, ArrayTracker):
            raise _refused(leaf, "has a grad of another kind")
        found = total
        if found.meta.scalar:
            made = tx.call_form(*row_of(np.asarray), [total], {})
            assert isinstance(made, ArrayTracker)
            found = made
    elif not (isinstance(known, Constant) and known.value is None):
        raise _refused(leaf, "has a grad of another kind")
    tensors.set_gradient(tx, leaf, tensors.tensor_over(found))


def _between(tensors: Tensors, tensor: TensorTracker) -> set[Any]:
    """What the pass went through: the nodes that lie between ``tensor`` and its leaves."""
    path = tensors.path_from([tensor.node])
    reached = {leaf.node for leaf in tensors.inputs} & path
    ends = frozenset(reached)
    for node in tensors.output.graph.nodes:
        if node in path and not reached.isdisjoint(tensors._behind(node)):
            reached.add(node)
    return reached - ends
