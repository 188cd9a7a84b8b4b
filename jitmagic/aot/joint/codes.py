"""Takes a node and which of its operands hold the bits or the text of numbers, tells what that makes of its result.

``x.view("i8").view("f8")`` leads through integers, which no derivative flows through: without this the gradient would
be 0, unnoticed. As on the tape (``jitmagic.autograd.coded``) what comes back from such a code has no derivative.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from jitmagic.graph import ArrayMeta, Node
from jitmagic.graph.node import nodes_in
from jitmagic.ops.functional import PureCall
from jitmagic.ops.gradients.calls import has_rule
from jitmagic.ops.record import Op
from jitmagic.ops.view_steps import RETYPING, is_coding

__all__ = ["LOST", "makes_code", "reads_code", "stays_code", "writes_code"]

LOST = "a number made of the bits or the text of another one"


def makes_code(node: Node) -> bool:
    """Whether a result computed of numbers, which is none itself, holds them in another code."""
    name = node.op.name if node.op is not None else ""
    through_a_view = name in UPDATES and any(step.op.name in RETYPING for step in node.args[2])
    return name in RETYPING or through_a_view or _kind(node) in "SUTV"


def writes_code(node: Node) -> bool:
    """Whether numbers are written through a view of their bits."""
    return node.op is not None and node.op.name in UPDATES and is_coding(node.args[2])


def stays_code(node: Node) -> bool:
    """Whether what is no number and was computed of a code may lead back to numbers: conditions do not."""
    return _kind(node) != "b" or (node.op is not None and node.op.name in RETYPING)


def reads_code(node: Node, coded: AbstractSet[Node]) -> bool:
    """Whether the operands in ``coded`` are more than what chooses: an index, a condition."""
    row = node.op
    if not isinstance(row, Op) or row.vjp is None or isinstance(row.call, PureCall):
        return True
    places = [place for place, arg in enumerate(node.args) if not coded.isdisjoint(nodes_in(arg))]
    return not places or any(has_rule(row, place) for place in places)


UPDATES = frozenset({"update", "update_index"})


def _kind(node: Node) -> str:
    """The kind of the dtype; nothing where there is no array."""
    return node.meta.dtype.kind if isinstance(node.meta, ArrayMeta) else "?"
