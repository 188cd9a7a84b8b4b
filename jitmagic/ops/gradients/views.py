"""Takes the cotangent of a view, gives that of the array it looks at: the axes are put back."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.shapes import axes_of, cast, counted, diagonal_mask, fit, shape_of

__all__ = [
    "of_copies",
    "of_diagonal",
    "of_field",
    "of_imag",
    "of_moveaxis",
    "of_ravel",
    "of_reshape",
    "of_retyped",
    "of_rollaxis",
    "of_transpose",
    "reshaped",
]


def _undo(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))


def of_transpose(g: Any, ans: Any, a: Any, axes: Any = None) -> Any:
    return np.transpose(g) if axes is None else np.transpose(g, _undo(axes_of(a, axes)))


def of_moveaxis(g: Any, ans: Any, a: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(g, destination, source)


def of_rollaxis(g: Any, ans: Any, a: Any, axis: int, start: int = 0) -> Any:
    ndim = len(shape_of(a))
    axis, start = axis % ndim, start + ndim if start < 0 else start
    return np.moveaxis(g, start - 1 if axis < start else start, axis)


def reshaped(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """Of any function that gives the elements of ``a`` in the same order."""
    return np.reshape(g, shape_of(a))


def of_reshape(g: Any, ans: Any, a: Any, shape: Any = None, order: Any = "C", **kwargs: Any) -> Any:
    if order == "A":
        order = "F" if a.flags.fnc else "C"
    return np.reshape(g, shape_of(a), order=order)


def of_ravel(g: Any, ans: Any, a: Any, order: Any = "C") -> Any:
    """Also ``"K"``, the order in memory: that of the axes by stride."""
    if order != "K":
        return of_reshape(g, ans, a, order=order)
    strides = [abs(s) for s in getattr(a, "strides", ())]
    axes = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    return np.transpose(np.reshape(g, tuple(shape_of(a)[axis] for axis in axes)), _undo(axes))


def of_diagonal(g: Any, ans: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Zeros with ``g`` on the diagonal: ``g`` times a mask of ones."""
    rows, columns = axes_of(a, (axis1, axis2))
    n = shape_of(a)[rows]
    length = shape_of(g)[-1]
    before = max(-offset, 0) if not isinstance(n, int) else min(max(-offset, 0), n)
    behind = n - before - length
    if not isinstance(behind, int):  # a size is a symbol
        g = np.take(g, np.clip(counted(a, rows) - before, 0, length - 1), axis=-1)
    elif before or behind:
        g = np.pad(g, [(0, 0)] * (len(shape_of(g)) - 1) + [(before, behind)])
    spread = np.where(diagonal_mask(a, offset, (rows, columns)), np.expand_dims(g, -1), 0)
    return np.moveaxis(spread, (-2, -1), (rows, columns))


def of_imag(g: Any, ans: Any, a: Any) -> Any:
    return cast(np.multiply(-1j, g), a) if a.dtype.kind == "c" else np.zeros_like(a)


def of_copies(g: Any, ans: Any, *arrays: Any) -> list[Any]:
    """Of functions that give each operand with more axes of size 1: ``atleast_2d(a, b)``."""
    given = g if isinstance(g, tuple | list) else (g,)
    return [
        np.zeros_like(a) if part is None else np.reshape(part, shape_of(a))
        for part, a in zip(given, arrays, strict=True)
    ]


def of_retyped(g: Any, ans: Any, a: Any, dtype: Any = None, type: Any = None) -> Any:
    """Of ``a.view(dtype)``: a complex number is the pair of its parts; other dtypes share no numbers."""
    here, there = a.dtype, ans.dtype
    if here == there:
        return fit(g, a)
    if {here.kind, there.kind} != {"f", "c"} or max(here.itemsize, there.itemsize) != 2 * min(
        here.itemsize, there.itemsize
    ):
        raise UserError(f"a view of {here} as {there} has no gradient: use astype, or detach the operand first")
    if here.kind == "c":
        return cast(g[..., ::2] - np.multiply(1j, g[..., 1::2]), a)
    return cast(np.reshape(np.stack([np.real(g), -np.imag(g)], axis=-1), shape_of(a)), a)


def of_field(g: Any, ans: Any, a: Any, dtype: Any, offset: int = 0) -> Any:
    """Of ``a.getfield(dtype, offset)``: complex numbers have their parts as fields."""
    here, there = a.dtype, ans.dtype
    if here == there:
        return fit(g, a)
    if here.kind != "c" or there.kind != "f" or offset % there.itemsize or here.itemsize != 2 * there.itemsize:
        raise UserError(
            f"a field of {here} read as {there} has no gradient: the bytes of a number are no smooth function"
        )
    return cast(np.multiply(-1j, g) if offset else g, a)
