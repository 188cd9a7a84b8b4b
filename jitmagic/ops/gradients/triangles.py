"""Takes a lower triangle, gives its inverse, for derivatives of matrix factors.

NumPy has the inverse of a general matrix only, which factorises what is triangular already. Halves of the triangle are
inverted on their own, and two products of matrices give the block below them, so most of the work is BLAS's:

    inv([[A, 0], [B, C]]) = [[inv(A), 0], [-inv(C) B inv(A), inv(C)]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import counted

__all__ = ["check_square", "inverse_of_lower", "lower", "plus_adjoint", "upper"]


def lower(x: Any) -> Any:
    """``np.tril`` as a choice by a mask, which is a constant of a graph, so that the choice joins the loops around."""
    return np.where(np.expand_dims(counted(x, -2), -1) >= counted(x, -1), x, 0)


def upper(x: Any) -> Any:
    """``np.triu``, as above."""
    return np.where(np.expand_dims(counted(x, -2), -1) > counted(x, -1), 0, x)


def check_square(x: Any) -> None:
    """Raises LinAlgError unless these are matrices of as many rows as columns; TypeError for integers."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(f"square matrices are needed, not an array of shape {tuple(x.shape)}")
    if x.dtype.kind not in "fc":
        raise TypeError(f"real or complex matrices are needed, not {x.dtype}")


def plus_adjoint(x: Any) -> Any:
    """(..., n, n), in C order: ``x`` and its mirror image added.

    NumPy reads the image along its columns faster than a loop.
    """
    check_square(x)
    found = np.empty(x.shape, x.dtype)  # (NumPy may put the sum where the image was, in its order)
    return np.add(x, np.conj(np.swapaxes(x, -1, -2)), out=found)


SMALL = 32  # rows from which on two products are faster than LAPACK's inverse; measured, 16 to 64 are alike


def inverse_of_lower(low: Any) -> Any:
    """(..., n, n) to (..., n, n), in C order; what lies above the diagonal counts as 0.

    Raises LinAlgError where an element of the diagonal is 0.
    """
    check_square(low)
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
