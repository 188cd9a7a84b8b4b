"""Takes a pure graph, gives it without dead and repeated work; the ops' rows say what may be dropped."""

from __future__ import annotations

import numpy as np

from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.graph.passes import CommonSubexpressions, DeadCode, run_passes
from jitmagic.ops.functional import UPDATE
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Op

__all__ = ["may_drop", "simplify_pure"]


def simplify_pure(graph: Graph, *, kept_writes: bool = False) -> Graph:
    """Verified after each pass."""
    return run_passes(graph, (CommonSubexpressions(), DeadCode(may_drop)), pure=not kept_writes)


def may_drop(node: Node) -> bool:
    """False for what NumPy may warn about or refuse when it sees the data: the plain run does it, read or not."""
    if node.kind != "call":
        return True
    row = node.op
    if not isinstance(row, Op) or row.effects or row.warns or node.written():
        return False
    if row is UPDATE:
        return _surely_casts(node)
    if node.view_of is not None or isinstance(row.lower, View):
        return len(set(node.operands())) == 1  # an index that only the data tell may be out of bounds
    return row.lower is not None and not row.raises


def _surely_casts(update: Node) -> bool:
    base, value = update.args[:2]
    value_meta = value.meta if isinstance(value, Node) else None
    if not isinstance(value_meta, ArrayMeta) or not isinstance(base.meta, ArrayMeta):
        return False
    return np.can_cast(value_meta.dtype, base.meta.dtype, "safe")
