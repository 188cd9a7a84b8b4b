"""Takes a program and its temporary arrays, gives those whose memory it may keep without needing more than NumPy does.

Memory that a program keeps for an array (``scratch``) is not free when the array is dead. Where NumPy makes arrays of
other kinds then (a sort, a matrix product), both are there at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jitmagic.backends.loops.buffers import last_reads
from jitmagic.backends.loops.schedule import Call, Schedule
from jitmagic.backends.loops.updates import is_plain_ufunc
from jitmagic.backends.numba_cpu.scratch import Kind
from jitmagic.backends.numba_cpu.scratch_lines import large_kind
from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.ops.functional import UPDATE, UPDATE_INDEX

__all__ = ["retained"]


@dataclass(slots=True)
class _Life:
    """Of one piece of memory: its bytes, and the steps from which and up to which it is needed."""

    nbytes: int
    first: int
    last: int
    kind: Kind | None = None


def retained(plan: Schedule, fresh: Sequence[tuple[int, Node]], names: Mapping[Node, str]) -> list[tuple[int, Node]]:
    """Without those that the program hands out.

    ``names`` are those of the host text, where nodes with one memory have one name; ``fresh`` as in ``with_memory``.
    """
    handed_out = {names.get(node.storage) for node in plan.results}
    fresh = [(place, node) for place, node in fresh if names[node] not in handed_out]
    kinds = {names[node]: kind for _, node in fresh if (kind := large_kind(node)) is not None}
    lives = _lives(plan, names, kinds)
    steps = len(plan.steps)
    limit = max(_peak(lives, steps), _peak_of_numpy(plan.graph))
    kept = set(kinds.values())
    while kept and _resident(lives, steps, kept) > limit:
        kept.remove(min(kept, key=lambda kind: _resident(lives, steps, kept - {kind})))
    return [(place, node) for place, node in fresh if kinds.get(names[node]) in (*kept, None)]


def _lives(plan: Schedule, names: Mapping[Node, str], kinds: Mapping[str, Kind]) -> list[_Life]:
    dies = last_reads(plan)
    dead_at = {node: k for k, nodes in dies.items() for node in nodes}
    found: dict[str, _Life] = {}
    for k, step in enumerate(plan.steps):
        for node in [step.node] if isinstance(step, Call) else step.built.outputs.values():
            owner = names.get(node.storage, "")
            if owner and node.view_of is None and owner not in found and isinstance(node.meta, ArrayMeta):
                found[owner] = _Life(_nbytes(node), k, k, kinds.get(owner))
            if owner in found:
                found[owner].last = max(found[owner].last, dead_at.get(node, len(plan.steps)))
    return list(found.values())


def _nbytes(node: Node) -> int:
    assert isinstance(node.meta, ArrayMeta)
    return math.prod(node.meta.hint_shape) * node.meta.dtype.itemsize


def _peak(lives: Iterable[_Life], steps: int) -> int:
    """The most bytes that are needed at once."""
    changes = [0] * (steps + 2)
    for life in lives:
        changes[life.first] += life.nbytes
        changes[life.last + 1] -= life.nbytes
    return max(accumulate(changes))


def _resident(lives: Sequence[_Life], steps: int, kept: Collection[Kind]) -> int:
    """The same where memory of the kinds ``kept`` is never given back."""
    most: Counter[Kind] = Counter()
    for kind in kept:
        own = [life for life in lives if life.kind == kind]
        most[kind] = _peak(own, steps)
    return sum(most.values()) + _peak((life for life in lives if life.kind not in kept), steps)


def _peak_of_numpy(graph: Graph) -> int:
    """What NumPy needs at least: every result is an array, which goes with its last reader, or before an operator."""
    owners = _owners(graph)
    nodes = [node for node in graph.nodes if node.kind not in ("input", "constant")]
    last = {owners[node]: len(nodes) for node in graph.outputs}
    for k, node in reversed(list(enumerate(nodes))):
        for read in (node, *node.operands()):
            last.setdefault(owners[read], k)
    dying: dict[int, list[Node]] = {}
    for owner, k in last.items():
        dying.setdefault(k, []).append(owner)
    now = most = 0
    held: dict[Node, int] = {}
    for k, node in enumerate(nodes):
        if owners[node] is node and isinstance(node.meta, ArrayMeta):
            alike = {owners[o] for o in node.operands() if held.get(owners[o]) == _nbytes(node)}
            is_reused = is_plain_ufunc(node) and any(last[o] == k for o in alike)
            most = max(most, now if is_reused else now + _nbytes(node))
            held[node] = _nbytes(node)
            now += held[node]
        now -= sum(held.pop(dead, 0) for dead in dying.get(k, ()))
    return most


def _owners(graph: Graph) -> dict[Node, Node]:
    """For each node the one whose memory it shows, or is the new state of."""
    found: dict[Node, Node] = {}
    for node in graph.nodes:
        before = node.args[0] if node.op in (UPDATE, UPDATE_INDEX) else node.view_of
        found[node] = node if before is None else found[before]
    return found
