"""Takes a schedule, gives it with kernels that read floats before these are cast to a shorter dtype.

%rate = astype(%x, float32)         # a NumPy scalar, which takes 1 us: NumPy makes an array of it and back
kernel(%a, %rate)              =>   kernel(%a, %x), which rounds it by itself, and tells of an overflow
"""

from __future__ import annotations

import numpy as np

from jitmagic.backends.loops.ir import Scalar
from jitmagic.backends.loops.recipes import ALL_FLAGS
from jitmagic.backends.loops.schedule import Call, Launch, Schedule
from jitmagic.graph import ArrayMeta, Node

__all__ = ["read_before_casts"]


def read_before_casts(plan: Schedule) -> None:
    """Casts that nobody else reads are dropped; one that no kernel reads stays, for what it may have to tell."""
    taken = {node for step in plan.launches for node in _read_by(step)}
    kept = {node for step in plan.steps for node in _read(step)} | {*plan.graph.outputs}
    kept |= {binding.node for binding in plan.graph.bindings}
    plan.steps = [s for s in plan.steps if not isinstance(s, Call) or s.node not in taken - kept]


def _read_by(step: Launch) -> list[Node]:
    """The casts that a kernel now makes itself: it reports all conditions, and rounds a float64 as NumPy does."""
    built = step.built
    casts = {name: node for name, node in built.inputs.items() if _is_shortening(node)}
    loads = [s for s in built.kernel.body if isinstance(s, Scalar)]
    if built.kernel.flags != ALL_FLAGS or not all(type(n) is int and n > 0 for n in built.sizes):
        return []
    found = []
    for name, node in casts.items():
        assert isinstance(node.meta, ArrayMeta)
        if all(s.out.dtype == node.meta.dtype for s in loads if s.operand == name):
            built.inputs[name] = node.args[0]
            found.append(node)
    return found


def _is_shortening(node: Node) -> bool:
    """Whether it is a float64 scalar as a float32."""
    source = node.args[0] if node.op is not None and node.op.name == "astype" and len(node.args) == 2 else None
    if not isinstance(source, Node) or node.kwargs or not isinstance(node.meta, ArrayMeta):
        return False
    before = source.meta
    if not isinstance(before, ArrayMeta) or not before.scalar or not node.meta.scalar:
        return False
    return before.dtype == np.float64 and node.meta.dtype == np.float32


def _read(step: Call | Launch) -> list[Node]:
    return list(step.node.operands()) if isinstance(step, Call) else list(step.built.inputs.values())
