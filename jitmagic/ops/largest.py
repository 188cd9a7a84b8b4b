"""Rows of our own for max pooling: of each window the first of its largest elements, or the first NaN.

The derivative puts each cotangent where the element came from, and the derivative of that takes cotangents from there:
so three rows are enough for derivatives of any order. None keeps more than its operands. Settings are those of
``jitmagic.ops.convolution``; padding is never chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.elementwise import zero
from jitmagic.ops.gradients.shapes import cast
from jitmagic.ops.registry import op
from jitmagic.ops.sliding import ALL, Pairs, Sizes, described, dispatched, equal, inside, out_sizes, sample

__all__ = ["largest", "largest_places", "lowest", "spread_largest", "take_largest"]

Array = Any  # an ndarray; its stubs refuse indices that are put together


@dispatched
def largest(x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """The largest element of each window: (n, c, *spatial) to (n, c, *out), a new array in C order.

    Raises RuntimeError for a kernel larger than the padded input.
    """
    found = np.empty(_windows_shape(x, kernel, stride, padding, dilation), np.result_type(x))
    for _ in _comparisons(found, x, kernel, stride, padding, dilation):
        pass
    return found


@dispatched
def take_largest(values: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """What ``values``, of the shape of ``x``, has where the windows of ``x`` have their largest element."""
    shape = _taken_shape(values, x, kernel, stride, padding, dilation)
    chosen = largest_places(x, kernel, stride, padding, dilation)
    found = np.zeros(shape, np.result_type(values))
    for index, where, windows in _meetings(x.shape, shape, kernel, stride, padding, dilation):
        np.copyto(found[windows], values[where], where=chosen[windows] == index)
    return found


@dispatched
def spread_largest(g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """The transpose of ``take_largest`` by its values: adds each of (n, c, *out) to where it would be taken from.

    A new array of the shape of ``x``.
    """
    _spread_shape(g, x, kernel, stride, padding, dilation)
    chosen = largest_places(x, kernel, stride, padding, dilation)
    found = np.zeros(x.shape, np.result_type(g))
    for index, where, windows in _meetings(x.shape, g.shape, kernel, stride, padding, dilation):
        found[where] += np.where(chosen[windows] == index, g[windows], found.dtype.type(0))
    return found


def largest_places(x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    """Which place of the kernel has the largest element, (n, c, *out) of uint8, or of int64 for large kernels.

    The first place inside of the input where a window has nothing but the lowest number.
    """
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    chosen = np.empty((*x.shape[:2], *out), np.uint8 if math.prod(kernel) <= 256 else np.int64)
    chosen[...] = _first_places(x.shape[2:], kernel, out, stride, padding, dilation)
    elements = np.empty(chosen.shape, x.dtype)
    for index, windows, is_kept in _comparisons(elements, x, kernel, stride, padding, dilation):
        np.copyto(chosen[windows], index, where=~is_kept, casting="unsafe")
    return chosen


def lowest(dtype: Any) -> Any:
    """No element is below it."""
    if dtype.kind == "b":
        return False
    if dtype.kind == "c":
        return complex(-math.inf, -math.inf)
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


def _comparisons(
    found: Array, x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> Iterator[tuple[int, tuple[Any, ...], Array]]:
    """Finds the largest elements, one place of the kernel after the other: which windows it meets, and which
    keep theirs.

    Those keep it whose element is no smaller, or a NaN.
    """
    found[...] = lowest(x.dtype)
    for index, where, windows in _meetings(x.shape, found.shape, kernel, stride, padding, dilation):
        other, best = x[where], found[windows]
        is_kept = (other <= best) | (best != best)
        found[windows] = np.where(is_kept, best, other)
        yield index, windows, is_kept


def _meetings(
    shape: Sizes, result: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes
) -> Iterator[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
    """For each place of the kernel, in order, the elements that it meets, and in which windows."""
    for index, offset in enumerate(np.ndindex(kernel)):
        met = [
            inside(i * d - before, s, size, count)
            for i, d, s, (before, _), size, count in zip(
                offset, dilation, stride, padding, shape[2:], result[2:], strict=True
            )
        ]
        where, windows = zip(*met, strict=True)
        yield index, (..., *where), (..., *windows)


def _first_places(sizes: Sizes, kernel: Sizes, out: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    """Of windows at each place the first place of the kernel that is inside of the input: (*out)."""
    found: Any = 0
    for axis, (k, n, s, (before, _), d) in enumerate(zip(kernel, out, stride, padding, dilation, strict=True)):
        skipped = np.minimum(np.maximum(-((np.arange(n) * s - before) // d), 0), k - 1)
        found = found * k + skipped.reshape((-1,) + (1,) * (len(kernel) - axis - 1))
    return found


def _windows_shape(x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    return (*x.shape[:2], *out_sizes(x.shape[2:], kernel, stride, padding, dilation))


def _taken_shape(values: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    if not equal(values.shape, x.shape):
        raise RuntimeError(f"values of shape {x.shape} are wanted, not {values.shape}")
    return _windows_shape(x, kernel, stride, padding, dilation)


def _spread_shape(g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    wanted = _windows_shape(x, kernel, stride, padding, dilation)
    if not equal(g.shape, wanted):
        raise RuntimeError(f"a cotangent of shape {wanted} is wanted, not {g.shape}")
    return x.shape


def _by_x(g: Any, ans: Any, x: Any, *options: Any) -> Any:
    return cast(invoke(spread_largest, g, x, *options), x)


def _by_values(g: Any, ans: Any, values: Any, x: Any, *options: Any) -> Any:
    return cast(invoke(spread_largest, g, x, *options), values)


def _by_g(g: Any, ans: Any, sent: Any, x: Any, *options: Any) -> Any:
    return cast(invoke(take_largest, g, x, *options), sent)


_SETTINGS = ((2, 2), (1, 2), ((1, 0), (0, 1)), (1, 2))

op(
    "largest",
    largest,
    meta=described(_windows_shape, 1),
    vjp=(_by_x,),
    note="among equal elements the first gets the cotangent",
    samples=(
        sample((2, 3, 4, 5), rest=_SETTINGS),
        sample((2, 3, 4), rest=((2,), (2,), ((0, 0),), (1,))),
    ),
)
op(
    "take_largest",
    take_largest,
    meta=described(_taken_shape, 2, 1),
    vjp=(_by_values, zero(1)),
    samples=(
        sample((2, 3, 4, 5), (2, 3, 4, 5), rest=_SETTINGS),
        sample((2, 3, 4), (2, 3, 4), rest=((2,), (2,), ((0, 0),), (1,))),
    ),
)
op(
    "spread_largest",
    spread_largest,
    meta=described(_spread_shape, 2, 1),
    vjp=(_by_g, zero(1)),
    warns=ALL,
    samples=(
        sample((2, 3, 4, 2), (2, 3, 4, 5), rest=_SETTINGS),
        sample((2, 3, 2), (2, 3, 4), rest=((2,), (2,), ((0, 0),), (1,))),
    ),
)
