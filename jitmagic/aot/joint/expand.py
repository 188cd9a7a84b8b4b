"""Takes a request for a gradient, gives the nodes that compute it, appended to the pure graph that holds the value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from jitmagic.aot.joint.reverse import is_differentiable, pull
from jitmagic.aot.joint.staged import Stage, Staged
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv
from jitmagic.graph.meta import layout_key
from jitmagic.ops.derivatives import gradient_meta
from jitmagic.ops.record import Op

__all__ = ["expand_gradient", "fresh"]


def expand_gradient(
    graph: Graph, env: ShapeEnv, value: Any, cotangent: Any, watched: Sequence[Node], like: Node
) -> list[Node]:
    """The gradient of ``value`` with respect to each of ``watched``, each a new array.

    Raises Unsupported ``no-derivative`` for an operation without a rule.
    """
    before = len(graph.nodes)
    stage = Stage(graph, env, like.span, like.stack)
    values = value if isinstance(value, tuple) else (value,)
    cotangents = cotangent if isinstance(value, tuple) else (cotangent,)
    seeds: dict[Node, Any] = {}
    for each, given in zip(values, cotangents, strict=True):
        if isinstance(each, Node) and is_differentiable(each):
            seed = stage.lift(given) if given is not None else stage.one_like(each)
            seeds[each] = seeds[each] + seed if each in seeds else seed
    found = pull(stage, seeds, watched)
    stage.span, stage.stack = like.span, like.stack
    taken: set[Node] = set()
    made = [fresh(stage, g, node, taken) for g, node in zip(found, watched, strict=True)]
    graph.derived |= {node.name for node in graph.nodes[before:]}
    return made


def fresh(stage: Stage, cotangent: Any, like: Node, taken: set[Node]) -> Node:
    """The cotangent of ``like`` as an array of its own, dense and of the same shape; zeros for None."""
    value = stage.value(like)
    wanted = gradient_meta(like.meta)
    if cotangent is None:
        cotangent = np.zeros(()).dtype.type(0) if wanted.scalar else np.zeros_like(value, order="C", subok=False)
    if wanted.scalar:
        return _scalar(stage, cotangent, wanted)
    cotangent = _unwound(stage, cotangent)
    if not _is_own(cotangent, wanted) or cotangent.node in taken:
        is_across = _runs_across(cotangent)
        cotangent = np.copy(np.reshape(cotangent, value.shape), order="C")
        if is_across:
            cotangent.node.op = apart(cotangent.node.op)
    made: Node = cotangent.node
    taken.add(made)
    return made


def _unwound(stage: Stage, cotangent: Any) -> Any:
    """What was transposed and transposed back, as it was."""
    if not isinstance(cotangent, Staged):
        return cotangent
    root = cotangent.node
    while root.view_of is not None and root.op is not None and root.op.name in TRANSPOSING:
        root = root.view_of
    meta, shown = root.meta, cotangent.meta
    if not isinstance(meta, ArrayMeta) or meta.scalar or meta.ndim != shown.ndim or meta.dtype != shown.dtype:
        return cotangent
    alike = layout_key(meta.hint_shape, meta.strides) == layout_key(shown.hint_shape, shown.strides)
    known = all(type(n) is int for n in (*meta.shape, *shown.shape))  # equal strides, equal sizes: the same places
    return stage.value(root) if alike and known and meta.shape == shown.shape else cotangent


TRANSPOSING = frozenset({"transpose", "swapaxes", "matrix_transpose"})


def _runs_across(cotangent: Any) -> bool:
    """Whether the elements of the last axis lie far apart in memory, as in the transpose of a product of matrices."""
    meta = cotangent.meta if isinstance(cotangent, Staged) else None
    return isinstance(meta, ArrayMeta) and meta.ndim > 1 and abs(meta.strides[-1]) > meta.dtype.itemsize


@cache
def apart(row: Op) -> Op:
    """``row`` left to NumPy: a loop that read its operand across memory would slow down all that is fused with it."""
    return replace(row, lower=None)


def _scalar(stage: Stage, cotangent: Any, wanted: ArrayMeta) -> Node:
    if not isinstance(cotangent, Staged):
        return stage.graph.constant(wanted.dtype.type(cotangent), wanted)
    if not cotangent.meta.scalar:
        cotangent = np.reshape(cotangent, ())[()]
    made: Node = cotangent.node
    return made


def _is_own(cotangent: Any, wanted: ArrayMeta) -> bool:
    """Whether it is an array that nothing else shows, in the order that the tracer has promised."""
    if not isinstance(cotangent, Staged) or cotangent.meta.scalar:
        return False
    node, meta = cotangent.node, cotangent.meta
    if node.kind != "call" or node.view_of is not None or meta.ndim != wanted.ndim or meta.dtype != wanted.dtype:
        return False
    return layout_key(meta.hint_shape, meta.strides) == layout_key(wanted.hint_shape, wanted.strides)
