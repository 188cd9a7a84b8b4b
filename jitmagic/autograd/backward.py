"""Takes recorded results with their cotangents, walks the record back, gives the cotangents of what they came from."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitmagic.autograd.modes import enable_grad, no_grad
from jitmagic.autograd.node import Edge, Node
from jitmagic.errors import GradientError

__all__ = ["walk"]

TWICE = (
    "the record of {} was used by an earlier backward pass, which let go of what it had saved: pass retain_graph=True "
    "to that one"
)


def walk(
    roots: Sequence[tuple[Edge, Any]], *, retain: bool, as_tensors: bool, stop_at: frozenset[int] = frozenset()
) -> dict[int, tuple[Any, Any]]:
    """The cotangents of all leaves: by the leaf's id, the leaf and its cotangent.

    With ``as_tensors`` the pass itself is recorded, for higher derivatives. At nodes whose id is in ``stop_at`` the
    walk ends, as at leaves. Nodes are visited by falling number, so that all of a node's cotangents have arrived.
    """
    state = _Walk(stop_at)
    for edge, g in roots:
        state.deliver(edge, g)
    used: list[Node] = []
    with enable_grad() if as_tensors else no_grad(), np.errstate(all="ignore"):
        while state.heap:
            _, node = heapq.heappop(state.heap)
            arrived = state.pending.pop(id(node))
            if node.released:
                raise GradientError(TWICE.format(node.name))
            used.append(node)
            arrived = [_hooked(node, i, g) for i, g in enumerate(arrived)]
            for place, g in node.pull(arrived, as_tensors):
                if g is not None:
                    state.deliver(node.edges[place], g)
    if not retain:
        for node in used:
            node.release()
    return state.leaves


def _hooked(node: Node, index: int, g: Any) -> Any:
    for hook in tuple(node.hooks.get(index, {}).values()):
        if g is not None:
            changed = hook(g)
            g = g if changed is None else changed
    return g


class _Walk:
    """Nodes that wait, with the cotangents that have arrived at their results."""

    def __init__(self, stop_at: frozenset[int]) -> None:
        self.heap: list[Any] = []
        self.pending: dict[int, list[Any]] = {}
        self.leaves: dict[int, tuple[Any, Any]] = {}
        self.stop_at = stop_at

    def deliver(self, edge: Edge, g: Any) -> None:
        target, index = edge
        if not isinstance(target, Node) or id(target) in self.stop_at:
            known = self.leaves.get(id(target))
            self.leaves[id(target)] = (target, g if known is None else known[1] + g)
            return
        waiting = self.pending.get(id(target))
        if waiting is None:
            waiting = self.pending[id(target)] = [None] * target.outputs
            heapq.heappush(self.heap, (-target.number, target))
        waiting[index] = g if waiting[index] is None else waiting[index] + g
