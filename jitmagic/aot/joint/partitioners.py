"""Takes a joint graph, gives its halves: which values the forward half saves for the backward half.

``default_partition`` saves all values of the forward computation that the backward one reads.
``min_cut_rematerialization_partition`` saves the fewest bytes from which cheap operations make the rest again.
"""

from __future__ import annotations

import math

from jitmagic.aot.joint.joint_graph import Halves, JointGraph, ancestors, cut
from jitmagic.aot.joint.network import Network
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.lowering import Cast, Fill, Pointwise, Select, View
from jitmagic.ops.record import Op

__all__ = ["default_partition", "min_cut_rematerialization_partition"]

CHEAP = (Pointwise, Select, Cast, Fill, View)  # what a fused kernel makes again for less than it costs to load
LIMIT = 10**15


def default_partition(joint: JointGraph) -> Halves:
    """Save what the forward half has computed anyway and the backward half reads; nothing is computed twice."""
    forward = joint.needed_forward() | set(joint.primal_inputs)
    return cut(joint, _read_by_backward(joint, forward))


def min_cut_rematerialization_partition(joint: JointGraph) -> Halves:
    """Save the cheapest set of values, by bytes, that cuts the backward half off from the arguments.

    The network is that of "Checkmate"-style rematerialisation as a minimum cut: every value is an edge of its size,
    values that are dear to make (folds, products, calls of NumPy) or may differ the second time must be saved or not
    needed. Views, fills and elementwise operations are made again.
    """
    forward = joint.needed_forward() | set(joint.primal_inputs)
    needed = ancestors(joint.graph, joint.gradients)
    after = joint.after_tangents()
    network = Network()
    for node in joint.graph.nodes:
        if node not in forward or node not in needed or node in after:
            continue
        network.edge((node, "in"), (node, "out"), _cost(node))
        if node.kind in ("input", "constant") or not _is_cheap(node):
            network.edge("source", (node, "in"), LIMIT)
        for operand in dict.fromkeys(node.operands()):
            network.edge((operand, "out"), (node, "in"), LIMIT)
    for node in _read_by_backward(joint, forward):
        network.edge((node, "out"), "sink", LIMIT)
    side = network.source_side("source", "sink")
    saved = [n for n in joint.graph.nodes if (n, "in") in side and (n, "out") not in side]
    return cut(joint, [n for n in saved if n.kind != "constant"])


def _read_by_backward(joint: JointGraph, forward: set[Node]) -> list[Node]:
    """The values of the forward half that something outside of it reads, or that are gradients themselves."""
    inside = ancestors(joint.graph, joint.gradients, forward | set(joint.tangent_inputs))
    read = {o for n in inside if n not in forward for o in n.operands()} | set(joint.gradients)
    return [n for n in joint.graph.nodes if n in read and n in forward and n.kind != "constant"]


def _cost(node: Node) -> int:
    """Bytes that saving takes; an argument costs nothing new, but a little, so that fewer are held."""
    if node.kind == "constant":
        return 0
    meta = node.meta
    if not isinstance(meta, ArrayMeta):
        return 16 if meta is not None else LIMIT  # a tuple is saved entry by entry
    size = max(1, math.prod(meta.hint_shape)) * meta.dtype.itemsize
    return 1 + size // 16 if node.kind == "input" else size


def _is_cheap(node: Node) -> bool:
    row = node.op
    if node.kind == "item":
        return False
    return isinstance(row, Op) and isinstance(row.lower, CHEAP) and not row.effects and not row.raises
