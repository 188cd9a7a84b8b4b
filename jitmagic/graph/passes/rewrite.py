"""Takes a graph, gives a copy of it with some nodes left out or replaced by others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from jitmagic.graph.graph import Binding, Graph, Placeholder
from jitmagic.graph.node import Node, map_nodes

__all__ = ["Copier", "copied"]


class Copier:
    """Makes the copy node by node; ``copies`` maps old nodes to those that now stand for them."""

    def __init__(self, graph: Graph) -> None:
        self.old = graph
        self.new = Graph(graph.name, names=dict(graph.names), derived=graph.derived)
        self.copies: dict[Node, Node] = {}

    def operands(self, value: Any) -> Any:
        return map_nodes(value, lambda leaf: self.copies[leaf] if isinstance(leaf, Node) else leaf)

    def copy(self, node: Node) -> Node:
        """Append a copy of ``node`` that reads the copies of its operands."""
        view_of = None if node.view_of is None else self.copies[node.view_of]
        args, kwargs = self.operands(node.args), self.operands(node.kwargs)
        made = replace(node, args=args, kwargs=kwargs, view_of=view_of)
        self.new.nodes.append(made)
        self.copies[node] = made
        return made

    def finish(self, dropped_bindings: Iterable[Binding] = ()) -> Graph:
        """The copy, with inputs, outputs and bindings."""
        dropped = set(dropped_bindings)
        self.new.placeholders = [Placeholder(self.copies[p.node], p.source) for p in self.old.placeholders]
        self.new.outputs = [self.copies[node] for node in self.old.outputs]
        self.new.bindings = [
            Binding(b.symbol, self.copies[b.node], b.axis) for b in self.old.bindings if b not in dropped
        ]
        return self.new


def copied(graph: Graph) -> Graph:
    """A graph of new nodes."""
    copier = Copier(graph)
    for node in graph.nodes:
        copier.copy(node)
    return copier.finish()
