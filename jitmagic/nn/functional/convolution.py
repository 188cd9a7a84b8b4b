"""Convolutions, as PyTorch means the word: cross-correlation, (batch, channels, *spatial) or without the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.nn.functional.sizes import as_pairs, as_tuple
from jitmagic.ops.convolution import convolution, convolution_input

__all__ = ["conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"]


def _conv(rank: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    ndim = len(input.shape)
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(f"conv{rank}d takes {rank + 2} axes, or {rank + 1} without a batch, not {input.shape}")
    steps, gaps = as_tuple(stride, rank, "stride"), as_tuple(dilation, rank, "dilation")
    pairs = as_pairs(padding, weight.shape[2:], steps, gaps)
    whole = input if ndim == rank + 2 else input[None]
    found = convolution(whole, weight, steps, pairs, gaps, groups)
    if bias is not None:
        found = found + bias.reshape((-1,) + (1,) * rank)
    return found if ndim == rank + 2 else found[0]


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """(n, c, l) with weight (o, c / groups, k) and bias (o,) to (n, o, out).

    ``out = (l + 2 padding - dilation (k - 1) - 1) // stride + 1``;
    ``padding`` may be ``"same"`` or ``"valid"``. Raises RuntimeError for shapes that do not fit.
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """(n, c, h, w) with weight (o, c / groups, kh, kw), bias (o,); numbers or pairs of them, else as ``conv1d``."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    ndim = len(input.shape)
    if ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"conv_transpose{rank}d takes {rank + 2} axes, or {rank + 1} without a batch, not {input.shape}"
        )
    steps, gaps = as_tuple(stride, rank, "stride"), as_tuple(dilation, rank, "dilation")
    pads, extra = as_tuple(padding, rank, "padding"), as_tuple(output_padding, rank, "output_padding")
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, gaps, strict=True)):
        raise RuntimeError(f"output_padding={extra} must be smaller than stride {steps} or dilation {gaps}")
    whole = input if ndim == rank + 2 else input[None]
    sizes = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(whole.shape[2:], steps, pads, gaps, weight.shape[2:], extra, strict=True)
    )
    more = tuple(e // s for e, s in zip(extra, steps, strict=True))
    if any(more):  # a convolution of ``sizes`` has as many results more
        whole = np.pad(whole, ((0, 0), (0, 0), *((0, m) for m in more)))
    found = convolution_input(whole, weight, sizes, steps, tuple((p, p) for p in pads), gaps, groups)
    if bias is not None:
        found = found + bias.reshape((-1,) + (1,) * rank)
    return found if ndim == rank + 2 else found[0]


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of ``conv1d`` by its input: (n, c, l) with weight (c, o / groups, k) to (n, o, out).

    ``out = (l - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1``.
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of ``conv2d`` by its input; sizes as ``conv_transpose1d``, for each axis."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)
