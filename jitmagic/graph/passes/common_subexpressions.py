"""Computes once what is computed twice from the same operands.

%a = add(%x, 1)
%b = add(%x, 1)     =>   %a = add(%x, 1)
%c = mul(%a, %b)         %c = mul(%a, %a)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.graph.shapes import SymInt

__all__ = ["CommonSubexpressions"]


@dataclass(frozen=True, slots=True)
class CommonSubexpressions:
    """Leaves alone what has effects, and two nodes that are both outputs: the caller must get separate arrays.

    Nothing is merged across a node that writes, since its operands then hold other values.
    """

    def run(self, graph: Graph) -> Graph:
        copier = Copier(graph)
        known: dict[Hashable, Node] = {}
        outputs = set(graph.outputs)
        taken: set[Node] = set()  # copies that already stand for an output
        for node in graph.nodes:
            if not node.is_pure:
                known.clear()
            key = _key(node, copier)
            twin = known.get(key)
            if twin is not None and not (node in outputs and twin in taken):
                copier.copies[node] = twin
            else:
                twin = known[key] = copier.copy(node)
            if node in outputs:
                taken.add(twin)
        return copier.finish()


def _key(node: Node, copier: Copier) -> Hashable:
    """Equal for nodes that compute the same; a node that is not to be compared is its own key."""
    if node.kind == "call" and node.is_pure:
        return _frozen((node.op, copier.operands(node.args), copier.operands(node.kwargs)))
    if node.kind == "item":
        return "item", copier.copies[node.args[0]], node.index
    return node


def _frozen(value: Any) -> Hashable:
    """A key that tells 1 from 1.0 and True, 0.0 from -0.0, and other objects by identity."""
    if isinstance(value, tuple | list):
        return type(value), *map(_frozen, value)
    if isinstance(value, dict):
        return dict, *value, *map(_frozen, value.values())
    if isinstance(value, slice):
        return _frozen((slice, value.start, value.stop, value.step))
    if isinstance(value, SymInt):
        return "size", value.key
    if isinstance(value, bool | int | str | float | complex):
        return type(value), repr(value)
    return "object", id(value)
