"""Takes a reduction node, gives how it folds its operand in NumPy's order of operations; None stays with NumPy.

NumPy walks memory: axes from the largest stride to the smallest, neighbours joined. Where the innermost axis is
reduced, each run of it is summed pairwise; where it is kept, whole rows are added to the result one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from jitmagic.backends.loops.operands import dense_axes, is_array, loop_dtype
from jitmagic.graph import ArrayMeta, Node, SymInt
from jitmagic.graph.polynomial import symbols_of
from jitmagic.ops.lowering import Reduction

__all__ = ["FoldRecipe", "arguments_by_name", "fold_recipe"]

KINDS = ("sum", "mean", "max", "min", "any", "all", "prod")
SHAPES = ("R", "KR", "RK", "KRK")  # reduced and kept runs of axes, from the outermost, that loops exist for


@dataclass(frozen=True, slots=True)
class FoldRecipe:
    """``kind`` of ``source`` over the axes ``reduced``, added up in ``dtype``. ``shape`` is one of ``SHAPES``."""

    kind: str
    source: Node
    reduced: tuple[int, ...]
    dtype: np.dtype[Any]
    shape: str


def fold_recipe(node: Node) -> FoldRecipe | None:
    """How to compute ``node`` in the loop that computes its operand, or None."""
    lower = getattr(node.op, "lower", None)
    if not isinstance(lower, Reduction) or lower.kind not in KINDS:
        return None
    call = arguments_by_name(node)
    source = call.get("a")
    if call.keys() - {"a", "axis", "keepdims"} or not isinstance(source, Node) or not is_array(source):
        return None
    meta, result = source.meta, node.meta
    if not isinstance(meta, ArrayMeta) or not isinstance(result, ArrayMeta) or not _exact(lower.kind, meta, result):
        return None
    reduced, axes = _axes(call.get("axis"), meta.ndim), dense_axes(meta)
    if reduced is None or axes is None or any(n in (0, 1) for n in meta.shape if isinstance(n, int)):
        return None
    shape = "".join(key for key, _ in groupby("R" if a in reduced else "K" for a in axes[::-1]))
    if shape not in SHAPES or (shape == "R") != result.scalar:
        return None
    return FoldRecipe(lower.kind, source, reduced, result.dtype, shape)


def arguments_by_name(node: Node) -> dict[str, Any]:
    """The arguments by name, without those that are not given."""
    parameters = node.op.signature.parameters if node.op is not None else {}  # type: ignore[attr-defined]  # a row
    call = dict(zip(parameters, node.args, strict=False)) | node.kwargs
    return {k: v for k, v in call.items() if v is not None and v is not np._NoValue}


def _exact(kind: str, source: ArrayMeta, result: ArrayMeta) -> bool:
    """Floats in their own dtype; whole numbers in any order. (A sum that casts depends on NumPy's buffer size.)

    Products of floats gain nothing: each waits for the one before it.
    """
    if not loop_dtype(result.dtype):
        return False
    if kind in ("any", "all"):
        return result.dtype == np.bool_
    if kind in ("max", "min"):
        return source.dtype == result.dtype and source.dtype.kind != "b" and not _may_be_empty(source)
    if source.dtype.kind == "f":
        return source.dtype == result.dtype and kind != "prod"
    return kind in ("sum", "prod") and result.dtype.kind in "iu"


def _may_be_empty(source: ArrayMeta) -> bool:
    """Nothing is the largest of no elements: NumPy refuses. (Other sizes are compiled for 2 and more.)"""
    return any(s.run_time for n in source.shape if isinstance(n, SymInt) for s in symbols_of(n.poly))


def _axes(axis: Any, ndim: int) -> tuple[int, ...] | None:
    given = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not all(type(a) is int and -ndim <= a < ndim for a in given):
        return None
    return tuple(sorted({a % ndim for a in given}))
