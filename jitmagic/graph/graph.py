"""The graph: inputs, nodes in program order, outputs, and how its symbols are bound.

A captured graph has *reference semantics*: a node that writes (``out=``, ``x[i] = v``) changes the array that its
operand denotes, exactly as NumPy would. ``jitmagic.aot`` makes it pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jitmagic.errors import Span
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.meta import Meta
from jitmagic.graph.node import ModuleCall, Node, Operation
from jitmagic.graph.shapes import SymInt

__all__ = ["Binding", "Graph", "Placeholder"]


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a symbol gets its value at run time: a size of ``node``'s result, or its value if ``axis`` is None."""

    symbol: str
    node: Node
    axis: int | None


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A graph input and the Python expression of its source, for printing and for error messages."""

    node: Node
    source: str


@dataclass(slots=True)
class Graph:
    """Build it with ``input``, ``constant``, ``call`` and ``item``; ``nodes`` is in program order.

    ``outputs`` is a flat list of nodes; what the caller gets from them is the business of whoever made the graph.
    ``graph(*arguments)`` runs it through NumPy and gives them all as a tuple.
    """

    name: str = "graph"
    nodes: list[Node] = field(default_factory=list)
    placeholders: list[Placeholder] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    derived: set[str] = field(default_factory=set)  # names of the nodes that derivatives are computed by

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The outputs for these arguments, one for each input. Raises TypeError for another number of arguments."""
        if len(arguments) != len(self.placeholders):
            takes = ", ".join(node.name for node in self.inputs)
            raise TypeError(
                f"graph {self.name!r} takes {len(self.placeholders)} arguments ({takes}): {len(arguments)} given"
            )
        return tuple(interpret(self, arguments))

    @property
    def inputs(self) -> list[Node]:
        return [p.node for p in self.placeholders]

    def input(self, source: str, meta: Meta, span: Span | None = None) -> Node:
        """A new argument, named after the expression that it comes from."""
        node = Node(self._fresh(source), "input", meta, span=span)
        self.nodes.append(node)
        self.placeholders.append(Placeholder(node, source))
        return node

    def constant(self, value: Any, meta: Meta | None, name: str = "const") -> Node:
        """An object held by the graph itself."""
        node = Node(self._fresh(name), "constant", meta, value=value)
        self.nodes.append(node)
        return node

    def call(
        self,
        op: Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        meta: Meta | None,
        *,
        view_of: Node | None = None,
        span: Span | None = None,
        stack: tuple[ModuleCall, ...] = (),
    ) -> Node:
        """The result of ``op``; ``meta`` is None for a tuple (see ``item``) and for no result."""
        name = self._fresh(op.name)
        node = Node(name, "call", meta, op, args, kwargs, view_of=view_of, span=span, stack=stack)
        self.nodes.append(node)
        return node

    def item(self, source: Node, index: int, meta: Meta) -> Node:
        """Entry ``index`` of a result that is a tuple."""
        name = self._fresh(f"{source.name}_{index}")
        node = Node(name, "item", meta, args=(source,), index=index, span=source.span)
        self.nodes.append(node)
        return node

    def bind(self, symbol: SymInt, node: Node, axis: int | None) -> None:
        """Say where a new symbol gets its value at run time."""
        self.bindings.append(Binding(repr(symbol), node, axis))

    def users(self) -> dict[Node, list[Node]]:
        """For every node the nodes that read it, in program order."""
        table: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for operand in dict.fromkeys(node.operands()):
                table[operand].append(node)
        return table

    def calls(self) -> Iterator[Node]:
        return (node for node in self.nodes if node.kind == "call")

    def forget_calls(self, start: int) -> None:
        """Drop the calls made since there were ``start`` nodes: of an attempt that came to nothing."""
        made = self.nodes[start:]
        dropped = {n for n in made if n.kind in ("call", "item")}
        self.nodes[start:] = [n for n in made if n not in dropped]
        self.bindings = [b for b in self.bindings if b.node not in dropped]

    def prune(self) -> None:
        """Drop nodes that nothing needs and that NumPy would run without a word; inputs stay, as arguments do."""
        needed = set(self.outputs) | {b.node for b in self.bindings}
        for node in reversed(self.nodes):
            if node in needed or not node.is_silent:
                needed.add(node)
                needed.update(node.operands())
        self.nodes = [n for n in self.nodes if n in needed or n.kind == "input"]

    def _fresh(self, wanted: str) -> str:
        """A valid, unused name; each run of other characters becomes one underscore."""
        base = re.sub(r"\W+", "_", wanted).strip("_") or "v"
        base = f"v_{base}" if base[0].isdigit() else base
        name = base
        while name in self.names:
            self.names[base] += 1
            name = f"{base}_{self.names[base]}"
        self.names[name] = 0
        return name
