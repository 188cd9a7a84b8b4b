"""Takes the cotangent of a product of matrices or tensors, gives those of the factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import axes_of, cast, diagonal_mask, fit, shape_of

__all__ = [
    "cross_rules",
    "dot_rules",
    "inner_rules",
    "kron_rules",
    "matmul_rules",
    "matvec_rules",
    "of_trace",
    "outer_rules",
    "tensordot_rules",
    "vdot_rules",
    "vecdot_rules",
    "vecmat_rules",
]


def rank(x: Any) -> int:
    return len(shape_of(x))


def turned(x: Any) -> Any:
    """A stack of matrices, each transposed."""
    return np.swapaxes(x, -1, -2)


def is_transposed(x: Any) -> bool:
    """Whether a matrix lies in memory column by column; False where that is known only at run time."""
    strides: Any = getattr(x, "strides", ())
    return len(strides) == 2 and all(type(n) is int for n in strides) and 0 < abs(strides[0]) < abs(strides[1])


def matmul_left(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    if rank(b) == 1:
        return fit(g * b if rank(a) == 1 else np.expand_dims(g, -1) * b, a)
    if rank(a) == 1:
        return fit(np.matmul(b, np.expand_dims(g, -1))[..., 0], a)
    return fit(np.matmul(g, turned(b)), a)


def matmul_right(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    if rank(a) == 1:
        return fit(g * a if rank(b) == 1 else np.expand_dims(a, -1) * np.expand_dims(g, -2), b)
    if rank(b) == 1:
        return fit(np.matmul(np.expand_dims(g, -2), a)[..., 0, :], b)
    if rank(b) == 2 and rank(a) >= 2:  # one product instead of a stack of products that are summed
        rows, columns = shape_of(a)[-1], shape_of(g)[-1]
        if rank(a) > 2:
            a, g = np.reshape(a, (-1, rows)), np.reshape(g, (-1, columns))
        if is_transposed(b):  # as in x @ weight.T: the gradient of the weight is laid out as the weight then
            return cast(turned(np.matmul(turned(g), a)), b)
        return cast(np.matmul(turned(a), g), b)
    return fit(np.matmul(turned(a), g), b)


matmul_rules = (matmul_left, matmul_right)


def dot_left(g: Any, ans: Any, a: Any, b: Any, out: Any = None) -> Any:
    if not rank(a) or not rank(b):
        return fit(g * b, a)
    if rank(b) == 1:
        return cast(np.expand_dims(g, -1) * b, a)
    last = rank(a) - 1
    return cast(np.tensordot(g, b, (range(last, rank(g)), [*range(rank(b) - 2), rank(b) - 1])), a)


def dot_right(g: Any, ans: Any, a: Any, b: Any, out: Any = None) -> Any:
    if not rank(a) or not rank(b):
        return fit(g * a, b)
    rows = range(rank(a) - 1)
    if rank(b) == 1:
        return cast(np.tensordot(g, a, (rows, rows)), b)
    if rank(a) == rank(b) == 2 and is_transposed(b):
        return cast(turned(np.matmul(turned(g), a)), b)
    found = np.tensordot(a, g, (rows, rows))  # the summed axis first, then those of b without it
    return cast(np.moveaxis(found, 0, -2), b)


dot_rules = (dot_left, dot_right)


def inner_left(g: Any, ans: Any, a: Any, b: Any) -> Any:
    if not rank(a) or not rank(b):
        return fit(g * b, a)
    others = rank(b) - 1
    return cast(np.tensordot(g, b, (range(rank(a) - 1, rank(g)), range(others))), a)


def inner_right(g: Any, ans: Any, a: Any, b: Any) -> Any:
    if not rank(a) or not rank(b):
        return fit(g * a, b)
    rows = range(rank(a) - 1)
    return cast(np.tensordot(g, a, (rows, rows)), b)


inner_rules = (inner_left, inner_right)


def outer_left(g: Any, ans: Any, a: Any, b: Any, out: Any = None) -> Any:
    return cast(np.reshape(np.matmul(g, np.reshape(b, -1)), shape_of(a)), a)


def outer_right(g: Any, ans: Any, a: Any, b: Any, out: Any = None) -> Any:
    return cast(np.reshape(np.matmul(np.reshape(a, -1), g), shape_of(b)), b)


outer_rules = (outer_left, outer_right)


def vdot_left(g: Any, ans: Any, a: Any, b: Any) -> Any:
    return cast(np.reshape(np.conj(g * np.reshape(b, -1)), shape_of(a)), a)


def vdot_right(g: Any, ans: Any, a: Any, b: Any) -> Any:
    return cast(np.reshape(g * np.conj(np.reshape(a, -1)), shape_of(b)), b)


vdot_rules = (vdot_left, vdot_right)


def _contracted(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    """The summed axes of both operands of ``tensordot``."""
    if isinstance(axes, int):
        return list(range(rank(a) - axes, rank(a))), list(range(axes))
    first, second = axes
    return list(axes_of(a, first)), list(axes_of(b, second))


def tensordot_left(g: Any, ans: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    summed, theirs = _contracted(a, b, axes)
    kept = [i for i in range(rank(a)) if i not in summed]
    others = [i for i in range(rank(b)) if i not in theirs]
    found = np.tensordot(g, b, (range(len(kept), rank(g)), others))  # kept axes of a, then those of b in its order
    order = kept + [summed[theirs.index(i)] for i in sorted(theirs)]
    return cast(np.transpose(found, [order.index(i) for i in range(rank(a))]), a)


def tensordot_right(g: Any, ans: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    theirs, summed = _contracted(a, b, axes)
    kept = [i for i in range(rank(b)) if i not in summed]
    others = [i for i in range(rank(a)) if i not in theirs]
    found = np.tensordot(a, g, (others, range(len(others))))  # summed axes in the order of a, then those of b
    order = [summed[theirs.index(i)] for i in sorted(theirs)] + kept
    return cast(np.transpose(found, [order.index(i) for i in range(rank(b))]), b)


tensordot_rules = (tensordot_left, tensordot_right)


def _interleaved(g: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """``kron`` as a product of broadcast operands: each axis of the result is one of ``a`` and one of ``b``."""
    ndim = max(rank(a), rank(b))
    rows = (1,) * (ndim - rank(a)) + shape_of(a)
    columns = (1,) * (ndim - rank(b)) + shape_of(b)
    pairs = tuple(n for pair in zip(rows, columns, strict=True) for n in pair)
    left = tuple(n for m in rows for n in (m, 1))
    right = tuple(n for m in columns for n in (1, m))
    return np.reshape(g, pairs), np.reshape(a, left), np.reshape(b, right)


def kron_left(g: Any, ans: Any, a: Any, b: Any) -> Any:
    g, left, right = _interleaved(g, a, b)
    return cast(np.reshape(fit(g * right, left), shape_of(a)), a)


def kron_right(g: Any, ans: Any, a: Any, b: Any) -> Any:
    g, left, right = _interleaved(g, a, b)
    return cast(np.reshape(fit(g * left, right), shape_of(b)), b)


kron_rules = (kron_left, kron_right)


def of_trace(
    g: Any, ans: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    rows, columns = axes_of(a, (axis1, axis2))
    spread = np.where(diagonal_mask(a, offset, (rows, columns)), np.expand_dims(g, (-2, -1)), 0)
    return cast(np.moveaxis(spread, (-2, -1), (rows, columns)), a)


def _at_end(x: Any, axis: Any) -> Any:
    return np.moveaxis(x, axis, -1)


def _cross_axes(axisa: int, axisb: int, axisc: int, axis: Any) -> tuple[int, int, int]:
    return (axisa, axisb, axisc) if axis is None else (axis, axis, axis)


def _crossed(g: Any, x: Any) -> Any:
    """``cross(x, g)`` by components; vectors of two components lie in the plane of the first two."""

    def part(v: Any, i: int) -> Any:
        return v[..., i] if i < shape_of(v)[-1] else 0 * v[..., 0]

    rows = [part(x, i) * part(g, j) - part(x, j) * part(g, i) for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(rows, axis=-1)


def _in_space(g: Any, a: Any, b: Any) -> Any:
    """The cotangent as vectors of three components; ``cross`` of planar vectors gives the third one only."""
    if shape_of(a)[-1] == 2 and shape_of(b)[-1] == 2:
        return np.stack([0 * g, 0 * g, g], axis=-1)
    return g


def cross_left(
    g: Any, ans: Any, a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    at_a, at_b, at_c = _cross_axes(axisa, axisb, axisc, axis)
    left, right = _at_end(a, at_a), _at_end(b, at_b)
    planar = shape_of(left)[-1] == shape_of(right)[-1] == 2
    g = _in_space(g if planar else _at_end(g, at_c), left, right)
    found = _crossed(g, right)[..., : shape_of(left)[-1]]
    return np.moveaxis(fit(found, left), -1, at_a)


def cross_right(
    g: Any, ans: Any, a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    return cross_left(-g, ans, b, a, axisb, axisa, axisc, axis)


cross_rules = (cross_left, cross_right)


def vecdot_left(g: Any, ans: Any, a: Any, b: Any, axis: int = -1, **options: Any) -> Any:
    return fit(np.conj(np.expand_dims(g, axis) * b), a)


def vecdot_right(g: Any, ans: Any, a: Any, b: Any, axis: int = -1, **options: Any) -> Any:
    return fit(np.expand_dims(g, axis) * np.conj(a), b)


vecdot_rules = (vecdot_left, vecdot_right)


def matvec_left(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    return fit(np.expand_dims(g, -1) * np.expand_dims(b, -2), a)


def matvec_right(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    return fit(np.matmul(np.expand_dims(g, -2), a)[..., 0, :], b)


matvec_rules = (matvec_left, matvec_right)


def vecmat_left(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    """``vecmat`` conjugates the vector."""
    return fit(np.conj(np.matmul(b, np.expand_dims(g, -1))[..., 0]), a)


def vecmat_right(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
    return fit(np.expand_dims(np.conj(a), -1) * np.expand_dims(g, -2), b)


vecmat_rules = (vecmat_left, vecmat_right)
