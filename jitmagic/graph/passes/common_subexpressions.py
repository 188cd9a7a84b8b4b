"""Computes once what is computed twice from the same operands.

%a = add(%x, 1)
%b = add(%x, 1)     =>   %a = add(%x, 1)
%c = mul(%a, %b)         %c = mul(%a, %a)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node, map_nodes
from jitmagic.graph.passes.keys import structural_key
from jitmagic.graph.passes.rewrite import Copier

__all__ = ["CommonSubexpressions"]


@dataclass(frozen=True, slots=True)
class CommonSubexpressions:
    """Leaves alone what has effects, and two nodes whose memory outputs have: the caller must get separate arrays.

    Nothing is merged across a node that writes, since its operands then hold other values. ``apart`` gives the
    nodes of a graph for which it is not worth it: arrays that are written, of which one would have to be copied then.
    """

    apart: Callable[[Graph], Set[Node]] = lambda graph: frozenset()

    def run(self, graph: Graph) -> Graph:
        twins = self._twins(graph)
        if not twins:
            return graph
        copier = Copier(graph)
        for node in graph.nodes:
            if node in twins:
                copier.copies[node] = copier.copies[twins[node]]
            else:
                copier.copy(node)
        return copier.finish()

    def _twins(self, graph: Graph) -> dict[Node, Node]:
        """For each node that need not be computed again the one that computes the same before it."""
        apart, twins = self.apart(graph), dict[Node, Node]()
        known: dict[Hashable, Node] = {}
        outputs = set(graph.outputs) | {_owner(node) for node in graph.outputs}
        taken: set[Node] = set()  # nodes that already stand for an output, or hold its memory
        for node in graph.nodes:
            if not node.is_pure:
                known.clear()
            key = node if node in apart else _key(node, twins)
            twin = known.get(key)
            if twin is not None and not (node in outputs and twin in taken):
                twins[node] = twin
            else:
                twin = known[key] = node
            if node in outputs:
                taken.add(twin)
        return twins


def _owner(node: Node) -> Node:
    """The call that made the memory which ``node`` shows."""
    while node.view_of is not None or node.kind == "item":
        node = node.args[0] if node.view_of is None else node.view_of
    return node


def _key(node: Node, twins: dict[Node, Node]) -> Hashable:
    """Equal for nodes that compute the same; a node that is not to be compared is its own key."""
    if node.kind == "call" and node.is_pure:
        read = map_nodes(
            (node.args, node.kwargs), lambda leaf: twins.get(leaf, leaf) if isinstance(leaf, Node) else leaf
        )
        return structural_key((node.op, *read))
    if node.kind == "item":
        return "item", twins.get(node.args[0], node.args[0]), node.index
    return node
