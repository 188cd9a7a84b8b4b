"""Takes a schedule, gives when each array is read for the last time, so that the host frees it there."""

from __future__ import annotations

from jitmagic.backends.loops.schedule import Call, Schedule, Step
from jitmagic.graph import Node

__all__ = ["last_reads"]


def last_reads(plan: Schedule) -> dict[int, list[Node]]:
    """For each step the nodes that nobody reads after it; inputs, constants and outputs never die."""
    graph = plan.graph
    kept = set(graph.outputs) | {n for n in graph.nodes if n.kind in ("input", "constant")}
    last: dict[Node, int] = {}
    for k, step in enumerate(plan.steps):
        for node in (*_made(step), *_read(step)):
            if node not in kept:
                last[node] = k
    dies: dict[int, list[Node]] = {}
    for node, k in last.items():
        dies.setdefault(k, []).append(node)
    return dies


def _read(step: Step) -> list[Node]:
    return list(step.node.operands()) if isinstance(step, Call) else list(step.built.inputs.values())


def _made(step: Step) -> list[Node]:
    return [step.node] if isinstance(step, Call) else list(step.built.outputs.values())
