"""Takes a graph, gives nothing, or an InternalError that names the broken rule and the node."""

from __future__ import annotations

from jitmagic.errors import InternalError
from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node
from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.printer import print_graph
from jitmagic.graph.shapes import SymInt

__all__ = ["verify"]

KINDS = {"input", "constant", "call", "item"}


def verify(graph: Graph, *, pure: bool = False) -> None:
    """Check that operands are defined before use, names are unique and symbols are bound.

    With ``pure`` also that no node writes into an array (rows A01 and A10). Raises InternalError.
    """
    seen: set[Node] = set()
    names: set[str] = set()
    bound: set[str] = set()
    for node in graph.nodes:
        _require(node.kind in KINDS, graph, node, f"has the unknown kind {node.kind!r}")
        _require(node.name not in names, graph, node, "has a name that is used twice")
        _require((node.kind == "call") == (node.op is not None), graph, node, "is a call or has no op")
        for operand in node.operands():
            _require(operand in seen, graph, node, f"reads {operand!r} before it is defined")
        for symbol in _symbols(node):
            _require(symbol in bound, graph, node, f"uses the size {symbol} before it is bound")
        _require(not (pure and node.written()), graph, node, "writes into an operand of a pure graph")
        seen.add(node)
        names.add(node.name)
        bound |= {b.symbol for b in graph.bindings if b.node is node}
    for node in graph.outputs:
        _require(node in seen, graph, node, "is an output but not a node of the graph")


def _symbols(node: Node) -> set[str]:
    found: set[str] = set()
    stack: list[object] = [node.args, node.kwargs]
    while stack:
        value = stack.pop()
        if isinstance(value, SymInt):
            found |= {s.name for s in symbols_of(value.poly)}
        elif isinstance(value, tuple | list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, slice):
            stack.extend((value.start, value.stop, value.step))
    return found


def _require(condition: bool, graph: Graph, node: Node, problem: str) -> None:
    if not condition:
        raise InternalError(f"graph {graph.name!r}: {node!r} {problem}\n{print_graph(graph)}")
