"""Takes the cotangent of a solved system or of a condition number, gives that of the operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.factors import of_svdvals
from jitmagic.ops.gradients.linear_algebra import of_inv
from jitmagic.ops.gradients.norms import of_norm
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import as_operand, cast, count_of, counted, shape_of

__all__ = ["of_cond", "tensorsolve_rules"]


def of_cond(g: Any, ans: Any, x: Any, p: Any = None) -> Any:
    """The ratio of the extreme singular values, or the norms of the matrix and of its inverse multiplied."""
    if p in (None, 2, -2):
        _, s, _ = np.linalg.svd(x, full_matrices=False)
        place, last = counted(s, -1), shape_of(s)[-1] - 1
        upper, lower = (place == last, place == 0) if p == -2 else (place == 0, place == last)
        share = np.expand_dims(g * ans, -1)
        return of_svdvals((np.where(upper, share, 0) - np.where(lower, share, 0)) / s, s, x)
    inverse = np.linalg.inv(x)
    size = np.linalg.norm(x, p, (-2, -1))
    found = of_norm(g * ans / size, size, x, p, (-2, -1))
    return found + of_inv(of_norm(g * size, ans / size, inverse, p, (-2, -1)), inverse, x)


def _as_matrix(a: Any, b: Any, axes: Any) -> tuple[Any, list[int]]:
    """The system of ``np.linalg.tensorsolve`` as a square one, and the order of the axes in it."""
    order = list(range(len(shape_of(a))))
    for axis in axes or ():
        order.remove(axis)
        order.append(axis)
    count = count_of(b, None)
    return np.reshape(np.transpose(a, order), (count, count)), order


def tensorsolve_of_matrix(g: Any, ans: Any, a: Any, b: Any, axes: Any = None) -> Any:
    matrix, order = _as_matrix(a, b, axes)
    back = np.linalg.solve(turned(matrix), np.reshape(g, -1))
    shape = tuple(shape_of(a)[axis] for axis in order)
    found = np.reshape(-np.expand_dims(back, -1) * np.reshape(ans, -1), shape)
    return cast(np.transpose(found, [order.index(i) for i in range(len(order))]), a)


def tensorsolve_of_right(g: Any, ans: Any, a: Any, b: Any, axes: Any = None) -> Any:
    matrix, _ = _as_matrix(a, b, axes)
    return as_operand(np.linalg.solve(turned(matrix), np.reshape(g, -1)), b)


tensorsolve_rules = (tensorsolve_of_matrix, tensorsolve_of_right)
