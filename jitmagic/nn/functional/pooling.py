"""Pooling: the largest element or the mean of windows of (batch, channels, *spatial), or without the batch.

Among equal elements the first gets the gradient, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn.functional.sizes import SEVERAL, as_tuple
from jitmagic.ops.convolution import unfold
from jitmagic.ops.largest import largest, take_largest
from jitmagic.ops.sliding import out_size

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d",
    "avg_pool2d", "max_pool1d", "max_pool2d",
]  # fmt: skip


def _batched(input: Any, rank: int, name: str) -> tuple[Any, bool]:
    ndim = len(input.shape)
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name} takes {rank + 2} axes, or {rank + 1} without a batch, not {input.shape}")
    return (input, True) if ndim == rank + 2 else (input[None], False)


def _pairs(sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
    """Padding (before, after); with ``ceil_mode`` more behind, where a window begins inside and ends outside."""
    found = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise RuntimeError(f"padding {p} should be at most half of the kernel size {k}")
        more = 0
        if ceil_mode:
            reach = n + 2 * p - d * (k - 1) - 1
            count = -(-reach // s) + 1
            if (count - 1) * s >= n + p:
                count -= 1
            more = max((count - 1) * s - reach, 0)
        found.append((p, p + more))
    return tuple(found)


def _max_pool(
    rank: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: bool
) -> Any:
    whole, has_batch = _batched(input, rank, f"max_pool{rank}d")
    kernel = as_tuple(kernel_size, rank, "kernel_size")
    steps = kernel if stride is None else as_tuple(stride, rank, "stride")
    gaps = as_tuple(dilation, rank, "dilation")
    pairs = _pairs(whole.shape[2:], kernel, steps, as_tuple(padding, rank, "padding"), gaps, ceil_mode)
    options = (kernel, steps, pairs, gaps)
    found = largest(whole, *options)
    if not indices:
        return found if has_batch else found[0]
    sizes = whole.shape[2:]
    places = np.broadcast_to(np.arange(math.prod(sizes)).reshape(sizes), whole.shape)
    taken = take_largest(places, whole, *options)
    return (found, taken) if has_batch else (found[0], taken[0])


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """(n, c, l) to (n, c, out), the largest element of each window; ``stride`` is ``kernel_size`` unless given.

    With ``return_indices`` also where it is along ``l``. Raises RuntimeError for windows that do not fit.
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """(n, c, h, w) to (n, c, oh, ow); indices are into h * w. Settings are numbers or pairs, else as ``max_pool1d``."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    rank: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    whole, has_batch = _batched(input, rank, f"avg_pool{rank}d")
    kernel = as_tuple(kernel_size, rank, "kernel_size")
    steps = kernel if stride is None else as_tuple(stride, rank, "stride")
    pads, ones = as_tuple(padding, rank, "padding"), (1,) * rank
    pairs = _pairs(whole.shape[2:], kernel, steps, pads, ones, ceil_mode)
    total = np.sum(unfold(whole, kernel, steps, pairs, ones), axis=2)
    if divisor_override is not None:
        found = total / divisor_override
    elif (count_include_pad and not ceil_mode) or not any(map(any, pairs)):
        found = total / math.prod(kernel)
    else:
        counts = _counts(whole.shape[2:], kernel, steps, pads, pairs, count_include_pad)
        found = total / counts.astype(total.dtype)
    return found if has_batch else found[0]


def _counts(sizes: Any, kernel: Any, stride: Any, padding: Any, pairs: Any, include: bool) -> Any:
    """How many elements of each window count: those of the input, or also those of ``padding``."""
    counts: Any = np.ones((), np.int64)
    for n, k, s, p, pair in zip(sizes, kernel, stride, padding, pairs, strict=True):
        starts = np.arange(out_size(n, k, s, pair, 1)) * s - p
        low, high = (-p, n + p) if include else (0, n)
        counts = counts[..., None] * (np.minimum(starts + k, high) - np.maximum(starts, low))
    return counts


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """(n, c, l) to (n, c, out), the mean of each window; padding counts as zeros if ``count_include_pad``."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """(n, c, h, w) to (n, c, oh, ow); ``divisor_override`` takes the place of the count, else as ``avg_pool1d``."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _bins(size: int, count: int) -> list[slice]:
    """``count`` runs that cover the axis; neighbours overlap where it cannot be divided."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _adaptive(rank: int, input: Any, output_size: Any, fold: Any, name: str) -> Any:
    """``fold`` over the bins of one axis after the other: the mean of means, the maximum of maxima."""
    ndim = len(input.shape)
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"{name} takes {rank + 2} axes, or {rank + 1} without a batch, not {input.shape}")
    wanted = output_size if isinstance(output_size, SEVERAL) else (output_size,) * rank
    found = input
    for axis, count in zip(range(ndim - rank, ndim), wanted, strict=True):
        size = found.shape[axis]
        if count is None or count == size:
            continue
        if size % count == 0:
            shape = (*found.shape[:axis], count, size // count, *found.shape[axis + 1 :])
            found = fold(found.reshape(shape), axis=axis + 1)
            continue
        lead = (slice(None),) * axis
        parts = [fold(found[(*lead, place)], axis=axis, keepdims=True) for place in _bins(size, count)]
        found = np.concatenate(parts, axis=axis)
    return found


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """(n, c, l) to (n, c, output_size), means of bins that cover ``l``.

    Bin ``i`` goes from ``floor(i l / output_size)`` to ``ceil((i + 1) l / output_size)``.
    """
    return _adaptive(1, input, output_size, np.mean, "adaptive_avg_pool1d")


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """(n, c, h, w) to (n, c, *output_size); None keeps an axis."""
    return _adaptive(2, input, output_size, np.mean, "adaptive_avg_pool2d")


def _first_max(x: Any, axis: int, keepdims: bool = False) -> Any:
    best = np.expand_dims(np.argmax(x, axis=axis), axis)
    places = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (len(x.shape) - axis - 1))
    return np.sum(np.where(places == best, x, 0), axis=axis, keepdims=keepdims)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """(n, c, l) to (n, c, output_size): the largest element of each bin."""
    return _adaptive(1, input, output_size, _first_max, "adaptive_max_pool1d")


def adaptive_max_pool2d(input: Any, output_size: Any) -> Any:
    """(n, c, h, w) to (n, c, *output_size); None keeps an axis."""
    return _adaptive(2, input, output_size, _first_max, "adaptive_max_pool2d")
