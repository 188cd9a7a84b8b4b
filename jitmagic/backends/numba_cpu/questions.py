"""Takes a step of a schedule, answers what the writer of a host program asks about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot.stores import surely_casts
from jitmagic.backends.loops.schedule import Call, Step
from jitmagic.backends.loops.updates import is_plain_update, loop_of
from jitmagic.backends.numba_cpu.conditions import unheard
from jitmagic.backends.numba_cpu.convolving import native_convolution
from jitmagic.backends.numba_cpu.picking import is_picked_natively
from jitmagic.backends.numba_cpu.pooling import native_pooling
from jitmagic.backends.numba_cpu.silent_products import is_silent_product
from jitmagic.graph import Node
from jitmagic.ops.lowering import Fill
from jitmagic.ops.record import Op

__all__ = ["heard_form", "is_unheard", "lines_of", "may_warn", "step_node", "unheard_form"]


def step_node(step: Step) -> Node | None:
    return step.node if isinstance(step, Call) else None


def lines_of(nodes: Sequence[Node]) -> str:
    """What the kernel computes, for readers of the text."""
    lines = sorted({n.span.line for n in nodes if n.span is not None})
    names = ", ".join(dict.fromkeys(n.op.name for n in nodes if n.op is not None))
    return f"line {', '.join(map(str, lines))}: {names}" if lines else names


def is_unheard(node: Node) -> bool:
    return isinstance(node.op, Op) and node.op.unheard and not isinstance(node.op.lower, Fill)


def _native(node: Node) -> Callable[..., Any] | None:
    """Kernels in the place of a row of ours, or None."""
    return native_convolution(node) or native_pooling(node)


def unheard_form(node: Node) -> Callable[..., Any]:
    """What runs a call whose conditions are nobody's business."""
    assert node.op is not None
    return np.dot if is_silent_product(node) else unheard(_native(node) or node.op.call)


def heard_form(node: Node) -> Callable[..., Any]:
    """What runs a call that reports its conditions."""
    assert node.op is not None
    return _native(node) or node.op.call


def may_warn(step: Step) -> bool:
    """Whether NumPy runs in a step that could warn; loops and kernels collect their own conditions."""
    node = step_node(step)
    if (
        node is None
        or node.kind == "item"
        or node.view_of is not None
        or (isinstance(node.op, Op) and isinstance(node.op.lower, Fill))
    ):
        return False
    if is_picked_natively(step):
        return False
    loop = loop_of(node)
    if loop is not None:
        return loop.compiled is None
    return not (is_plain_update(node) and surely_casts(node))
