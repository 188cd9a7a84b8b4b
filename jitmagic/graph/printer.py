"""Takes a graph, gives one line of text per node, in program order.

%multiply = multiply(%x, %y)    float64[8]    line 3    in model.scale (Scale)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node

__all__ = ["print_graph", "print_value"]


def print_graph(graph: Graph, marks: Mapping[Node, str] | None = None) -> str:
    """The text of ``graph``; ``marks`` adds a word to a node's line (its kernel, for example)."""
    sources = {p.node: p.source for p in graph.placeholders}
    rows = [
        (
            f"{node!r} = {_expression(node, sources)}",
            str(node.meta or ""),
            (marks or {}).get(node, ""),
            f"line {node.span.line}" if node.span else "",
            f"in {node.stack[-1]}" if node.stack else "",
        )
        for node in graph.nodes
    ]
    left, middle = (max((len(r[i]) for r in rows), default=0) for i in range(2))
    lines = [f"{r[0]:<{left}}  {r[1]:<{middle}}  {'  '.join(filter(None, r[2:]))}" for r in rows]
    outputs = ", ".join(map(repr, graph.outputs))
    return "\n".join([*(line.rstrip() for line in lines), f"return {outputs}".rstrip()])


def _expression(node: Node, sources: Mapping[Node, str]) -> str:
    if node.kind == "input":
        return f"input {sources[node]}"
    if node.kind == "constant":
        return f"constant {print_value(node.value)}"
    if node.kind == "item":
        return f"{node.args[0]!r}[{node.index}]"
    parts = [print_value(a) for a in node.args]
    parts += [f"{k}={print_value(v)}" for k, v in node.kwargs.items()]
    name = node.op.name if node.op else "?"
    return f"{name}({', '.join(parts)})"


def print_value(value: Any) -> str:
    """One operand as text; arrays show their dtype and shape, not their elements."""
    if hasattr(value, "show"):  # a step of a view path prints itself
        return str(value.show(print_value))
    if isinstance(value, tuple):
        inner = ", ".join(map(print_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(map(print_value, value))}]"
    if isinstance(value, slice):
        parts = ["" if v is None else print_value(v) for v in (value.start, value.stop, value.step)]
        return ":".join(parts[:2] if value.step is None else parts)
    if isinstance(value, np.ndarray):
        return f"<{value.dtype}{list(value.shape)}>"
    return str(getattr(value, "__name__", None) or repr(value))
