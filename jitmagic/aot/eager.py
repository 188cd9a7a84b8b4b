"""The backend ``aot_eager``: takes a pure graph, gives a boxed callable that runs it through NumPy, node by node.

Boxed: it takes its arguments as a list and empties it, so that each value dies after its last use (row A40).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jitmagic.graph import Graph, Node, SymInt
from jitmagic.graph.graph import Binding
from jitmagic.graph.interpreter import call_node
from jitmagic.graph.polynomial import evaluate

__all__ = ["EagerProgram", "aot_eager"]


@dataclass(frozen=True, slots=True)
class EagerProgram:
    """Runs ``graph``; ``last_uses`` lists for each node what nobody needs after it."""

    graph: Graph
    last_uses: dict[Node, list[Node]]
    bindings: dict[Node, list[Binding]]
    boxed = True

    def __call__(self, arguments: list[Any]) -> list[Any]:
        """The outputs. ``arguments`` is empty afterwards. Raises what NumPy raises."""
        values: dict[Node, Any] = dict(zip(self.graph.inputs, arguments, strict=True))
        arguments.clear()
        sizes: dict[str, int] = {}
        for node in self.graph.nodes:
            if node.kind != "input":
                values[node] = _value(node, values, sizes)
            for binding in self.bindings.get(node, ()):
                value = values[node]
                sizes[binding.symbol] = int(value) if binding.axis is None else value.shape[binding.axis]
                del value
            for dead in self.last_uses.get(node, ()):
                del values[dead]
        return [values[node] for node in self.graph.outputs]


def aot_eager(graph: Graph, example_inputs: Sequence[Any] | None = None) -> Callable[[list[Any]], list[Any]]:
    """The reference for every backend of pure graphs."""
    bindings: dict[Node, list[Binding]] = {}
    for binding in graph.bindings:
        bindings.setdefault(binding.node, []).append(binding)
    return EagerProgram(graph, _last_uses(graph), bindings)


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    last = {node: node for node in graph.nodes}
    for node in graph.nodes:
        for operand in node.operands():
            last[operand] = node
    kept = set(graph.outputs)
    table: dict[Node, list[Node]] = {}
    for node, user in last.items():
        if node not in kept:
            table.setdefault(user, []).append(node)
    return table


def _value(node: Node, values: dict[Node, Any], sizes: dict[str, int]) -> Any:
    if node.kind == "constant":
        return node.value
    if node.kind == "item":
        return values[node.args[0]][node.index]

    def resolve(leaf: Any) -> Any:
        if isinstance(leaf, Node):
            return values[leaf]
        return evaluate(leaf.poly, sizes) if isinstance(leaf, SymInt) else leaf

    return call_node(node, resolve)
