"""Takes a pure graph whose gradients stand in it, gives it without the watches: they have done their work.

%watch = watch(%x)
%sin = sin(%watch)     =>   %sin = sin(%x)
"""

from __future__ import annotations

from dataclasses import dataclass

from jitmagic.graph import Graph, Node
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.ops.derivatives import DETACH, HISTORY_OF, WATCH

__all__ = ["DropWatches"]

MARKS = (WATCH, DETACH, HISTORY_OF)


def _is_dropped(node: Node, graph: Graph) -> bool:
    return node.op is HISTORY_OF or (node.op in MARKS and node not in graph.outputs)


@dataclass(frozen=True, slots=True)
class DropWatches:
    """A graph without watches stays as it is. An output that is watched shows the array behind the watch."""

    def run(self, graph: Graph) -> Graph:
        if not any(_is_dropped(node, graph) for node in graph.nodes):
            return graph
        copier = Copier(graph)
        for node in graph.nodes:
            if _is_dropped(node, graph):
                copier.copies[node] = copier.operands(node.args[0])
            else:
                copier.copy(node)
        return copier.finish()
