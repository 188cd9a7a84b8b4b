"""Takes a request for a gradient, gives the nodes that compute it, appended to the pure graph that holds the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitmagic.aot.joint.reverse import is_differentiable, pull
from jitmagic.aot.joint.staged import Stage, Staged
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv
from jitmagic.graph.meta import layout_key
from jitmagic.ops.derivatives import gradient_meta

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
    if not _is_own(cotangent, wanted) or cotangent.node in taken:
        cotangent = np.copy(np.reshape(cotangent, value.shape), order="C")
    made: Node = cotangent.node
    taken.add(made)
    return made


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
