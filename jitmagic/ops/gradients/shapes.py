"""Takes a cotangent, gives it the shape and dtype of the operand it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.polynomial import symbols_of
from jitmagic.ops.gradients.calls import invoke

__all__ = [
    "as_operand",
    "axes_of",
    "cast",
    "count_of",
    "counted",
    "diagonal_mask",
    "fit",
    "folded_last",
    "restore_axes",
    "shape_of",
    "summed_like",
    "unbroadcast",
]


def shape_of(x: Any) -> tuple[Any, ...]:
    """The shape of an array, number or nested list."""
    if hasattr(x, "shape"):
        return tuple(x.shape)
    return (len(x), *(shape_of(x[0]) if len(x) else ())) if isinstance(x, list | tuple) else np.shape(x)


def unbroadcast(g: Any, x: Any) -> Any:
    """``g`` summed over the axes along which ``x`` was repeated: its shape becomes that of ``x``.

    Of what was written, axes of size 1 in front do not count: ``a[:] = x`` with ``x`` of shape (1, n).
    """
    if type(g) is type(x) is np.ndarray and g.shape == x.shape:
        return g
    shape, given = shape_of(x), shape_of(g)
    lead = len(given) - len(shape)
    if lead < 0:
        g, given, lead = np.reshape(g, (1,) * -lead + given), (1,) * -lead + given, 0
    front = tuple(range(lead))
    pairs = list(zip(shape, given[lead:], strict=True))
    if type(g) is not np.ndarray and any(is_run_time(n) and not _is_same(n, m) for n, m in pairs):
        return invoke(summed_like, g, x)
    ones = tuple(lead + i for i, (n, m) in enumerate(pairs) if not _is_same(n, m) and n == 1 and m != 1)
    axes = front + ones
    last = _at_the_end(axes, len(given))
    if 0 < len(last) < len(axes):
        # rows of elements that lie side by side first: NumPy adds them in pairs, and kernels while they compute them
        rest = tuple(axis for axis in axes if axis not in last)
        return np.reshape(np.sum(np.sum(g, axis=last), axis=rest), shape)
    if axes:
        g = np.sum(g, axis=axes, keepdims=bool(ones))
    return np.squeeze(g, axis=front) if front and ones else g


def _at_the_end(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Those of ``axes`` behind which there are no others."""
    return tuple(axis for axis in axes if all(later in axes for later in range(axis, ndim)))


def is_run_time(n: Any) -> bool:
    """Whether only the data tell the size ``n``."""
    return any(symbol.run_time for symbol in symbols_of(n.poly)) if hasattr(n, "poly") else False


def summed_like(g: Any, x: Any) -> Any:
    """``unbroadcast`` as one operation, for sizes that are known at run time only."""
    return np.array(unbroadcast(np.asarray(g), np.asarray(x)), order="C")


def _is_same(n: Any, m: Any) -> bool:
    """Whether two sizes are one in every call; asks nothing of sizes that only the data tell."""
    return n is m or bool(getattr(n, "key", n) == getattr(m, "key", m))


def cast(g: Any, x: Any) -> Any:
    """``g`` with the dtype of ``x``; the real part if only ``g`` is complex. For a list, one entry for each of it."""
    if isinstance(x, list | tuple):
        return [cast(g[i], part) for i, part in enumerate(x)]
    dtype = getattr(x, "dtype", None)
    if dtype is None or g.dtype == dtype:
        return g
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = np.real(g)
    return g.astype(dtype)


def fit(g: Any, x: Any) -> Any:
    """The cotangent of ``x``, which an operation cast and broadcast before it gave ``g``'s shape."""
    return cast(unbroadcast(g, x), x)


def as_operand(g: Any, x: Any) -> Any:
    """The cotangent of ``x`` whose elements, in order, are those of ``g``."""
    return cast(np.reshape(g, shape_of(x)), x)


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` means: all for None, and none negative."""
    ndim = len(shape_of(x))
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(int(a) % max(ndim, 1) for a in given)


def restore_axes(g: Any, x: Any, axis: Any, keepdims: Any = False) -> Any:
    """``g``, of a fold of ``x`` over ``axis``, with axes of size 1 in place of those that were folded."""
    if keepdims is True or not shape_of(x):
        return g
    return np.expand_dims(g, axes_of(x, axis))


def count_of(x: Any, axis: Any) -> Any:
    """How many elements of ``x`` one fold over ``axis`` takes."""
    count: Any = 1
    for each in axes_of(x, axis):
        count = shape_of(x)[each] * count
    return count


def counted(x: Any, axis: int) -> Any:
    """``0, 1, ...`` for the elements of ``x`` along an axis, whose size may be a symbol."""
    shape = shape_of(x)
    n = shape[axis]
    if isinstance(n, int):
        return np.arange(n)
    line = x[tuple(slice(None) if i == axis % len(shape) else 0 for i in range(len(shape)))]
    return np.cumsum(np.ones_like(line, dtype=np.intp)) - 1


def diagonal_mask(x: Any, k: int = 0, axes: tuple[int, int] = (-2, -1)) -> Any:
    """A matrix of two sizes of ``x``: True on diagonal ``k``."""
    return np.expand_dims(counted(x, axes[0]), -1) + k == counted(x, axes[1])


def folded_last(a: Any, axis: Any) -> tuple[Any, Callable[[Any], Any]]:
    """``a`` with the folded axes as one last axis, and the way back."""
    folded = axes_of(a, axis)
    kept = tuple(i for i in range(len(shape_of(a))) if i not in folded)
    turned = np.transpose(a, kept + folded)
    flat = np.reshape(turned, (*shape_of(turned)[: len(kept)], -1))
    back = [(kept + folded).index(i) for i in range(len(shape_of(a)))]
    return flat, lambda g: np.transpose(np.reshape(g, shape_of(turned)), back)
