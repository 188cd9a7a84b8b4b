"""Takes the cotangent of a result of ``np.linalg``, gives that of the matrix; stacks of matrices too.

Giles, "An extended collection of matrix derivative results for forward and reverse mode automatic differentiation",
2008, with transposes (not conjugates) in the convention of ``jitmagic.ops.gradients``: from ``d = B dA C`` follows the
cotangent ``B.T g C.T``. Functions that read one triangle only (``cholesky``, ``eigh``) get their gradient there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients import triangles
from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.determinants import cofactors, inverse_transposed
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast, counted, diagonal_mask, fit, shape_of

__all__ = [
    "adjoint",
    "between_values",
    "conjugate",
    "diagonal_of",
    "lstsq_rules",
    "mirrored",
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
    "of_slogdet",
    "scaled",
    "solve_rules",
]


def conjugate(x: Any) -> Any:
    """``np.conj(x)``, which copies real numbers too."""
    return np.conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    return conjugate(turned(x))


def scaled(x: Any, columns: Any) -> Any:
    """``x @ diag(columns)``."""
    return x * np.expand_dims(columns, -2)


def of_inv(g: Any, ans: Any, a: Any) -> Any:
    back = turned(ans)
    return cast(-back @ g @ back, a)


def of_det(g: Any, ans: Any, a: Any) -> Any:
    return cast(np.expand_dims(g, (-2, -1)) * invoke(cofactors, a), a)


def of_slogdet(g: Any, ans: Any, a: Any) -> Any:
    """The sign of a real determinant is constant; that of a complex one turns."""
    of_sign, of_log = g
    share: Any = 0 if of_log is None else of_log
    if of_sign is not None and a.dtype.kind == "c":
        share = share + np.multiply(1j, np.imag(of_sign * ans[0]))
    share = np.expand_dims(share, (-2, -1))
    return cast(np.where(share == 0, 0, share * invoke(inverse_transposed, a)), a)


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


def mirrored(s: Any, a: Any, upper: bool) -> Any:
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
    return mirrored(turned(back) @ inner @ conjugate(back), a, upper)


def between_values(w: Any) -> Any:
    """``1 / (w_j - w_i)``; 0 on the diagonal and between equal values."""
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    return np.where(gaps == 0, 0, 1 / np.where(gaps == 0, 1, gaps))


def diagonal_of(w: Any) -> Any:
    return np.where(diagonal_mask(w, axes=(-1, -1)), np.expand_dims(w, -1), 0)


def of_eigh(g: Any, ans: Any, a: Any, UPLO: Any = "L") -> Any:
    of_values, of_vectors = g
    w, v = ans
    inner: Any = 0
    if of_values is not None:
        inner = inner + diagonal_of(of_values)
    if of_vectors is not None:
        inner = inner + between_values(w) * (turned(v) @ of_vectors)
    return mirrored(conjugate(v) @ inner @ turned(v), a, UPLO.upper() == "U")


def of_eigvalsh(g: Any, ans: Any, a: Any, UPLO: Any = "L") -> Any:
    return of_eigh((g, None), np.linalg.eigh(a, UPLO), a, UPLO)


def of_eig(g: Any, ans: Any, a: Any) -> Any:
    """Eigenvectors of length 1; what depends on their phase has no gradient."""
    of_values, of_vectors = g
    w, v = ans
    inner: Any = 0
    if of_values is not None:
        inner = inner + diagonal_of(of_values)
    if of_vectors is not None:
        along = np.real(np.sum(of_vectors * v, axis=-2, keepdims=True))
        inner = inner + between_values(w) * (turned(v) @ (of_vectors - along * np.conj(v)))
    return cast(turned(np.linalg.inv(v)) @ inner @ turned(v), a)


def of_eigvals(g: Any, ans: Any, a: Any) -> Any:
    w, v = np.linalg.eig(a)
    by_size = np.take_along_axis(g, np.argsort(ans, -1), -1)
    return of_eig((np.take_along_axis(by_size, np.argsort(np.argsort(w, -1), -1), -1), None), (w, v), a)


def of_pinv(g: Any, ans: Any, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Golub and Pereyra, 1973; for changes that keep the rank."""
    if hermitian:  # of the lower triangle and its mirror image
        low = triangles.lower(a)
        whole = np.where(diagonal_mask(a), np.real(a), low + adjoint(low))
        return mirrored(of_pinv(g, ans, whole), a, False)
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


def _all_four(g: Any) -> tuple[Any, ...]:
    """Those of solution, residuals, rank and singular values; behind the last one that is read there may be none."""
    return (*g, *(None,) * (4 - len(g)))


def lstsq_of_matrix(g: Any, ans: Any, a: Any, b: Any, rcond: Any = None) -> Any:
    of_solution, of_residuals, _, of_values = _all_four(g)
    inverse, right = np.linalg.pinv(a), _as_columns(b, b)
    found: Any = 0
    if of_solution is not None:
        found = of_pinv(_as_columns(of_solution, b) @ turned(right), inverse, a)
    if of_residuals is not None:
        solution = inverse @ right
        found = found - _of_remainder(of_residuals, a, right, solution) @ turned(solution)
    if of_values is not None:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        found = found + scaled(conjugate(u), of_values) @ conjugate(vh)
    return cast(found, a) if np.ndim(found) else np.zeros_like(a)


def lstsq_of_right(g: Any, ans: Any, a: Any, b: Any, rcond: Any = None) -> Any:
    inverse, right = np.linalg.pinv(a), _as_columns(b, b)
    of_solution, of_residuals, _, _ = _all_four(g)
    found: Any = 0
    if of_solution is not None:
        found = turned(inverse) @ _as_columns(of_solution, b)
    if of_residuals is not None:
        found = found + _of_remainder(of_residuals, a, right, inverse @ right)
    if not np.ndim(found):
        return np.zeros_like(b)
    return cast(found[..., 0] if len(shape_of(b)) == 1 else found, b)


def _of_remainder(g: Any, a: Any, right: Any, solution: Any) -> Any:
    """The cotangent of ``right - a @ solution`` from that of its sums of squares, of which NumPy may give none."""
    columns = counted(right, -1)
    given = np.take(np.concatenate([g, columns * np.zeros_like(g, shape=())]), columns)
    return 2 * given * np.conj(right - a @ solution)


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
