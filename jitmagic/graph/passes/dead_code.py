"""Drops nodes whose result nobody reads.

%a = add(%x, 1)
%b = sub(%x, 1)     =>   %b = sub(%x, 1)
return %b                return %b
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node
from jitmagic.graph.passes.rewrite import Copier

__all__ = ["DeadCode"]


@dataclass(frozen=True, slots=True)
class DeadCode:
    """``may_drop(node)`` tells whether running the node could be noticed (a warning, an error, an effect).

    Inputs stay, so that the calling convention does; so does what a size is read from.
    """

    may_drop: Callable[[Node], bool]

    def run(self, graph: Graph) -> Graph:
        needed = set(graph.outputs) | {b.node for b in graph.bindings}
        for node in reversed(graph.nodes):
            if node in needed or node.kind == "input" or not node.is_pure or not self.may_drop(node):
                needed.add(node)
                needed.update(node.operands())
        if all(node in needed for node in graph.nodes):
            return graph
        copier = Copier(graph)
        for node in graph.nodes:
            if node in needed:
                copier.copy(node)
        return copier.finish()
