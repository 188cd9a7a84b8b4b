"""Takes sizes, kernel, stride, padding and dilation of windows that slide over an array, gives where each of them lies.

Also what rows about such windows share: how they are called, and what the graph knows of their results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, hint_of
from jitmagic.ops.describe import array_meta
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.refusals import refuse, run_hollow

__all__ = [
    "ALL",
    "Pairs",
    "Sizes",
    "described",
    "dispatched",
    "equal",
    "inside",
    "out_size",
    "out_sizes",
    "places_of",
    "sample",
]

Sizes = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]
ALL = frozenset({"divide", "over", "under", "invalid"})


_PLAIN = np.ndarray.__array_function__


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives calls to ``__array_function__`` of a Tensor, or of what stands for one, among the first two operands."""

    @functools.wraps(function)
    def call(first: Any, second: Any, *rest: Any) -> Any:
        for value in (first, second):
            if getattr(type(value), "__array_function__", _PLAIN) is not _PLAIN:
                return value.__array_function__(call, (type(value),), (first, second, *rest), {})
        return function(first, second, *rest)

    return call


def out_size(size: Any, kernel: int, stride: int, padding: tuple[int, int], dilation: int) -> Any:
    """How many places a window has along an axis."""
    return (size + padding[0] + padding[1] - dilation * (kernel - 1) - 1) // stride + 1


def out_sizes(sizes: Any, kernel: Any, stride: Sizes, padding: Pairs, dilation: Sizes) -> tuple[Any, ...]:
    if not len(sizes) == len(kernel) == len(stride) == len(padding) == len(dilation):
        raise RuntimeError(
            f"{len(sizes)} spatial axes, with a kernel of shape {kernel}, stride {stride}, padding {padding} and "
            f"dilation {dilation}: one number is wanted for each axis"
        )
    found = tuple(map(out_size, sizes, kernel, stride, padding, dilation))
    if any(n <= 0 for n in found):
        reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
        raise RuntimeError(
            f"a kernel that spans {reach} does not fit into an input of spatial shape {tuple(map(hint_of, sizes))} "
            f"with padding {padding}"
        )
    return found


def places_of(kernel: Any, out: Sizes, stride: Sizes, dilation: Sizes) -> Iterator[tuple[slice, ...]]:
    """For each place of the kernel, in order, what it meets of the padded input."""
    for offset in np.ndindex(kernel):
        yield tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(offset, dilation, out, stride, strict=True)
        )


def inside(start: int, step: int, size: int, count: int) -> tuple[slice, slice]:
    """Of ``start + step * i`` for ``i`` below ``count`` those in an axis of ``size``: where they are, and which."""
    first = min(max(0, -(start // step)), count)
    end = max(first, min(count, (size - 1 - start) // step + 1))
    begin = max(start + step * first, 0)
    return slice(begin, max(begin, start + step * (end - 1) + 1), step) if end > first else slice(0), slice(first, end)


def equal(shape: Any, other: Any) -> bool:
    return len(shape) == len(other) and all(n == m for n, m in zip(shape, other, strict=True))


def described(
    shape: Callable[..., tuple[Dim, ...]], operands: int, typed: int | None = None
) -> Callable[[Arguments], Inferred]:
    """The rule of a row with so many arrays among its operands, the first ``typed`` of which give the dtype.

    Refusals are those of the call itself.
    """

    def rule(call: Arguments) -> Inferred:
        if call.kwargs:
            refuse(call)
        metas = [array_meta(value) for value in call.args[:operands]]
        try:
            sizes = shape(*metas, *call.args[operands:])
        except (RuntimeError, ValueError, IndexError, TypeError):
            run_hollow(call)
            raise
        dtype = np.result_type(*(m.dtype for m in metas[:typed]))
        if any(hint_of(n) == 0 for n in sizes):  # NumPy's new arrays without elements have no strides
            return Inferred(ArrayMeta(dtype, tuple(sizes), (0,) * len(sizes)))
        return Inferred(ArrayMeta.dense(dtype, tuple(sizes)))

    return rule


def sample(*shapes: Sizes, rest: tuple[Any, ...]) -> Sample:
    return Sample(lambda rng: (*(rng.uniform(-3, 3, shape) for shape in shapes), *rest))
