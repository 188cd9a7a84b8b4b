"""Takes descriptions, gives small real arrays of the same rank, dtype and layout, with harmless values.

NumPy is then asked what it makes of them: nothing of the user's is computed, and nothing large is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import Dim, SymInt
from jitmagic.ops.describe import ONE_OF_TYPE, replace_leaves

__all__ = ["hollow", "scalar_of", "surrogate"]

SizeOf = Callable[[Dim], int]


def surrogate(meta: ArrayMeta, size_of: SizeOf | tuple[int, ...], *, varied: bool = True) -> Any:
    """A real array laid out like ``meta`` whose sizes are ``size_of`` of the described ones, or as given.

    Square matrices are well conditioned; integers are 0 or 1, so that they may serve as indices. With
    ``varied=False`` values are 0 (but for the diagonal), so that results whose size depends on data come out different.
    """
    if meta.scalar:
        return scalar_of(meta.dtype)
    shape = size_of if isinstance(size_of, tuple) else tuple(size_of(n) for n in meta.shape)
    array = _empty_like_layout(meta, shape)
    if array.size and 0 not in _steps(meta, shape):
        array[...] = _values(shape, meta.dtype, varied)
    elif array.size:
        array.flags.writeable = True
        array[...] = _values((1,) * len(shape), meta.dtype, varied)
    if not meta.writeable:
        array.flags.writeable = False
    return array


def scalar_of(dtype: np.dtype[Any]) -> Any:
    """A NumPy scalar of that type."""
    return np.ones((), dtype)[()]


def _steps(meta: ArrayMeta, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(s if n > 1 else 1 for s, n in zip(meta.strides, shape, strict=True))


def _empty_like_layout(meta: ArrayMeta, shape: tuple[int, ...]) -> Any:
    """Same order of axes, signs, broadcast axes and contiguity; gaps become gaps of one element."""
    hints = meta.hint_shape
    live = [a for a in range(len(shape)) if meta.strides[a] != 0]
    order = sorted(live, key=lambda a: (abs(meta.strides[a]), hints[a] != 1, -a))
    dense = ArrayMeta.packed(meta.dtype, hints, tuple(order)).strides
    gap = 1 if all(abs(meta.strides[a]) == dense[a] for a in live if hints[a] > 1) else 2
    strides = [0] * len(shape)
    step = meta.dtype.itemsize * gap
    for place, axis in enumerate(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
        later = order[place + 1 :]
        if gap > 1 and hints[axis] == 1 and later and abs(meta.strides[later[0]]) > abs(meta.strides[axis]):
            step *= 2  # which of the two comes first shows in copies, even if one has size 1
    buffer = np.zeros(max(step, 1), np.uint8)
    start = 0
    for axis in live:
        if meta.strides[axis] < 0:
            start += strides[axis] * max(shape[axis] - 1, 0)
            strides[axis] = -strides[axis]
    return np.ndarray(shape, meta.dtype, buffer, start, tuple(strides))


def _values(shape: tuple[int, ...], dtype: np.dtype[Any], varied: bool) -> Any:
    size = int(np.prod(shape))
    if dtype.kind in "biu":
        return (np.arange(size) % 2 if varied else np.zeros(size)).reshape(shape).astype(dtype)
    if dtype.kind not in "fc":
        return np.ones(shape, np.int64).astype(dtype)
    values = (np.arange(size) % 11 / 64 + 0.25 if varied else np.zeros(size)).reshape(shape)
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        values = (values + np.swapaxes(values, -1, -2)) / 2 + 4 * np.eye(shape[-1])
    return values.astype(dtype)


def hollow(value: Any) -> Any:
    """The nesting with every description replaced by an array of its full shape over one element.

    Only for calls that must fail: NumPy then tells the error in its own words.
    """
    return replace_leaves(value, _hollow_leaf)


def _hollow_leaf(leaf: Any) -> Any:
    if isinstance(leaf, PyMeta):
        return ONE_OF_TYPE[leaf.type]
    if isinstance(leaf, SymInt):
        return leaf.hint
    if not isinstance(leaf, ArrayMeta):
        return leaf
    if leaf.scalar:
        return scalar_of(leaf.dtype)
    fill = np.zeros if leaf.dtype.kind in "iu" else np.ones  # integers may be indices
    array = as_strided(fill((), leaf.dtype), leaf.hint_shape, (0,) * leaf.ndim)
    if not leaf.writeable:
        array.flags.writeable = False
    return array
