"""Takes a pure graph that ends in copies into its inputs, gives one that copies only the parts that were written.

%update = update(%x, %v, (.getitem(0:2),))
copy_into(%x, %update)                        =>   copy_into(%x, %v, (.getitem(0:2),))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.graph.node import nodes_in
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.ops.functional import COPY_INTO, UPDATE

__all__ = ["StoreParts", "surely_casts"]


@dataclass(frozen=True, slots=True)
class StoreParts:
    """A part is copied by itself if nobody else reads the updated whole and nothing can go wrong while it is stored.

    What could go wrong: an index that only the data tell, a cast that warns, a value that lies in memory which an
    earlier copy has changed. Then the whole is updated before the first copy, as it was.
    """

    def run(self, graph: Graph) -> Graph:
        users = graph.users()
        kept = {*graph.outputs, *(b.node for b in graph.bindings)}
        chains = {n: _chain(n, users, kept) for n in graph.calls() if n.op is COPY_INTO}
        replaced = {update for chain in chains.values() for update in chain}
        copier = Copier(graph)
        for node in graph.nodes:
            if chains.get(node):
                for update in chains[node]:
                    _store(copier, node, update)
            elif node not in replaced:
                copier.copy(node)
        return copier.finish()


def _chain(copy: Node, users: dict[Node, list[Node]], kept: set[Node]) -> list[Node]:
    """The updates that lead from the input to its new value, first one first; none if one of them is needed whole."""
    target, value = copy.args[:2]
    chain: list[Node] = []
    reader = copy
    while value is not target:
        if value.op is not UPDATE or users[value] != [reader] or value in kept or not _is_safe(value):
            return []
        chain.insert(0, value)
        reader, value = value, value.args[0]
    return chain


def _is_safe(update: Node) -> bool:
    base, value, path = update.args
    if value is base or any(True for _ in nodes_in(path)):
        return False
    return surely_casts(update) and not _lies_in_an_input(value)


def surely_casts(update: Node) -> bool:
    """True if no value can warn or fail when it is stored."""
    base, value = update.args[:2]
    assert isinstance(base.meta, ArrayMeta)
    if isinstance(value, np.generic):
        return np.can_cast(value.dtype, base.meta.dtype, "safe")
    if not isinstance(value, Node):
        return type(value) in (bool, int, float) and np.can_cast(np.min_scalar_type(value), base.meta.dtype, "safe")
    return isinstance(value.meta, ArrayMeta) and np.can_cast(value.meta.dtype, base.meta.dtype, "safe")


def _lies_in_an_input(value: Any) -> bool:
    if not isinstance(value, Node):
        return False
    while value.view_of is not None or value.kind == "item":
        value = value.args[0] if value.kind == "item" else value.view_of
    return value.kind in ("input", "constant")


def _store(copier: Copier, copy: Node, update: Node) -> None:
    _, value, path = update.args
    args = (copier.copies[copy.args[0]], copier.operands(value), copier.operands(path))
    copier.new.call(COPY_INTO, args, {}, None, span=update.span, stack=update.stack)
