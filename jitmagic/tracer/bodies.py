"""Functions of NumPy whose own text asks for what a trace cannot tell, as text that means the same and can be traced.

They take arrays; what NumPy says where arguments do not fit, it says itself when the call runs plainly.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.ops.views import stretched

__all__ = ["BODIES"]


def _broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    arrays = [np.asarray(each) for each in args]
    shape = _broadcast_shapes(*[each.shape for each in arrays])
    return tuple([each if each.shape == shape else stretched(each, shape) for each in arrays])


def _broadcast_shapes(*args: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    for each in args:
        shape = each if isinstance(each, tuple) else (each,)
        longer, shorter = (found, shape) if len(found) >= len(shape) else (shape, found)
        lead = len(longer) - len(shorter)
        if not all(n in (1, m) or m == 1 for n, m in zip(longer[lead:], shorter, strict=True)):
            raise ValueError("they do not fit")
        found = longer[:lead] + tuple([m if n == 1 else n for n, m in zip(longer[lead:], shorter, strict=True)])
    return found


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Rows are views whose elements lie as far apart as in ``arr``: functions may give other bits otherwise."""
    whole = np.asarray(arr)
    place = range(whole.ndim)[axis]
    others = [k for k in range(whole.ndim) if k != place]
    rows = np.transpose(whole, [*others, place])
    kept = rows.shape[:-1]
    start: tuple[Any, ...] = (0,) * len(kept)
    first = np.asanyarray(func1d(rows[(*start, ...)], *args, **kwargs))
    made = np.zeros_like(first, shape=kept + first.shape)
    made[start] = first
    if len(kept) == 1:
        for i in range(1, kept[0]):
            made[i] = np.asanyarray(func1d(rows[i], *args, **kwargs))
    else:
        for each in list(np.ndindex(kept))[1:]:
            made[each] = np.asanyarray(func1d(rows[(*each, ...)], *args, **kwargs))
    axes = list(range(made.ndim))
    end = made.ndim - first.ndim
    return np.transpose(made, axes[:place] + axes[end:] + axes[place:end])


BODIES: dict[Any, FunctionType] = {
    np.broadcast_shapes: _broadcast_shapes,  # type: ignore[dict-item]  # the same
    np.broadcast_arrays: _broadcast_arrays,  # type: ignore[dict-item]  # a function is one
    np.apply_along_axis: _apply_along_axis,  # type: ignore[dict-item]  # the same
}
