"""Takes the layouts of operands, gives the memory order in which NumPy allocates the result."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, hint_of

__all__ = ["allocated", "inner_first"]

Layout = tuple[tuple[int, ...], tuple[int, ...]]
_CELL = np.zeros((), np.int8)


def allocated(dtype: np.dtype[Any], shape: tuple[Dim, ...], operands: list[ArrayMeta], order: str = "K") -> ArrayMeta:
    """The array that NumPy's iterator allocates for operands that broadcast to ``shape``."""
    hints = tuple(hint_of(n) for n in shape)
    if order == "A":
        order = "F" if all("F" in m.contiguous for m in operands if m.ndim > 1) else "C"
    if 0 in hints:
        layouts = tuple((m.hint_shape, m.strides) for m in operands)
        steps = _iterated(layouts, order)
        return ArrayMeta(dtype, shape, tuple(s * dtype.itemsize for s in steps))
    if len(shape) < 2:
        return ArrayMeta.packed(dtype, shape, tuple(range(len(shape))))
    clipped = tuple((tuple(min(n, 2) for n in m.hint_shape), m.strides) for m in operands)
    axes = _order_of_iterated(clipped, order)
    return ArrayMeta.packed(dtype, shape, axes)


@lru_cache(maxsize=4096)
def _order_of_iterated(layouts: tuple[Layout, ...], order: str) -> tuple[int, ...]:
    steps = _iterated(layouts, order)
    shape = np.broadcast_shapes(*(shape for shape, _ in layouts))
    return inner_first(shape, steps)


def _iterated(layouts: tuple[Layout, ...], order: str) -> tuple[int, ...]:
    """Strides, in elements, of the operand that ``np.nditer`` allocates; no element is read."""
    operands: list[Any] = [as_strided(_CELL, shape, strides) for shape, strides in layouts]
    flags = [["readonly"]] * len(operands) + [["writeonly", "allocate", "no_subtype"]]
    with np.nditer(  # type: ignore[call-overload]  # the stubs miss this combination
        [*operands, None],
        flags=["zerosize_ok", "multi_index"],
        op_flags=flags,
        op_dtypes=[np.int8] * len(flags),
        order=order,
    ) as iterator:
        strides: tuple[int, ...] = iterator.operands[-1].strides
        return strides


def inner_first(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a dense array from the fastest to the slowest; axes of size 1 lie inside their equals."""
    return tuple(sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), shape[axis] != 1, -axis)))
