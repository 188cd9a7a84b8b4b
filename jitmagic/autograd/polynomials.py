"""Takes nothing, gives NumPy's functions of polynomials made of others that have rules.

NumPy's own look at the coefficients: zeros in front are left out, so how many there are depends on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.autograd.recorded import raw

__all__ = ["POLYNOMIALS"]


def _vector(p: Any) -> Any:
    if isinstance(raw(p), np.poly1d):
        raise TypeError("np.poly1d has no history")
    found = np.reshape(p, (1,)) if np.ndim(p) == 0 else p
    return found if hasattr(found, "dtype") else np.asarray(found)


def _trimmed(p: Any) -> Any:
    """Without zeros in front; one is left."""
    p = _vector(p)
    places = np.flatnonzero(raw(p))
    return p[int(places[0]) :] if len(places) else p[:1] * 0


def _polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(_trimmed(a1), _trimmed(a2))


def _polydiv(u: Any, v: Any) -> Any:
    """Long division; what is left loses zeros in front."""
    u, v = _vector(u) + 0.0, _vector(v) + 0.0
    dtype = np.result_type(raw(u), raw(v))
    n, steps = len(v) - 1, len(u) - len(v) + 1
    scale = 1.0 / v[0]
    rest, quotient = np.multiply(u, 1, dtype=dtype), []
    for k in range(steps):
        d = scale * rest[k]
        quotient.append(d)
        rest = np.concatenate([rest[:k], rest[k : k + n + 1] - d * v, rest[k + n + 1 :]])
    while np.allclose(raw(rest)[0], 0, rtol=1e-14) and len(rest) > 1:
        rest = rest[1:]
    return (np.stack(quotient) if quotient else np.zeros(1, dtype)), rest


def _roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix; roots at 0 have none of their own."""
    p = _vector(p)
    if np.ndim(p) != 1:
        raise ValueError("Input must be a rank-1 array.")
    places = np.flatnonzero(raw(p))
    if not len(places):
        return np.array([])
    first, last = int(places[0]), int(places[-1])
    behind = len(p) - last - 1
    p = p[first : last + 1]
    if len(p) < 2:
        return np.hstack((np.array([]), np.zeros(behind)))
    below = np.eye(len(p) - 2, len(p) - 1, dtype=raw(p).dtype)
    found = np.linalg.eigvals(np.concatenate([np.expand_dims(-p[1:] / p[0], 0), below]))
    return np.hstack((found, np.zeros(behind, raw(found).dtype)))


def _poly(seq_of_zeros: Any) -> Any:
    """The product of ``(x - zero)``, real if the zeros come in conjugate pairs."""
    zeros = _vector(seq_of_zeros)
    if np.ndim(zeros) == 2:
        zeros = np.linalg.eigvals(zeros)
    if not len(zeros):
        return 1.0
    found = np.ones(1, raw(zeros).dtype)
    for zero in zeros:
        found = np.convolve(found, np.stack([np.ones_like(raw(zero)), -zero]))
    data = raw(zeros)
    if data.dtype.kind == "c" and np.all(np.sort(data) == np.sort(data.conjugate())):
        return np.real(found).copy()
    return found


POLYNOMIALS: dict[Any, Any] = {np.polymul: _polymul, np.polydiv: _polydiv, np.roots: _roots, np.poly: _poly}
