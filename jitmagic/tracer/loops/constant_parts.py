"""Takes an attribute that a loop reads, gives its value if it may be read once for all rounds.

Reading an attribute of an object may run a property, or ``__getattr__``. One that does something, or computes with
arrays, which the loop may change, is read in every round: no kernel can do that.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from jitmagic.tracer.flow.state import changed, snapshot
from jitmagic.tracer.loops.owners import has_plain_attribute
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.signals import Restart
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.objects import ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["constant_part"]


def constant_part(tx: Evaluator, node: Any) -> VariableTracker:
    """The value of an attribute, or of a part of an array that an attribute holds.

    Raises Unsupported if reading it is more than that. That may have been found out by reading it: then the trace
    starts again and knows better.
    """
    output = tx.output
    key = id(tx.frame.code), ast.unparse(node)
    if key in output.policy.each_time:
        raise refuse(f"{key[1]}, which is computed at each reading")
    owner = tx.eval(node.value) if isinstance(node.value, ast.Name) else constant_part(tx, node.value)
    if not isinstance(owner, ObjectTracker) or _is_plain(tx, owner, node):
        return tx.eval(node)
    before, effects, nodes = snapshot(output), len(output.effects), len(output.graph.nodes)
    value = tx.eval(node)
    made = any(each.kind != "input" for each in output.graph.nodes[nodes:])
    if made or len(output.effects) > effects or changed(before):
        output.policy.each_time.add(key)
        raise Restart
    return value


def _is_plain(tx: Evaluator, owner: ObjectTracker, node: Any) -> bool:
    is_read = isinstance(node, ast.Attribute) and type(owner) is ObjectTracker
    return is_read and has_plain_attribute(tx, owner, tx.mangle(node.attr))
