"""Takes a pure graph, gives it without views that show an array as it is: turned twice, reshaped to its own shape.

%a = T(%x)
%b = T(%a)                          =>   %c = exp(%x)
%c = exp(%b)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jitmagic.graph import ArrayMeta, Graph, Node, SymInt
from jitmagic.graph.passes.rewrite import Copier

__all__ = ["SameViews"]

TURNS = ("T", "mT", "transpose", "swapaxes")  # done twice, these are undone


@dataclass(frozen=True, slots=True)
class SameViews:
    """An output stays: it is an object of its own."""

    def run(self, graph: Graph) -> Graph:
        shown = set(graph.outputs)
        same = {n: shows for n in graph.calls() if n not in shown and (shows := _shown_as_is(n)) is not None}
        if not same:
            return graph
        copier = Copier(graph)
        for node in graph.nodes:
            if node in same:
                copier.copies[node] = copier.copies[same[node]]
            else:
                copier.copy(node)
        return copier.finish()


def _shown_as_is(node: Node) -> Node | None:
    """The array that a view shows as it is."""
    shown = node.view_of
    if shown is None or node.op is None or not node.args or node.args[0] is not shown:
        return None
    if node.op.name == "reshape" and node.kwargs in ({}, {"order": "C"}) and _shape(node) == _shape(shown):
        return shown
    is_turned = node.op.name in TURNS and shown.op is node.op and not node.kwargs and not shown.kwargs
    if is_turned and node.args[1:] == shown.args[1:] and (len(node.args) == 1 or node.op.name == "swapaxes"):
        return shown.view_of if shown.args[0] is shown.view_of else None
    return None


def _shape(node: Node) -> tuple[Any, ...] | None:
    meta = node.meta
    return tuple(n.key if isinstance(n, SymInt) else n for n in meta.shape) if isinstance(meta, ArrayMeta) else None
