"""Takes a pure graph, gives it without copies of arrays that nobody else gets: the array itself serves as well.

%a = matmul(%x, %y)
%b = copy(%a)                       =>   return %a
return %b
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Op

__all__ = ["OwnCopies"]

ALWAYS: tuple[dict[str, str], ...] = ({}, {"order": "C"}, {"order": "K"})


@dataclass(frozen=True, slots=True)
class OwnCopies:
    """The array and its copy must be alike in dtype, sizes and strides, and no output may show the array."""

    def run(self, graph: Graph) -> Graph:
        shown = {node.storage for node in graph.outputs}
        copier, found = Copier(graph), False
        for node in graph.nodes:
            if _is_copy(node) and node.args[0] not in shown:
                shown.add(node.args[0])
                copier.copies[node] = copier.copies[node.args[0]]
                found = True
            else:
                copier.copy(node)
        return copier.finish() if found else graph


def _is_copy(node: Node) -> bool:
    """Whether a call copies a new array into one that is like it."""
    if node.kind != "call" or node.op is None or node.op.name != "copy" or node.kwargs not in ALWAYS:
        return False
    array = node.args[0] if len(node.args) == 1 else None
    return isinstance(array, Node) and _is_new(array) and _are_alike(array, node)


def _is_new(node: Node) -> bool:
    """Whether a call surely makes an array, in the memory order that its description tells."""
    if node.kind != "call" or node.view_of is not None or not isinstance(node.op, Op):
        return False
    if isinstance(node.op.call, np.ufunc):
        return node.op.call.signature is None or (isinstance(node.meta, ArrayMeta) and node.meta.ndim == 2)
    return node.op.lower is not None and not isinstance(node.op.lower, View)


def _are_alike(array: Node, copy: Node) -> bool:
    a, b = array.meta, copy.meta
    return (
        isinstance(a, ArrayMeta)
        and isinstance(b, ArrayMeta)
        and not (a.scalar or b.scalar or a.is_counted)
        and (a.dtype, a.shape, a.strides, a.owns) == (b.dtype, b.shape, b.strides, b.owns)
    )
