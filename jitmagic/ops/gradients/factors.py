"""Takes the cotangents of the factors of a matrix (``svd``, ``qr``), gives that of the matrix; of stacks too.

Inside, a cotangent is conjugated, so that the formulas are those of textbooks: the result changes by
``Re(trace(g.H @ dA))``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.householder import of_orthogonal, of_reflectors
from jitmagic.ops.gradients.linear_algebra import adjoint, between_values, conjugate, diagonal_of, mirrored, scaled
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast, diagonal_mask, shape_of

__all__ = ["of_qr", "of_svd", "of_svdvals"]


def of_svdvals(g: Any, ans: Any, a: Any, hermitian: bool = False) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    found = scaled(conjugate(u), g) @ conjugate(vh)
    return mirrored(found, a, False) if hermitian else cast(found, a)


def of_svd(
    g: Any, ans: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Vectors beside the square part turn as little as they can; vectors of complex matrices keep their phase."""
    if not compute_uv:
        return of_svdvals(g, ans, a, hermitian)
    of_u, of_s, of_vh = g
    if of_u is None and of_vh is None:
        return np.zeros_like(a) if of_s is None else of_svdvals(of_s, ans[1], a, hermitian)
    u, s, vh = ans
    of_u = None if of_u is None else _of_first(conjugate(of_u), u, shape_of(s)[-1])
    of_v = None if of_vh is None else _of_first(turned(of_vh), adjoint(vh), shape_of(s)[-1])
    u, v = _first(u, shape_of(s)[-1]), _first(adjoint(vh), shape_of(s)[-1])
    found = conjugate(_of_singular_vectors(of_u, of_s, of_v, u, s, v))
    return mirrored(found, a, False) if hermitian else cast(found, a)


def _first(vectors: Any, count: Any) -> Any:
    return vectors[..., :count] if shape_of(vectors)[-1] != count else vectors


def _of_first(g: Any, vectors: Any, count: Any) -> Any:
    """The cotangent of the first ``count`` vectors of a base; the others stay at right angles to them."""
    if shape_of(vectors)[-1] == count:
        return g
    first, others = vectors[..., :count], vectors[..., count:]
    return g[..., :count] - others @ (adjoint(g[..., count:]) @ first)


def _of_singular_vectors(of_u: Any, of_s: Any, of_v: Any, u: Any, s: Any, v: Any) -> Any:
    gaps = between_values(s * s)
    inverse = 1 / np.where(s == 0, np.inf, s)
    inner: Any = 0 if of_s is None else diagonal_of(of_s)
    outer: Any = 0
    if of_u is not None:
        along = adjoint(u) @ of_u
        skew = along - adjoint(along)
        inner = inner + scaled(gaps * skew, s)
        outer = outer + scaled(of_u - u @ along, inverse) @ adjoint(v)
        if u.dtype.kind == "c":  # turning the phases of both vectors changes nothing: the first one's stands for it
            inner = inner + scaled(np.where(diagonal_mask(skew), skew, 0), inverse / 2)
    if of_v is not None:
        along = adjoint(v) @ of_v
        inner = inner + np.expand_dims(s, -1) * (gaps * (along - adjoint(along)))
        outer = outer + scaled(u, inverse) @ adjoint(of_v - v @ along)
    return u @ inner @ adjoint(v) + outer


def of_qr(g: Any, ans: Any, a: Any, mode: str = "reduced") -> Any:
    if mode not in MODES:
        raise UserError(f"np.linalg.qr has no gradient for mode={mode!r}: only for {', '.join(MODES)}")
    rows, columns = shape_of(a)[-2:]
    if mode == "raw":
        (h, tau), (of_h, of_tau) = ans, g
        return cast(conjugate(of_reflectors(turned(_filled(of_h, h)), _filled(of_tau, tau), turned(h), tau)), a)
    if mode == "r":
        q, r = np.linalg.qr(a)
        of_q, of_r = None, g
    else:
        (q, r), (of_q, of_r) = ans, g
    of_q, of_r = _filled(of_q, q), np.triu(_filled(of_r, r))
    if mode == "complete" and rows > columns:
        return cast(conjugate(_of_complete_qr(of_q, of_r, a)), a)
    if rows >= columns:
        return cast(conjugate(_of_tall_qr(of_q, of_r, q, r)), a)
    right = a[..., rows:]
    of_right = of_r[..., rows:]
    left = _of_tall_qr(of_q + right @ adjoint(of_right), of_r[..., :rows], q, r[..., :rows])
    return cast(conjugate(np.concatenate([left, q @ of_right], axis=-1)), a)


MODES = ("reduced", "complete", "r", "raw")


def _filled(g: Any, x: Any) -> Any:
    return np.zeros_like(x) if g is None else conjugate(g)


def _of_tall_qr(of_q: Any, of_r: Any, q: Any, r: Any) -> Any:
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2012."""
    m = r @ adjoint(of_r) - adjoint(of_q) @ q
    low = np.tril(m, -1)
    both = low + adjoint(low) + np.where(diagonal_mask(m), np.real(m), 0)
    return adjoint(np.linalg.solve(r, adjoint(of_q + q @ both)))


def _of_complete_qr(of_q: Any, of_r: Any, a: Any) -> Any:
    """By the reflections of which LAPACK makes Q: how its last columns turn is decided by them alone."""
    h, tau = np.linalg.qr(a, mode="raw")
    factors = turned(h)
    of_vectors, of_tau = of_orthogonal(of_q, factors, tau)
    return of_reflectors(of_r + np.tril(of_vectors, -1), of_tau, factors, tau)
