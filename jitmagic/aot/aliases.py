"""Takes a captured graph, gives for each node the memory it denotes: whose it is, and by which views.

A node denotes either its own storage, or a view of another node's (``steps`` says by which operation), or the very
object that another node denotes (``same``: the result of a call with ``out=``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, Graph, Node, map_nodes
from jitmagic.graph.node import nodes_in
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.functional import ViewStep

__all__ = ["Aliases", "find_aliases", "is_array"]


def is_array(node: Node) -> bool:
    """True if the node denotes memory that can be shared and written."""
    if node.kind == "constant":
        return isinstance(node.value, np.ndarray)
    return isinstance(node.meta, ArrayMeta) and not node.meta.scalar


@dataclass(slots=True)
class Aliases:
    """``same[n]`` is the node whose object ``n`` denotes; ``parents[n]`` and ``steps[n]`` describe a view."""

    same: dict[Node, Node] = field(default_factory=dict)
    parents: dict[Node, Node] = field(default_factory=dict)
    steps: dict[Node, ViewStep] = field(default_factory=dict)

    def copy(self) -> Aliases:
        return Aliases(dict(self.same), dict(self.parents), dict(self.steps))

    def canonical(self, node: Node) -> Node:
        """The one node that stands for the object that ``node`` denotes."""
        return self.same.get(node, node)

    def storage(self, node: Node) -> Node:
        """The node that made the memory."""
        node = self.canonical(node)
        while node in self.parents:
            node = self.parents[node]
        return node

    def chain(self, node: Node) -> list[Node]:
        """The views from the storage (not included) down to ``node`` (included)."""
        node = self.canonical(node)
        found: list[Node] = []
        while node in self.parents:
            found.append(node)
            node = self.parents[node]
        return found[::-1]

    def path(self, node: Node) -> tuple[ViewStep, ...]:
        return tuple(self.steps[view] for view in self.chain(node))

    def is_view(self, node: Node) -> bool:
        return self.canonical(node) in self.parents

    def view(self, node: Node, parent: Node, step: ViewStep) -> None:
        """Record that ``node`` is the view of ``parent`` that ``step`` makes."""
        self.parents[node] = self.canonical(parent)
        self.steps[node] = step

    def written_storages(self, graph: Graph) -> list[Node]:
        """The storages that some node of the graph writes, in the order of their first write."""
        found = (self.storage(target) for node in graph.nodes for target in node.written())
        return list(dict.fromkeys(found))


def find_aliases(graph: Graph) -> Aliases:
    """Raises InternalError if a view does not name the operand it shares memory with."""
    aliases = Aliases()
    for node in graph.nodes:
        if node.kind == "call" and not _note_out(aliases, node, node.kwargs.get("out")):
            _note_view(aliases, node)
        elif node.kind == "item":
            _note_item(aliases, node)
    return aliases


def _note_out(aliases: Aliases, node: Node, out: Any) -> bool:
    """The result of a call with ``out=`` is that object."""
    single = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if isinstance(single, Node) and node.meta is not None:
        aliases.same[node] = aliases.canonical(single)
    return out is not None


def _note_view(aliases: Aliases, node: Node) -> None:
    if node.view_of is not None and is_array(node):
        aliases.view(node, node.view_of, _step(node, node.view_of))


def _step(call: Node, base: Node, item: int | None = None) -> ViewStep:
    assert call.op is not None
    for position, operand in enumerate(call.args):
        if operand is base:
            rest = (*call.args[:position], *call.args[position + 1 :])
            return ViewStep(call.op, rest, call.kwargs, position, item)
    raise InternalError(f"{call!r} is called a view of {base!r}, which is not among its positional operands")


def _note_item(aliases: Aliases, node: Node) -> None:
    call = node.args[0]
    out = call.kwargs.get("out")
    if isinstance(out, tuple) and isinstance(out[node.index], Node):
        aliases.same[node] = aliases.canonical(out[node.index])
    elif call.view_of is not None and is_array(node):
        _note_item_view(aliases, node, call)


def _note_item_view(aliases: Aliases, node: Node, call: Node) -> None:
    """Of several operands (``broadcast_arrays``) NumPy tells which one an entry is a view of."""
    operands = list(dict.fromkeys(o for o in call.args if isinstance(o, Node) and is_array(o)))
    base: Node | None = call.view_of
    if len(operands) > 1:
        base = _origin(call, operands, node.index)
    if base is not None:
        aliases.view(node, base, _step(call, base, node.index))


def _origin(call: Node, operands: list[Node], index: int) -> Node | None:
    """The operand whose memory entry ``index`` shares, found by calling the operation on stand-ins."""
    standins = {o: o.value if o.kind == "constant" else _described(o).standin() for o in operands}

    def stand_in(leaf: Any) -> Any:
        if isinstance(leaf, Node):
            return standins[leaf]
        return leaf.hint if isinstance(leaf, SymInt) else leaf

    assert call.op is not None
    entry = call.op.call(*map_nodes(call.args, stand_in), **map_nodes(call.kwargs, stand_in))[index]
    owners = list(_owners(entry))
    return next((o for o in operands if any(standins[o] is owner for owner in owners)), None)


def _described(node: Node) -> ArrayMeta:
    if not isinstance(node.meta, ArrayMeta):
        raise InternalError(f"{node!r} has no description of an array")
    return node.meta


def _owners(array: Any) -> Iterator[Any]:
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def reads_memory_of(aliases: Aliases, node: Node, storage: Node) -> bool:
    """True if an operand of ``node`` that it does not write lies in ``storage``."""
    written = set(map(aliases.canonical, node.written()))
    read = (aliases.canonical(o) for o in nodes_in((node.args, {k: v for k, v in node.kwargs.items() if k != "out"})))
    return any(aliases.storage(o) is storage for o in read if is_array(o) and o not in written)
