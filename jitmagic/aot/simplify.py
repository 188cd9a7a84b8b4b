"""Takes a pure graph, gives it without dead and repeated work; the ops' rows say what may be dropped."""

from __future__ import annotations

import numpy as np

from jitmagic.aot.joint.watches import DropWatches
from jitmagic.aot.own_copies import OwnCopies
from jitmagic.aot.same_views import SameViews
from jitmagic.aot.stores import StoreParts, surely_casts
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv
from jitmagic.graph.passes import CommonSubexpressions, DeadCode, Pass, run_passes
from jitmagic.ops.functional import UPDATE, PureCall
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Op

__all__ = ["may_drop", "simplify_pure"]


def simplify_pure(graph: Graph, *, kept_writes: bool = False) -> Graph:
    """Verified after each pass."""
    passes: tuple[Pass, ...] = (
        DropWatches(),
        CommonSubexpressions(_written),
        SameViews(),
        OwnCopies(),
        DeadCode(may_drop),
    )
    if kept_writes:
        passes = (*passes, StoreParts())
    return run_passes(graph, passes, pure=not kept_writes)


def _written(graph: Graph) -> set[Node]:
    return {base for node in graph.nodes for base in _bases(node)}


def _bases(node: Node) -> tuple[Node, ...]:
    """Arrays whose next value a node gives: two of them merged would have to be copied apart again."""
    call = getattr(node.op, "call", None)
    if node.op is UPDATE:
        return (node.args[0],)
    return tuple(node.args[p] for p in call.row.writes) if isinstance(call, PureCall) else ()


def _picks(node: Node, row: Op) -> bool:
    """Whether elements are picked by a list that stands in the program, which nobody has compared with the sizes."""
    return node.view_of is None and row.may_raise(node.args, node.kwargs, ShapeEnv())


GIVE_ARRAYS_BACK = (np.asarray, np.asanyarray)


def _is_array_alone(node: Node) -> bool:
    """Whether an array is all that a call gets."""
    operand = node.args[0] if len(node.args) == 1 and not node.kwargs else None
    return isinstance(operand, Node) and isinstance(operand.meta, ArrayMeta)


def may_drop(node: Node) -> bool:
    """False for what NumPy may warn about or refuse when it sees the data: the plain run does it, read or not."""
    if node.kind != "call":
        return True
    row = node.op
    if any(getattr(row, "call", None) is f for f in GIVE_ARRAYS_BACK) and _is_array_alone(node):
        return True
    if not isinstance(row, Op) or row.effects or row.warns or node.written():
        return False
    if row is UPDATE:
        return surely_casts(node)
    if node.view_of is not None or isinstance(row.lower, View):
        return len(set(node.operands())) == 1 and not _picks(node, row)  # an index may be out of bounds
    return row.lower is not None and not row.raises
