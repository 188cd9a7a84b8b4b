"""Takes the cotangents of what LAPACK's QR factorisation leaves (reflections and R), gives that of the matrix.

``factors`` (..., m, n) has R in its upper triangle and below the diagonal the vectors ``v`` of the reflections
``H = 1 - tau v v.H``, of which the first element, 1, is not stored; ``tau`` has one number for each, ``Q = H1 H2 ...``.
Cotangents are conjugated as in ``jitmagic.ops.gradients.factors``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.linear_algebra import adjoint, conjugate
from jitmagic.ops.gradients.pointwise import finite_divisor
from jitmagic.ops.gradients.shapes import shape_of

__all__ = ["of_orthogonal", "of_reflectors"]


def _vector(factors: Any, k: int) -> Any:
    """The vector of reflection ``k``, from row ``k`` on, as a column."""
    below = factors[..., k + 1 :, k : k + 1]
    one = np.ones_like(factors[..., k : k + 1, k : k + 1])
    return np.concatenate([one, below], axis=-2)


def _tau(tau: Any, k: int) -> Any:
    return tau[..., k : k + 1, np.newaxis]


def _count(tau: Any) -> int:
    return int(shape_of(tau)[-1])


def _inner(a: Any, b: Any) -> Any:
    return adjoint(a) @ b


def _reflected(v: Any, tau: Any, x: Any) -> Any:
    return x - tau * (v @ _inner(v, x))


def of_orthogonal(g: Any, factors: Any, tau: Any) -> tuple[Any, Any]:
    """The cotangents of the vectors (..., m, n) and of ``tau`` from that of all of Q, (..., m, m)."""
    count = _count(tau)
    product = np.zeros_like(g) + np.eye(int(shape_of(g)[-1]))
    for k in reversed(range(count)):
        rows = _reflected(_vector(factors, k), _tau(tau, k), product[..., k:, :])
        product = np.concatenate([product[..., :k, :], rows], axis=-2)
    columns, scales = [], []
    for k in range(count):
        v, t = _vector(factors, k), _tau(tau, k)
        rows, of_rows = _reflected(v, conjugate(t), product[..., k:, :]), g[..., k:, :]
        forth, back = rows @ _inner(of_rows, v), of_rows @ _inner(rows, v)
        scales.append(conjugate(-_inner(v, forth))[..., 0])
        columns.append(np.concatenate([g[..., :k, :1] * 0, -t * forth - conjugate(t) * back], axis=-2))
        product = np.concatenate([product[..., :k, :], rows], axis=-2)
        g = np.concatenate([g[..., :k, :], _reflected(v, conjugate(t), of_rows)], axis=-2)
    return np.concatenate(columns, axis=-1), np.concatenate(scales, axis=-1)


def of_reflectors(g: Any, of_tau: Any, factors: Any, tau: Any) -> Any:
    """The cotangent of the matrix from those of ``factors`` and ``tau``: each reflection is taken back, the last first.

    ``rest`` is what the reflections before had made of the lower right part, ``of_rest`` its cotangent.
    """
    count = _count(tau)
    rest = factors[..., count:, count:]
    of_rest = rest * 0
    for k in reversed(range(count)):
        v, t = _vector(factors, k), _tau(tau, k)
        right, of_right = (
            np.concatenate([x[..., k : k + 1, k + 1 :], below], axis=-2) for x, below in ((factors, rest), (g, of_rest))
        )
        before = _reflected(v, t, right)
        forth, back = before @ _inner(of_right, v), of_right @ _inner(before, v)
        of_t = _tau(of_tau, k) - _inner(v, forth)
        of_v = g[..., k + 1 :, k : k + 1] - (t * back + conjugate(t) * forth)[..., 1:, :]
        beta = np.real(factors[..., k : k + 1, k : k + 1])
        column, of_column = _of_column(g[..., k : k + 1, k : k + 1], of_t, of_v, beta, t, v)
        rest = np.concatenate([column, before], axis=-1)
        of_rest = np.concatenate([of_column, _reflected(v, t, of_right)], axis=-1)
    return of_rest


def _of_column(of_beta: Any, of_t: Any, of_v: Any, beta: Any, t: Any, v: Any) -> tuple[Any, Any]:
    """The column that a reflection made ``beta`` and zeros, and its cotangent.

    ``beta**2`` is the sum of squares, ``tau = 1 - first / beta``, ``v = rest / (first - beta)``. A column that had
    zeros already is left as it was (``tau`` is 0).
    """
    first, rest = beta * (1 - t), -beta * t * v[..., 1:, :]
    is_left = t == 0
    scale, size = finite_divisor(-beta * t), finite_divisor(beta)
    of_rest = of_v / conjugate(scale)
    of_scale = -_inner(v[..., 1:, :], of_v) / conjugate(scale)
    of_size = np.real(of_beta) - np.real(of_scale) + np.real(conjugate(of_t) * first) / size / size
    of_first = of_scale - of_t / size + of_size * first / size
    column = np.concatenate([first, rest], axis=-2)
    of_column = np.concatenate(
        [np.where(is_left, of_beta, of_first), np.where(is_left, 0, of_rest + of_size * rest / size)], axis=-2
    )
    return column, of_column
