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
    first = len(plan.guard.groups)
    found = []
    for position, argument in enumerate(plan.direct, first):
        node = pure.inputs[position]
        value = new_values.get(argument)
        if value is not None and _last_read(pure, node, order) <= order[value]:
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


def _last_read(pure: Graph, node: Node, order: dict[Node, int]) -> int:
    last = order[node]
    same_memory = {node}
    for user in pure.nodes:
        if user.op is COPY_INTO or same_memory.isdisjoint(user.operands()):
            continue
        if user.view_of in same_memory or user.kind == "item":
            same_memory.add(user)
        else:
            last = max(last, order[user])
    return last
