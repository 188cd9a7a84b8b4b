"""Takes a lower triangle, gives its inverse, for derivatives of matrix factors.

NumPy has the inverse of a general matrix only, which factorises what is triangular already. Halves of the triangle are
inverted on their own, and two products of matrices give the block below them, so most of the work is BLAS's:

    inv([[A, 0], [B, C]]) = [[inv(A), 0], [-inv(C) B inv(A), inv(C)]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["inverse_of_lower", "lower", "plus_adjoint", "upper"]


def lower(x: Any) -> Any:
    """``np.tril`` as a choice by a mask, which is a constant of a graph, so that the choice joins the loops around."""
    return np.where(np.tri(*x.shape[-2:], dtype=bool), x, 0)


def upper(x: Any) -> Any:
    """``np.triu``, as above."""
    return np.where(np.tri(*x.shape[-2:], -1, dtype=bool), 0, x)


def plus_adjoint(x: Any) -> Any:
    """(..., n, n): ``x`` and its mirror image added; NumPy reads the image along its columns faster than a loop."""
    return x + np.conj(np.swapaxes(x, -1, -2))


SMALL = 32  # rows from which on two products are faster than LAPACK's inverse; measured, 16 to 64 are alike


def inverse_of_lower(low: Any) -> Any:
    """(..., n, n) to (..., n, n), in C order; what lies above the diagonal counts as 0.

    Raises LinAlgError where an element of the diagonal is 0.
    """
    found = np.zeros(low.shape, low.dtype)
    _invert(lower(low), found)
    return found


def _invert(low: Any, found: Any) -> None:
    n = low.shape[-1]
    if n <= SMALL:
        found[...] = np.linalg.inv(low)
        return
    half = n // 2
    _invert(low[..., :half, :half], found[..., :half, :half])
    _invert(low[..., half:, half:], found[..., half:, half:])
    first, second = found[..., :half, :half], found[..., half:, half:]
    np.matmul(second @ low[..., half:, :half], -first, out=found[..., half:, :half])
