"""Takes square matrices, gives the derivatives of their determinants, at singular ones too.

The derivative of ``det(A)`` by ``A`` are the cofactors: ``det(A) inv(A).T`` where an inverse can be computed. Elsewhere
they come from the singular values, ``A = U S V``: those of ``S`` are the products of all other values, and

    cofactors(A) = det(U) det(V) conj(U) cofactors(S) conj(V)

(Stewart, "On the adjugate matrix", Linear Algebra and its Applications 283, 1998). So does the second derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.triangles import check_square

__all__ = ["cofactors", "cofactors_along", "inverse_transposed"]

CONDITION = 1e5  # up to here det(A) inv(A) has at least ten digits in double precision; the error grows with it
CONDITION_SINGLE = 1e2  # five digits


def cofactors(a: Any) -> Any:
    """(..., n, n) to (..., n, n): the derivatives of the determinants of ``a`` by its elements."""
    check_square(a)
    if not a.shape[-1]:
        return np.zeros(a.shape, a.dtype)
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return _from_values(a)
    found = np.ascontiguousarray(np.linalg.det(a)[..., None, None] * np.swapaxes(inverse, -1, -2), a.dtype)
    limit = CONDITION_SINGLE if a.dtype.itemsize * (2 - (a.dtype.kind == "c")) <= 8 else CONDITION
    doubtful = ~(_norm(a) * _norm(inverse) <= limit)
    if doubtful.any():
        found[doubtful] = _from_values(a[doubtful])
    return found


def cofactors_along(a: Any, direction: Any) -> Any:
    """(..., n, n), (..., n, n) to (..., n, n): how the cofactors of ``a`` change along ``direction``."""
    check_square(a)
    n = a.shape[-1]
    if not n or not np.isfinite(a).all():
        return np.full(a.shape, np.nan, a.dtype)
    u, values, v = np.linalg.svd(a)
    without = np.where(np.eye(n, dtype=bool), 1, values[..., None, :])
    products = np.where(np.eye(n, dtype=bool), 0, _products_of_others(without))
    turned = np.conj(np.swapaxes(u, -1, -2)) @ direction @ np.conj(np.swapaxes(v, -1, -2))
    inner = -np.swapaxes(turned, -1, -2) * products
    places = np.arange(n)
    inner[..., places, places] = (products @ np.diagonal(turned, axis1=-2, axis2=-1)[..., None])[..., 0]
    return np.ascontiguousarray(_sign(u, v) * (np.conj(u) @ inner @ np.conj(v)), a.dtype)


def inverse_transposed(a: Any) -> Any:
    """(..., n, n) to (..., n, n): the transposed inverse; infinite or NaN where a matrix is singular."""
    check_square(a)
    try:
        return np.ascontiguousarray(np.swapaxes(np.linalg.inv(a), -1, -2), a.dtype)
    except np.linalg.LinAlgError:
        with np.errstate(all="ignore"):
            return np.divide(cofactors(a), np.linalg.det(a)[..., None, None], dtype=a.dtype)


def _from_values(a: Any) -> Any:
    """The cofactors by the singular values; NaN for matrices that have none."""
    found = np.full(a.shape, np.nan, a.dtype)
    finite = np.isfinite(a).all((-2, -1))
    u, values, v = np.linalg.svd(a[finite])
    found[finite] = _sign(u, v) * ((np.conj(u) * _products_of_others(values)[..., None, :]) @ np.conj(v))
    return found


def _sign(u: Any, v: Any) -> Any:
    return (np.linalg.det(u) * np.linalg.det(v))[..., None, None]


def _products_of_others(x: Any) -> Any:
    """Along the last axis, for each element the product of the others."""
    ones = np.ones_like(x[..., :1])
    before = np.cumprod(np.concatenate([ones, x[..., :-1]], -1), -1)
    behind = np.cumprod(np.concatenate([ones, x[..., :0:-1]], -1), -1)[..., ::-1]
    return before * behind


def _norm(a: Any) -> Any:
    return np.abs(a).sum(-2).max(-1)
