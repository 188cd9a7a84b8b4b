"""Takes a pure graph and its plan, gives the written arguments whose old value nobody reads once the new one exists."""

from __future__ import annotations

from jitmagic.aot.plan import InferencePlan
from jitmagic.graph import Graph, Node
from jitmagic.ops.functional import COPY_INTO

__all__ = ["donated_inputs"]


def donated_inputs(pure: Graph, plan: InferencePlan) -> tuple[int, ...]:
    """Positions of arguments, in order. Views of an old value count as readers of it."""
    new_values = _new_values(pure, plan)
    order = {node: i for i, node in enumerate(pure.nodes)}
    last = _last_reads(pure, order)
    first = len(plan.guard.groups)
    found = []
    for position, argument in enumerate(plan.direct, first):
        node = pure.inputs[position]
        value = new_values.get(argument)
        if value is not None and last[node] <= order[value]:
            found.append(argument)
    return tuple(sorted(found))


def _new_values(pure: Graph, plan: InferencePlan) -> dict[int, Node]:
    values = {c.argument: pure.outputs[c.result] for c in plan.copy_backs}
    arguments = dict(zip(pure.inputs[len(plan.guard.groups) :], plan.direct, strict=True))
    for node in pure.calls():
        if node.op is COPY_INTO:
            value = node.args[1]  # a constant is known from the start, a part is stored by the copy itself
            values[arguments[node.args[0]]] = value if isinstance(value, Node) else node
    return values


def _last_reads(pure: Graph, order: dict[Node, int]) -> dict[Node, int]:
    """For each input the place of the node that reads its memory last, be it through views; its own if nobody does."""
    owner = {node: node for node in pure.inputs}  # whose memory a node shows, for the memory of inputs
    last = {node: order[node] for node in pure.inputs}
    for user in pure.nodes:
        if user.op is COPY_INTO:
            continue
        for operand in user.operands():
            memory = owner.get(operand)
            if memory is None:
                continue
            if user.kind == "item" or (user.view_of is not None and owner.get(user.view_of) is memory):
                owner[user] = memory
            else:
                last[memory] = order[user]
    return last
