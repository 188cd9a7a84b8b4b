"""Takes the cotangent of an array with elements put in or left out, or of blocks, gives those of the parts.

``np.insert`` and ``np.delete`` themselves tell which element went where: they are run on the places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import as_operand, axes_of, counted, fit, shape_of

__all__ = ["block_shape", "delete_rules", "insert_rules", "of_block"]


def _along(arr: Any, axis: Any) -> tuple[Any, int]:
    """``arr`` and the axis of the change; without an axis it is read as flat."""
    return (np.reshape(arr, -1), 0) if axis is None else (arr, axes_of(arr, axis)[0])


def of_deleted(g: Any, ans: Any, arr: Any, obj: Any, axis: Any = None) -> Any:
    flat, place = _along(arr, axis)
    kept = np.delete(counted(flat, place), obj)
    return np.reshape(placed(flat, g, (*(slice(None),) * place, kept)), shape_of(arr))


delete_rules = (of_deleted,)


def _back_in_order(g: Any, arr: Any, obj: Any, axis: Any) -> tuple[Any, Any]:
    """The cotangents of the elements that were there, and of those that were put in, along the axis."""
    flat, place = _along(arr, axis)
    n = shape_of(flat)[place]
    line, added = counted(flat, place), np.arange(int(shape_of(g)[place] - n))
    source = np.insert(line, obj, added + (n if isinstance(n, int) else line[-1:] + 1))
    lead = (slice(None),) * place
    whole = placed(g, g, (*lead, source))
    return whole[(*lead, slice(0, n))], whole[(*lead, slice(n, None))]


def insert_of_array(g: Any, ans: Any, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    return np.reshape(_back_in_order(g, arr, obj, axis)[0], shape_of(arr))


def insert_of_values(g: Any, ans: Any, arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """At one place the first axis of the values is the one along which they are put in."""
    part = _back_in_order(g, arr, obj, axis)[1]
    if not isinstance(obj, slice) and not len(shape_of(obj)):
        part = np.moveaxis(part, _along(arr, axis)[1], 0)
    return fit(part, values)


insert_rules = (insert_of_array, None, insert_of_values)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value)) if isinstance(value, list) else 0


def _rank(value: Any) -> int:
    return max(map(_rank, value)) if isinstance(value, list) else len(shape_of(value))


def block_shape(arrays: Any) -> tuple[Any, ...]:
    """The shape of ``np.block(arrays)``."""
    depth = _depth(arrays)
    return _block_shape(arrays, max(depth, _rank(arrays)), depth)


def _block_shape(value: Any, ndim: int, depth: int) -> tuple[Any, ...]:
    """Of a list that is joined along the axis ``-depth``, or of one array."""
    if not isinstance(value, list):
        shape = shape_of(value)
        return (1,) * (ndim - len(shape)) + shape
    parts = [_block_shape(each, ndim, depth - 1) for each in value]
    axis = ndim - depth
    joined = parts[0][axis]
    for part in parts[1:]:
        joined = joined + part[axis]
    return (*parts[0][:axis], joined, *parts[0][axis + 1 :])


def of_block(g: Any, ans: Any, arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, _rank(arrays))

    def cut(value: Any, share: Any, depth: int) -> Any:
        if not isinstance(value, list):
            return as_operand(share, value)
        axis, start, found = ndim - depth, 0, []
        for each in value:
            stop = start + _block_shape(each, ndim, depth - 1)[axis]
            found.append(cut(each, share[(*(slice(None),) * axis, slice(start, stop))], depth - 1))
            start = stop
        return found

    return cut(arrays, g, depth)
