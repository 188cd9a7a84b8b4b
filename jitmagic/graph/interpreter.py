"""The meaning of a graph: runs it node by node through NumPy. The reference for every backend and every pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import InternalError
from jitmagic.graph.node import Node, map_nodes
from jitmagic.graph.polynomial import evaluate
from jitmagic.graph.shapes import SymInt

if TYPE_CHECKING:
    from jitmagic.graph.graph import Binding, Graph  # which run themselves by ``interpret``

__all__ = ["call_node", "interpret"]

Values = dict[Node, Any]
Sizes = dict[str, int]


def interpret(graph: Graph, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of ``graph`` for ``arguments`` (one per input, in order).

    Raises InternalError for a wrong number of arguments, else whatever NumPy raises.
    """
    if len(arguments) != len(graph.placeholders):
        raise InternalError(f"graph {graph.name!r} takes {len(graph.placeholders)} arguments, got {len(arguments)}")
    values: Values = dict(zip(graph.inputs, arguments, strict=True))
    sizes: Sizes = {}
    bound = _bindings_by_node(graph)
    for node in graph.nodes:
        if node.kind != "input":
            values[node] = _MEANING[node.kind](node, values, sizes)
        for binding in bound.get(node, ()):
            value = values[node]
            sizes[binding.symbol] = int(value) if binding.axis is None else value.shape[binding.axis]
    return [values[node] for node in graph.outputs]


def _bindings_by_node(graph: Graph) -> dict[Node, list[Binding]]:
    table: dict[Node, list[Binding]] = {}
    for binding in graph.bindings:
        table.setdefault(binding.node, []).append(binding)
    return table


def _constant(node: Node, values: Values, sizes: Sizes) -> Any:
    return node.value


def _item(node: Node, values: Values, sizes: Sizes) -> Any:
    return values[node.args[0]][node.index]


def _call(node: Node, values: Values, sizes: Sizes) -> Any:
    def resolve(leaf: Any) -> Any:
        if isinstance(leaf, Node):
            return values[leaf]
        return evaluate(leaf.poly, sizes) if isinstance(leaf, SymInt) else leaf

    return call_node(node, resolve)


def call_node(node: Node, resolve: Callable[[Any], Any]) -> Any:
    """The result of a call whose operands ``resolve`` gives."""
    op = node.op
    assert op is not None
    args, kwargs = map_nodes(node.args, resolve), map_nodes(node.kwargs, resolve)
    if getattr(op, "unheard", False):
        with np.errstate(all="ignore"):
            return op.call(*args, **kwargs)
    return op.call(*args, **kwargs)


_MEANING: dict[str, Callable[[Node, Values, Sizes], Any]] = {
    "constant": _constant,
    "item": _item,
    "call": _call,
}
