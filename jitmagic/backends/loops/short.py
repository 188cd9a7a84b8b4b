"""Takes a sum over one short axis, gives its recipe: all its terms are added in one turn of the loop over the rest.

NumPy adds fewer than eight numbers one after the other, whatever their strides, so the terms need no loop of their
own, and the array that they come from need not exist.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jitmagic.backends.loops.folds import arguments_by_name
from jitmagic.backends.loops.ir import Index
from jitmagic.backends.loops.operands import dense_axes, is_array, loop_dtype
from jitmagic.backends.loops.recipes import ALL_FLAGS, Recipe
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.lowering import Reduction

__all__ = ["MOST_TERMS", "fixed", "short_recipe"]

MOST_TERMS = 7  # from eight on NumPy adds in eight accumulators


def short_recipe(node: Node) -> Recipe | None:
    """The recipe of a sum or mean over one axis of at most ``MOST_TERMS`` elements, or None."""
    lower = getattr(node.op, "lower", None)
    if not isinstance(lower, Reduction) or lower.kind not in ("sum", "mean") or not is_array(node):
        return None
    call = arguments_by_name(node)
    source, axis = call.get("a"), call.get("axis")
    if call.keys() - {"a", "axis", "keepdims"} or not isinstance(source, Node) or not is_array(source):
        return None
    meta, result = source.meta, node.meta
    assert isinstance(meta, ArrayMeta)
    assert isinstance(result, ArrayMeta)
    if type(axis) is not int or not -meta.ndim <= axis < meta.ndim:
        return None
    if dense_axes(meta) is None and not (_are_windows(source) and axis % meta.ndim == 1):
        return None
    length = meta.shape[axis % meta.ndim]
    if type(length) is not int or not 2 <= length <= MOST_TERMS or not _exact(lower.kind, meta, result):
        return None
    flags = ALL_FLAGS if result.dtype.kind == "f" else 0
    return Recipe(
        "short", (source,), (result.dtype,), result.dtype, lower.kind, flags=flags, short=(axis % meta.ndim, length)
    )


def _are_windows(node: Node) -> bool:
    """Whether each row has the next elements of an array of one axis: NumPy goes along rows, as if they were apart."""
    base, meta = node.view_of, node.meta
    if base is None or node.op is None or node.op.call is not sliding_window_view:
        return False
    shapes = [m.ndim for m in (base.meta, meta) if isinstance(m, ArrayMeta)]
    return shapes == [1, 2] and isinstance(base.meta, ArrayMeta) and bool(base.meta.contiguous)


def _exact(kind: str, source: ArrayMeta, result: ArrayMeta) -> bool:
    """Floats in their own dtype, means in float64 (NumPy divides there); whole numbers in any order."""
    if not loop_dtype(result.dtype):
        return False
    if kind == "mean":
        return source.dtype == result.dtype == np.float64
    return source.dtype == result.dtype if source.dtype.kind == "f" else result.dtype.kind in "iu"


def fixed(axes: tuple[Index, ...], axis: int, place: int, keeps: bool) -> tuple[Index, ...] | None:
    """An access over a space with ``axis``, as one over the space without it, at ``place`` on that axis.

    ``keeps`` leaves an axis of size 1. None where the place cannot be told.
    """
    found = []
    for index in axes:
        if index.space == axis:
            start = index.start + index.step * place
            if (start < 0) != (index.start < 0):  # counted from the other end
                return None
            found.append(Index(None, start))
        elif index.space is not None and index.space > axis and not keeps:
            found.append(replace(index, space=index.space - 1))
        else:
            found.append(index)
    return tuple(found)
