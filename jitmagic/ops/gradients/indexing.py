"""Takes the cotangent of picked or written elements, gives those of the array and of the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.functional import ADD_AT, UPDATE, UPDATE_INDEX, ViewStep, kept_values
from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.indices import index_of, kinds_of
from jitmagic.ops.gradients.shapes import axes_of, cast, counted, fit, shape_of
from jitmagic.ops.registry import by_name

__all__ = ["index_along", "of_getitem", "of_taken", "of_taken_along", "placed", "setitem_base", "setitem_value"]


def placed(like: Any, value: Any, index: Any) -> Any:
    """Zeros of the shape and dtype of ``like`` with ``value`` added at ``index``."""
    zeros = np.zeros_like(like)
    kinds = kinds_of(index)
    if kinds == {"basic"}:
        path = (ViewStep(by_name("getitem"), (index_of(index),)),)
        return invoke(UPDATE.call, zeros, cast(value, like), path)
    if "array" not in kinds:
        return invoke(UPDATE_INDEX.call, zeros, cast(value, like), (), index)
    return invoke(ADD_AT.call, zeros, cast(value, like), index)


def of_getitem(g: Any, ans: Any, a: Any, index: Any) -> Any:
    return placed(a, g, index)


def setitem_base(g: Any, ans: Any, a: Any, index: Any, value: Any) -> Any:
    if kinds_of(index) == {"basic"}:
        return invoke(UPDATE.call, g, 0, (ViewStep(by_name("getitem"), (index_of(index),)),))
    return invoke(UPDATE_INDEX.call, g, 0, (), index)


def setitem_value(g: Any, ans: Any, a: Any, index: Any, value: Any) -> Any:
    found = g[index_of(index)] if kinds_of(index) == {"basic"} else kept_values(g, (), index)
    return fit(found, value)


def index_along(indices: Any, axis: int) -> tuple[Any, ...]:
    """The index that picks along one axis, at the same places of the others: ``take_along_axis`` as ``x[index]``."""
    ndim = len(shape_of(indices))
    grid = [np.reshape(counted(indices, i), (1,) * i + (-1,) + (1,) * (ndim - i - 1)) for i in range(ndim)]
    return (*grid[:axis], indices, *grid[axis + 1 :])


def of_taken_along(g: Any, ans: Any, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return np.reshape(placed(np.reshape(arr, -1), g, indices), shape_of(arr))
    (axis,) = axes_of(arr, axis)
    return placed(arr, g, index_along(indices, axis))


def of_taken(g: Any, ans: Any, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    flat = np.reshape(a, -1) if axis is None else a
    place = 0 if axis is None else axes_of(a, axis)[0]
    indices = indices if hasattr(indices, "dtype") else np.asarray(indices)
    n = shape_of(flat)[place]
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    return np.reshape(placed(flat, g, (*(slice(None),) * place, indices)), shape_of(a))
