"""Takes the cotangent of a norm, gives that of the vectors or matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.factors import of_svdvals
from jitmagic.ops.gradients.folds import of_extreme
from jitmagic.ops.gradients.pointwise import finite_divisor, modulus
from jitmagic.ops.gradients.shapes import axes_of, cast, restore_axes, shape_of

__all__ = ["of_matrix_norm", "of_norm", "of_vector_norm"]


def of_norm(g: Any, ans: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of ``np.linalg.norm``: of all elements, of vectors along one axis, or of matrices along two."""
    axes = axes_of(x, axis)
    if axis is None and ord is None:
        return _of_vectors(g, ans, x, 2, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors(g, ans, x, 2 if ord is None else ord, axes, keepdims)
    return _of_matrices(g, ans, x, "fro" if ord is None else ord, axes, keepdims)


def of_vector_norm(g: Any, ans: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    return _of_vectors(g, ans, x, ord, axes_of(x, axis), keepdims)


def of_matrix_norm(g: Any, ans: Any, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _of_matrices(g, ans, x, ord, axes_of(x, (-2, -1)), keepdims)


def _of_vectors(g: Any, ans: Any, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """At 0 the derivative counts as 0; the largest elements share it."""
    g, ans = restore_axes(g, x, axes, keepdims), restore_axes(ans, x, axes, keepdims)
    if ord == 2:
        return cast(g * np.conj(x) / finite_divisor(ans), x)
    size = np.abs(x)
    if ord in (np.inf, -np.inf):
        g = of_extreme(g, ans, size, axes, None, True)
    elif ord == 0:
        return np.zeros_like(x)
    elif ord != 1:
        g = g * (size / finite_divisor(ans)) ** (ord - 1)
    return cast(modulus(g, size, x), x)


def _of_matrices(g: Any, ans: Any, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord == "fro":
        return _of_vectors(g, ans, x, 2, axes, keepdims)
    g, ans = restore_axes(g, x, axes, keepdims), restore_axes(ans, x, axes, keepdims)
    rows, columns = axes
    if ord in (1, -1, np.inf, -np.inf):
        summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
        size = np.abs(x)
        sums = np.sum(size, axis=summed, keepdims=True)
        return cast(modulus(of_extreme(g, ans, sums, kept, None, True), size, x), x)
    if ord not in (2, -2, "nuc"):
        raise UserError(f"np.linalg.norm has no gradient for ord={ord!r}")
    last = np.moveaxis(x, axes, (-2, -1))
    values = np.linalg.svd(last, compute_uv=False)
    g, ans = (np.moveaxis(v, axes, (-2, -1))[..., 0] for v in (g, ans))
    share = np.broadcast_to(g, shape_of(values)) if ord == "nuc" else of_extreme(g, ans, values, -1, None, True)
    return cast(np.moveaxis(of_svdvals(share, values, last), (-2, -1), axes), x)
