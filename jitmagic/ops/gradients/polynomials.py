"""Takes the cotangent of the coefficients of a fitted polynomial, gives those of the points and of their weights.

The coefficients are the pseudo-inverse of the powers of ``x``, each row weighed, times the values; the columns are
scaled as NumPy scales them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.linear_algebra import of_pinv
from jitmagic.ops.gradients.picking import of_vander
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast, shape_of

__all__ = ["polyfit_rules"]


def _columns(x: Any) -> Any:
    return np.expand_dims(x, -1) if len(shape_of(x)) == 1 else x


def _of_system(g: Any, ans: Any, x: Any, y: Any, deg: Any, w: Any) -> tuple[Any, Any, Any]:
    """The powers of ``x``, and the cotangents of the weighed system: of its matrix and of its right side."""
    if not isinstance(deg, int):
        raise UserError("np.polyfit has a gradient for a degree, not for a list of powers")
    if isinstance(ans, tuple):
        if any(part is not None for part in g[1:]):
            raise UserError("np.polyfit has a gradient of the coefficients only")
        g, ans = g[0], ans[0]
    powers = np.vander(x, deg + 1)
    matrix, right = (powers, _columns(y)) if w is None else (powers * _columns(w), _columns(y) * _columns(w))
    scale = np.sqrt(np.sum(np.abs(matrix) ** 2, axis=0))
    inverse = np.linalg.pinv(matrix / scale) / _columns(scale)
    return powers, of_pinv(_columns(g) @ turned(right), inverse, matrix), turned(inverse) @ _columns(g)


def of_points(
    g: Any, ans: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    powers, of_matrix, _ = _of_system(g, ans, x, y, deg, w)
    return of_vander(of_matrix if w is None else of_matrix * _columns(w), powers, x)


def of_values(
    g: Any, ans: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    _, _, of_right = _of_system(g, ans, x, y, deg, w)
    found = of_right if w is None else of_right * _columns(w)
    return cast(np.reshape(found, shape_of(y)), y)


def of_weights(
    g: Any, ans: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    powers, of_matrix, of_right = _of_system(g, ans, x, y, deg, w)
    return cast(np.sum(of_matrix * powers, axis=-1) + np.sum(of_right * _columns(y), axis=-1), w)


polyfit_rules = (of_points, of_values, None, None, None, of_weights)
