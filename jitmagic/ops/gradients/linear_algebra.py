"""Takes the cotangent of a result of ``np.linalg``, gives that of the matrix; stacks of matrices too.

Giles, "An extended collection of matrix derivative results for forward and reverse mode automatic differentiation",
2008, with transposes (not conjugates) in the convention of ``jitmagic.ops.gradients``: from ``d = B dA C`` follows the
cotangent ``B.T g C.T``. Functions that read one triangle only (``cholesky``, ``eigh``) get their gradient there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients import triangles
from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast, diagonal_mask, fit, shape_of

__all__ = [
    "lstsq_rules",
    "of_cholesky",
    "of_det",
    "of_eig",
    "of_eigh",
    "of_eigvals",
    "of_eigvalsh",
    "of_inv",
    "of_matrix_power",
    "of_multi_dot",
    "of_pinv",
    "of_qr",
    "of_slogdet",
    "of_svd",
    "of_svdvals",
    "solve_rules",
]


def conjugate(x: Any) -> Any:
    """``np.conj(x)``, which copies real numbers too."""
    return np.conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    return conjugate(turned(x))


def _scaled(x: Any, columns: Any) -> Any:
    """``x @ diag(columns)``."""
    return x * np.expand_dims(columns, -2)


def of_inv(g: Any, ans: Any, a: Any) -> Any:
    back = turned(ans)
    return cast(-back @ g @ back, a)


def of_det(g: Any, ans: Any, a: Any) -> Any:
    return cast(np.expand_dims(g * ans, (-2, -1)) * turned(np.linalg.inv(a)), a)


def of_slogdet(g: Any, ans: Any, a: Any) -> Any:
    """The sign of a real determinant is constant; that of a complex one turns."""
    of_sign, of_log = g
    share: Any = 0 if of_log is None else of_log
    if of_sign is not None and a.dtype.kind == "c":
        share = share + np.multiply(1j, np.imag(of_sign * ans[0]))
    return cast(np.expand_dims(share, (-2, -1)) * turned(np.linalg.inv(a)), a)


def _solution(g: Any, ans: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The cotangent of the right side and the solution, as matrices of columns."""
    if len(shape_of(b)) == 1:
        return np.linalg.solve(turned(a), np.expand_dims(g, -1)), np.expand_dims(ans, -1)
    return np.linalg.solve(turned(a), g), ans


def solve_of_matrix(g: Any, ans: Any, a: Any, b: Any) -> Any:
    back, x = _solution(g, ans, a, b)
    return fit(-back @ turned(x), a)


def solve_of_right(g: Any, ans: Any, a: Any, b: Any) -> Any:
    back, _ = _solution(g, ans, a, b)
    return fit(back[..., 0] if len(shape_of(b)) == 1 else back, b)


solve_rules = (solve_of_matrix, solve_of_right)


def _folded(s: Any, a: Any, upper: bool) -> Any:
    """The cotangent of a triangle, of which the other one is the mirror image."""
    both = invoke(triangles.plus_adjoint, s)
    half = triangles.upper(both) if upper else triangles.lower(both)
    return cast(np.where(diagonal_mask(a), np.real(half) / 2, half), a)


def of_cholesky(g: Any, ans: Any, a: Any, *args: Any, upper: bool = False) -> Any:
    low = adjoint(ans) if upper else ans
    g = triangles.lower(adjoint(g) if upper else g)
    inner = triangles.lower(turned(low) @ g)
    inner = inner - np.where(diagonal_mask(a), inner / 2, 0)
    back = invoke(triangles.inverse_of_lower, low)
    return _folded(turned(back) @ inner @ conjugate(back), a, upper)


def _gaps(w: Any) -> Any:
    """``1 / (w_j - w_i)``; 0 on the diagonal and between equal values."""
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    return np.where(gaps == 0, 0, 1 / np.where(gaps == 0, 1, gaps))


def _diagonal(w: Any) -> Any:
    return np.where(diagonal_mask(w, axes=(-1, -1)), np.expand_dims(w, -1), 0)


def of_eigh(g: Any, ans: Any, a: Any, UPLO: Any = "L") -> Any:
    of_values, of_vectors = g
    w, v = ans
    inner: Any = 0
    if of_values is not None:
        inner = inner + _diagonal(of_values)
    if of_vectors is not None:
        inner = inner + _gaps(w) * (turned(v) @ of_vectors)
    return _folded(conjugate(v) @ inner @ turned(v), a, UPLO.upper() == "U")


def of_eigvalsh(g: Any, ans: Any, a: Any, UPLO: Any = "L") -> Any:
    return of_eigh((g, None), np.linalg.eigh(a, UPLO), a, UPLO)


def of_eig(g: Any, ans: Any, a: Any) -> Any:
    """Eigenvectors of length 1; what depends on their phase has no gradient."""
    of_values, of_vectors = g
    w, v = ans
    inner: Any = 0
    if of_values is not None:
        inner = inner + _diagonal(of_values)
    if of_vectors is not None:
        along = np.real(np.sum(of_vectors * v, axis=-2, keepdims=True))
        inner = inner + _gaps(w) * (turned(v) @ (of_vectors - along * np.conj(v)))
    return cast(turned(np.linalg.inv(v)) @ inner @ turned(v), a)


def of_eigvals(g: Any, ans: Any, a: Any) -> Any:
    w, v = np.linalg.eig(a)
    by_size = np.take_along_axis(g, np.argsort(ans, -1), -1)
    return of_eig((np.take_along_axis(by_size, np.argsort(np.argsort(w, -1), -1), -1), None), (w, v), a)


def of_svd(
    g: Any, ans: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if not compute_uv:
        return of_svdvals(g, ans, a)
    of_u, of_s, of_vh = g
    if of_u is None and of_vh is None:
        return np.zeros_like(a) if of_s is None else of_svdvals(of_s, ans[1], a)
    if a.dtype.kind == "c" or (full_matrices and shape_of(a)[-1] != shape_of(a)[-2]):
        raise UserError(
            "singular vectors have a gradient for real matrices and full_matrices=False only; singular values have one "
            "for every matrix"
        )
    return _of_singular_vectors(of_u, of_s, of_vh, ans, a)


def _of_singular_vectors(of_u: Any, of_s: Any, of_vh: Any, ans: Any, a: Any) -> Any:
    u, s, vh = ans
    v = turned(vh)
    gaps = _gaps(s * s)
    inverse = 1 / np.where(s == 0, np.inf, s)
    inner = 0 if of_s is None else _diagonal(of_s)
    outer: Any = 0
    if of_u is not None:
        skew = turned(u) @ of_u
        inner = inner + _scaled(gaps * (skew - turned(skew)), s)
        outer = outer + _scaled(of_u - u @ skew, inverse) @ vh
    if of_vh is not None:
        of_v = turned(of_vh)
        skew = turned(v) @ of_v
        inner = inner + np.expand_dims(s, -1) * (gaps * (skew - turned(skew)))
        outer = outer + _scaled(u, inverse) @ turned(of_v - v @ skew)
    return cast(u @ inner @ vh + outer, a)


def of_svdvals(g: Any, ans: Any, a: Any) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return cast(_scaled(conjugate(u), g) @ conjugate(vh), a)


def of_qr(g: Any, ans: Any, a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r") or a.dtype.kind == "c":
        raise UserError("np.linalg.qr has a gradient for real matrices and mode='reduced' only")
    rows, columns = shape_of(a)[-2:]
    if mode == "complete" and rows > columns:
        raise UserError("np.linalg.qr has no gradient for mode='complete' of a tall matrix: use mode='reduced'")
    if mode == "r":
        q, r = np.linalg.qr(a)
        of_q, of_r = None, g
    else:
        (q, r), (of_q, of_r) = ans, g
    of_q = np.zeros_like(q) if of_q is None else of_q
    of_r = np.zeros_like(r) if of_r is None else np.triu(of_r)
    if rows >= columns:
        return cast(_of_square_qr(of_q, of_r, q, r), a)
    right = a[..., rows:]
    of_right = of_r[..., rows:]
    left = _of_square_qr(of_q + right @ turned(of_right), of_r[..., :rows], q, r[..., :rows])
    return cast(np.concatenate([left, q @ of_right], axis=-1), a)


def _of_square_qr(of_q: Any, of_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2012."""
    m = r @ turned(of_r) - turned(of_q) @ q
    low = np.tril(m, -1)
    mirrored = low + turned(low) + np.where(diagonal_mask(m), m, 0)
    return turned(np.linalg.solve(r, turned(of_q + q @ mirrored)))


def of_pinv(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """Golub and Pereyra, 1973; for changes that keep the rank."""
    rows, columns = shape_of(a)[-2:]
    if rows >= columns:
        return cast(_of_tall_pinv(g, ans, a), a)
    return cast(turned(_of_tall_pinv(turned(g), turned(ans), turned(a))), a)


def _of_tall_pinv(g: Any, p: Any, a: Any) -> Any:
    """The products are taken in an order that makes no matrix of rows x rows."""
    flipped = turned(p)
    inner = g @ flipped
    left, right = turned(p @ adjoint(p)) @ g, inner @ conjugate(p)
    found = adjoint(left - (left @ flipped) @ turned(a)) + adjoint(right - (turned(a) @ flipped) @ right)
    return found - flipped @ inner


def _as_columns(x: Any, b: Any) -> Any:
    return np.expand_dims(x, -1) if len(shape_of(b)) == 1 else x


def _of_solution(g: Any) -> Any:
    if any(part is not None for part in g[1:]):
        raise UserError("np.linalg.lstsq has a gradient of the solution only, not of residuals and singular values")
    return g[0]


def lstsq_of_matrix(g: Any, ans: Any, a: Any, b: Any, rcond: Any = None) -> Any:
    inverse = np.linalg.pinv(a)
    return of_pinv(_as_columns(_of_solution(g), b) @ turned(_as_columns(b, b)), inverse, a)


def lstsq_of_right(g: Any, ans: Any, a: Any, b: Any, rcond: Any = None) -> Any:
    found = turned(np.linalg.pinv(a)) @ _as_columns(_of_solution(g), b)
    return cast(found[..., 0] if len(shape_of(b)) == 1 else found, b)


lstsq_rules = (lstsq_of_matrix, lstsq_of_right)


def of_matrix_power(g: Any, ans: Any, a: Any, n: int) -> Any:
    if n < 0:
        inverse = np.linalg.inv(a)
        return of_inv(of_matrix_power(g, ans, inverse, -n), inverse, a)
    total = np.zeros_like(a)
    flipped = turned(a)
    for k in range(n):
        total = total + np.linalg.matrix_power(flipped, k) @ g @ np.linalg.matrix_power(flipped, n - 1 - k)
    return cast(total, a)


def of_multi_dot(g: Any, ans: Any, arrays: Any, *, out: Any = None) -> list[Any]:
    """Each factor between the products of those before and behind it."""
    factors = list(arrays)
    found = []
    for i, x in enumerate(factors):
        share = g
        ends = (len(shape_of(factors[0])) == 1, len(shape_of(factors[-1])) == 1)
        share = np.reshape(share, (1 if ends[0] else -1, 1 if ends[1] else shape_of(share)[-1])) if any(ends) else share
        for each in factors[:i]:
            share = turned(np.reshape(each, (1, -1)) if len(shape_of(each)) == 1 else each) @ share
        for each in reversed(factors[i + 1 :]):
            share = share @ turned(np.reshape(each, (-1, 1)) if len(shape_of(each)) == 1 else each)
        found.append(cast(np.reshape(share, shape_of(x)), x))
    return found
