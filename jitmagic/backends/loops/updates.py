"""Takes a schedule, gives the functional updates that may write into their base: nobody reads its old value again."""

from __future__ import annotations

import operator

from jitmagic.backends.loops.buffers import last_reads
from jitmagic.backends.loops.schedule import Call, Launch, Schedule
from jitmagic.graph import Node
from jitmagic.ops.functional import UPDATE, ViewStep
from jitmagic.ops.lowering import Fill

__all__ = ["is_plain_update", "updates_in_place"]


def is_plain_update(node: Node) -> bool:
    """An ``update`` whose path is made of subscripts: these are views of any array. (A ``reshape`` may be a copy.)"""
    return node.op is UPDATE and not node.kwargs and all(map(_is_subscript, node.args[2]))


def _is_subscript(step: ViewStep) -> bool:
    plain = step.op.call is operator.getitem and not step.kwargs and len(step.args) == 1
    return plain and step.position == 0 and step.item is None


def updates_in_place(plan: Schedule) -> set[Node]:
    """``update`` nodes whose base was made by this program and dies with them, views of it included."""
    dies = last_reads(plan)
    made: set[Node] = set()
    alive_with: dict[Node, Node] = {}  # a view and the array whose memory it shares
    last: dict[Node, int] = {}
    for k, step in enumerate(plan.steps):
        for node in dies.get(k, ()):
            last[node] = k
        if isinstance(step, Call) and step.node.view_of is not None:
            owner = step.node.view_of
            alive_with[step.node] = alive_with.get(owner, owner)
    forever = len(plan.steps)
    for view, owner in alive_with.items():
        last[owner] = max(last.get(owner, forever), last.get(view, forever))
    found: set[Node] = set()
    for k, step in enumerate(plan.steps):
        if isinstance(step, Launch):
            made.update(step.built.outputs.values())
        elif is_plain_update(step.node):
            base = step.node.args[0]
            if base in made and last.get(base, forever) == k:
                found.add(step.node)
            made.add(step.node)
        elif isinstance(getattr(step.node.op, "lower", None), Fill):
            made.add(step.node)
    return found
