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
    symbols: dict[Node, list[str]] = {}
    for binding in graph.bindings:
        symbols.setdefault(binding.node, []).append(binding.symbol)
    for node in graph.nodes:
        problem = _problem(node, seen, bound, pure)
        if node.name in names:
            problem = "has a name that is used twice"
        if problem:
            raise _broken(graph, node, problem)
        seen.add(node)
        names.add(node.name)
        bound.update(symbols.get(node, ()))
    for node in graph.outputs:
        if node not in seen:
            raise _broken(graph, node, "is an output but not a node of the graph")


def _problem(node: Node, seen: set[Node], bound: set[str], pure: bool) -> str:
    """What is wrong with a node that comes after those ``seen``; empty if nothing is."""
    if node.kind not in KINDS:
        return f"has the unknown kind {node.kind!r}"
    if (node.kind == "call") != (node.op is not None):
        return "is a call or has no op"
    for operand in node.operands():
        if operand not in seen:
            return f"reads {operand!r} before it is defined"
    unbound = _symbols(node) - bound
    if unbound:
        return f"uses the size {min(unbound)} before it is bound"
    return "writes into an operand of a pure graph" if pure and node.written() else ""


def _symbols(node: Node) -> set[str]:
    found: set[str] = set()
    stack: list[object] = [*node.args, *node.kwargs.values()]
    while stack:
        value = stack.pop()
        if isinstance(value, Node):
            continue
        if isinstance(value, SymInt):
            found |= {s.name for s in symbols_of(value.poly)}
        elif isinstance(value, tuple | list):
            stack.extend(value)
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, slice):
            stack.extend((value.start, value.stop, value.step))
    return found


def _broken(graph: Graph, node: Node, problem: str) -> InternalError:
    return InternalError(f"graph {graph.name!r}: {node!r} {problem}\n{print_graph(graph)}")
