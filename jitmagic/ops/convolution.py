"""Rows of our own for layers: convolution by columns and matrix products, and the windows that pooling looks at.

NumPy has no such functions. Each call is one operation to Tensors and to the tracer, and runs as the NumPy code here.
``stride``, ``padding`` (pairs: before, after) and ``dilation`` have one entry for each spatial axis; data is laid out
(batch, channels, *spatial), weights (out_channels, in_channels / groups, *kernel).

The columns are those of K. Chellapilla, S. Puri and P. Simard, "High performance convolutional neural networks for
document processing", 2006. They are written by one strided copy for each place of the kernel, for as many samples at a
time as fit in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.shapes import cast, shape_of
from jitmagic.ops.registry import op
from jitmagic.ops.sliding import (
    ALL,
    Pairs,
    Sizes,
    described,
    dispatched,
    equal,
    inside,
    out_sizes,
    places_of,
    sample,
)

__all__ = ["convolution", "convolution_input", "convolution_weight", "fold", "unfold"]

Array = Any  # an ndarray; its stubs refuse indices that are put together

COLUMNS_BYTES = 1 << 20  # measured on 3 x 3 kernels: 0.25 to 4 MiB are alike, 64 MiB takes 1.5 times as long


def _padded(x: Array, padding: Pairs, value: float = 0.0) -> Array:
    """``x`` with its last axes padded; itself without padding."""
    if not any(map(any, padding)):
        return x
    lead = x.shape[: x.ndim - len(padding)]
    sizes = tuple(n + a + b for n, (a, b) in zip(x.shape[len(lead) :], padding, strict=True))
    found: Array = np.full((*lead, *sizes), value, x.dtype) if value else np.zeros((*lead, *sizes), x.dtype)
    found[(..., *_inner(padding, sizes))] = x
    return found


def _inner(padding: Pairs, sizes: Sizes) -> tuple[slice, ...]:
    return tuple(slice(a, n - b) for n, (a, b) in zip(sizes, padding, strict=True))


def _columns(
    x: Array, kernel: Sizes, out: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, value: float = 0.0
) -> Array:
    """(batch, channels, *spatial) to (batch, channels, places of the kernel, *out)."""
    x = _padded(x, padding, value)
    found = np.empty((*x.shape[:2], math.prod(kernel), *out), np.result_type(x))
    for index, place in enumerate(places_of(kernel, out, stride, dilation)):
        found[:, :, index] = x[(..., *place)]
    return found


def _columns_of_all(x: Array, kernel: Sizes, out: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Array:
    """As ``_columns``, but (channels, places of the kernel, batch, *out)."""
    x = np.swapaxes(_padded(x, padding), 0, 1)
    found = np.empty((len(x), math.prod(kernel), x.shape[1], *out), x.dtype)
    for index, place in enumerate(places_of(kernel, out, stride, dilation)):
        found[:, index] = x[(..., *place)]
    return found


def _spread(columns: Array, found: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> None:
    """The transpose of ``_columns`` into ``found``: adds every entry where it came from, padding left out."""
    found[...] = 0
    sizes = found.shape[2:]
    out = out_sizes(sizes, kernel, stride, padding, dilation)
    columns = columns.reshape(*found.shape[:2], math.prod(kernel), *out)
    for index, offset in enumerate(np.ndindex(kernel)):
        met = [
            inside(i * d - before, s, size, count)
            for i, d, s, (before, _), size, count in zip(offset, dilation, stride, padding, sizes, out, strict=True)
        ]
        places, windows = zip(*met, strict=True)
        found[(..., *places)] += columns[(slice(None), slice(None), index, *windows)]


@dataclass(frozen=True, slots=True)
class Moves:
    """How elements come from arrays to columns and back: as here, or by kernels that give the same bits."""

    columns: Callable[..., Array] = _columns
    of_all: Callable[..., Array] = _columns_of_all
    spread: Callable[..., None] = _spread


PLAIN = Moves()


def samples_of_part(bytes_each: int) -> int:
    """How many samples are looked at together."""
    return max(1, COLUMNS_BYTES // max(bytes_each, 1))


def _parts(count: int, bytes_each: int) -> Iterator[slice]:
    """The samples, in runs whose columns fit in the cache."""
    step = samples_of_part(bytes_each)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _grouped(weight: Array, groups: int) -> Array:
    """(groups, out_channels / groups, everything else)."""
    return weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))


# -- shapes, of descriptions as of arrays


def _result_shape(x: Any, weight: Any, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    _check(x.shape[1:2], weight.shape, groups, len(x.shape))
    return (x.shape[0], weight.shape[0], *out_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation))


def _input_shape(g: Any, weight: Any, sizes: Any, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    _check((), weight.shape, groups, len(g.shape))
    out = out_sizes(sizes, weight.shape[2:], stride, padding, dilation)
    if not equal(g.shape[1:], (weight.shape[0], *out)):
        raise RuntimeError(f"a result of shape {(g.shape[0], weight.shape[0], *out)} is wanted, not {g.shape}")
    return (g.shape[0], weight.shape[1] * groups, *sizes)


def _weight_shape(g: Any, x: Any, kernel: Any, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    if len(g.shape) < 2 or not equal((g.shape[0], *g.shape[2:]), (x.shape[0], *out)):
        raise RuntimeError(f"a cotangent for the results {(x.shape[0], '...', *out)} is wanted, not {g.shape}")
    if g.shape[1] % groups != 0 or x.shape[1] % groups != 0:
        raise RuntimeError(f"{g.shape[1]} and {x.shape[1]} channels cannot be divided into {groups} groups")
    return (g.shape[1], x.shape[1] // groups, *kernel)


def _windows_shape(x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, value: float = 0.0) -> Any:
    out = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    return (*x.shape[:2], math.prod(kernel), *out)


def _folded_shape(columns: Any, sizes: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    wanted = (math.prod(kernel), *out_sizes(sizes, kernel, stride, padding, dilation))
    if not equal(columns.shape[2:], wanted):
        raise RuntimeError(f"windows of shape {columns.shape} do not fold into {sizes}: {wanted} is wanted")
    return (*columns.shape[:2], *sizes)


def _check(channels: Any, weight: Any, groups: int, ndim: int) -> None:
    if ndim < 3 or len(weight) != ndim:
        raise RuntimeError(
            f"an input with {ndim} axes needs a weight with as many, at least 3, not one of shape {weight}"
        )
    if weight[0] % groups != 0 or not all(n == weight[1] * groups for n in channels):
        raise RuntimeError(
            f"a weight of shape {weight} with groups={groups} takes inputs with {weight[1] * groups} channels, and "
            f"this one has {channels[0] if channels else 'others'}"
        )


# -- what the rows do


@dispatched
def convolution(x: Any, weight: Any, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int) -> Any:
    """(n, c, *spatial) and (o, c / groups, *kernel) to (n, o, *out), in C order: cross-correlation, as in PyTorch.

    Raises RuntimeError for channels that do not fit, or a kernel larger than the padded input.
    """
    return convolved(PLAIN, x, weight, stride, padding, dilation, groups)


def convolved(
    moves: Moves, x: Array, weight: Array, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    """What ``convolution`` does."""
    shape = _result_shape(x, weight, stride, padding, dilation, groups)
    kernel, out = weight.shape[2:], shape[2:]
    rows, places = _grouped(weight, groups), math.prod(out)
    inner = rows.shape[2] * groups
    found = np.empty(shape, np.result_type(x, weight))
    for part in _parts(len(x), inner * places * x.itemsize):
        columns = moves.columns(x[part], kernel, out, stride, padding, dilation)
        columns = columns.reshape(len(columns), groups, rows.shape[2], places)
        target = found[part].reshape(len(columns), groups, rows.shape[1], places)
        np.matmul(rows, columns, out=target)
    return found


@dispatched
def convolution_input(
    g: Any, weight: Any, sizes: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Any:
    """The transpose of ``convolution`` by its input, whose spatial shape is ``sizes``: (n, o, *out) to (n, c, *sizes).

    Raises RuntimeError for sizes from which ``convolution`` does not come to those of ``g``.
    """
    return sent_back(PLAIN, g, weight, sizes, stride, padding, dilation, groups)


def sent_back(
    moves: Moves, g: Array, weight: Array, sizes: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    """What ``convolution_input`` does."""
    shape = _input_shape(g, weight, sizes, stride, padding, dilation, groups)
    kernel = weight.shape[2:]
    rows, places = _grouped(weight, groups).transpose(0, 2, 1), math.prod(g.shape[2:])
    found = np.empty(shape, np.result_type(g, weight))
    for part in _parts(len(g), rows.shape[1] * groups * places * found.itemsize):
        sent = np.ascontiguousarray(g[part]).reshape(-1, groups, rows.shape[2], places)
        moves.spread(np.matmul(rows, sent), found[part], kernel, stride, padding, dilation)
    return found


@dispatched
def convolution_weight(
    g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Any:
    """The transpose of ``convolution`` by its weight: (n, o, *out) and (n, c, *spatial) to (o, c / groups, *kernel)."""
    return summed_up(PLAIN, g, x, kernel, stride, padding, dilation, groups)


def summed_up(
    moves: Moves, g: Array, x: Array, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, groups: int
) -> Array:
    """What ``convolution_weight`` does; one product sums over all samples of a part.

    BLAS multiplies columns by cotangents 1.7 times as fast as cotangents by columns.
    """
    shape = _weight_shape(g, x, kernel, stride, padding, dilation, groups)
    out, rows = g.shape[2:], shape[0] // groups
    total = np.zeros((groups, math.prod(shape[1:]), rows), np.result_type(g, x))
    for part in _parts(len(x), x.shape[1] * math.prod(kernel) * math.prod(out) * x.itemsize):
        if not total.size:
            break
        columns = moves.of_all(x[part], kernel, out, stride, padding, dilation).reshape(groups, total.shape[1], -1)
        sent = np.ascontiguousarray(np.swapaxes(g[part], 0, 1)).reshape(groups, rows, -1).transpose(0, 2, 1)
        if part.start == 0:
            np.matmul(columns, sent, out=total)
        else:
            total += np.matmul(columns, sent)
    found = np.empty(shape, total.dtype)
    found.reshape(groups, rows, total.shape[1])[...] = total.transpose(0, 2, 1)
    return found


@dispatched
def unfold(x: Any, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes, value: float = 0.0) -> Any:
    """The windows of (n, c, *spatial), padded with ``value``: (n, c, places of the kernel, *out), a new array."""
    out = _windows_shape(x, kernel, stride, padding, dilation)[3:]
    return _columns(x, kernel, out, stride, padding, dilation, value)


@dispatched
def fold(columns: Any, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Pairs, dilation: Sizes) -> Any:
    """The transpose of ``unfold``: windows added up where they came from, (n, c, *sizes)."""
    shape = _folded_shape(columns, sizes, kernel, stride, padding, dilation)
    found = np.empty(shape, np.result_type(columns))
    _spread(columns, found, kernel, stride, padding, dilation)
    return found


# -- rules; every row is linear in each of its arrays, so that their rules are each other


def _by_x(g: Any, ans: Any, x: Any, w: Any, *options: Any) -> Any:
    return cast(invoke(convolution_input, g, w, shape_of(x)[2:], *options), x)


def _by_weight(g: Any, ans: Any, x: Any, w: Any, *options: Any) -> Any:
    return cast(invoke(convolution_weight, g, x, shape_of(w)[2:], *options), w)


def _input_by_g(g: Any, ans: Any, sent: Any, w: Any, sizes: Any, *options: Any) -> Any:
    return cast(invoke(convolution, g, w, *options), sent)


def _input_by_weight(g: Any, ans: Any, sent: Any, w: Any, sizes: Any, *options: Any) -> Any:
    return cast(invoke(convolution_weight, sent, g, shape_of(w)[2:], *options), w)


def _weight_by_g(g: Any, ans: Any, sent: Any, x: Any, kernel: Any, *options: Any) -> Any:
    return cast(invoke(convolution, x, g, *options), sent)


def _weight_by_x(g: Any, ans: Any, sent: Any, x: Any, kernel: Any, *options: Any) -> Any:
    return cast(invoke(convolution_input, sent, g, shape_of(x)[2:], *options), x)


def _of_windows(
    g: Any, ans: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, value: Any = 0.0
) -> Any:
    return invoke(fold, g, shape_of(x)[2:], kernel, stride, padding, dilation)


def _of_folded(g: Any, ans: Any, columns: Any, sizes: Any, *options: Any) -> Any:
    return invoke(unfold, g, *options)


# -- rows


_ONE = ((2, 1), ((1, 1), (0, 1)), (1, 2), 1)  # stride, padding, dilation, groups
_TWO = ((1,), ((2, 0),), (1,), 2)

op(
    "convolution",
    convolution,
    meta=described(_result_shape, 2),
    vjp=(_by_x, _by_weight),
    warns=ALL,
    samples=(
        sample((2, 3, 4, 5), (4, 3, 3, 2), rest=_ONE),
        sample((2, 4, 5), (2, 2, 3), rest=_TWO),
    ),
)
op(
    "convolution_input",
    convolution_input,
    meta=described(_input_shape, 2),
    vjp=(_input_by_g, _input_by_weight),
    warns=ALL,
    samples=(
        sample((2, 4, 2, 4), (4, 3, 3, 2), rest=((4, 5), *_ONE)),
        sample((2, 2, 5), (2, 2, 3), rest=((5,), *_TWO)),
    ),
)
op(
    "convolution_weight",
    convolution_weight,
    meta=described(_weight_shape, 2),
    vjp=(_weight_by_g, _weight_by_x),
    warns=ALL,
    samples=(
        sample((2, 4, 2, 4), (2, 3, 4, 5), rest=((3, 2), *_ONE)),
        sample((2, 2, 5), (2, 4, 5), rest=((3,), *_TWO)),
    ),
)
op(
    "unfold",
    unfold,
    meta=described(_windows_shape, 1),
    vjp=(_of_windows,),
    samples=(
        sample((2, 3, 4, 5), rest=((2, 2), (1, 2), ((1, 0), (0, 1)), (1, 2))),
        sample((2, 3, 4), rest=((2,), (2,), ((0, 0),), (1,))),
    ),
)
op(
    "fold",
    fold,
    meta=described(_folded_shape, 1),
    vjp=(_of_folded,),
    warns=ALL,
    samples=(
        sample((2, 3, 4, 4, 2), rest=((4, 5), (2, 2), (1, 2), ((1, 0), (0, 1)), (1, 2))),
        sample((2, 3, 2, 2), rest=((4,), (2,), (2,), ((0, 0),), (1,))),
    ),
)
