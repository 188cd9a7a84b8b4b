"""The error function of real arrays.

W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969): three rational
functions, for ``|x|`` up to 0.46875, up to 4, and beyond.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["erf"]

_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02,
     3.20937758913846947e03),
    (1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03),
)  # fmt: skip
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e00, 6.61191906371416295e01,
     2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03, 2.05107837782607147e03,
     1.23033935479799725e03),
    (1.0, 1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02, 1.62138957456669019e03,
     3.29079923573345963e03, 4.36261909014324716e03, 3.43936767414372164e03, 1.23033935480374942e03),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e00, 1.87295284992346725e00, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
_NEAR_LIMIT, _FAR_LIMIT = 0.46875, 4.0
_LARGEST = 26.0  # beyond it 1 - erf is below the smallest double


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    above, below = coefficients
    top = x * above[0] + above[1]
    bottom = x * below[0] + below[1]
    for a in above[2:]:
        top = top * x + a
    for b in below[2:]:
        bottom = bottom * x + b
    return top / bottom


def erf(x: Any) -> Any:
    """Within 2 ulp of the true value, in the dtype of ``x`` (any shape)."""
    size = np.minimum(np.abs(x), _LARGEST)
    away = np.maximum(size, _NEAR_LIMIT)
    near = x * _ratio(_NEAR, np.minimum(size, _NEAR_LIMIT) ** 2)
    middle = _ratio(_MIDDLE, np.minimum(away, _FAR_LIMIT))
    inverse = 1.0 / np.maximum(size, _FAR_LIMIT) ** 2
    far = (1.0 / math.sqrt(math.pi) - inverse * _ratio(_FAR, inverse)) / np.maximum(size, _FAR_LIMIT)
    rest = np.exp(-away * away) * np.where(size <= _FAR_LIMIT, middle, far)
    return np.where(size <= _NEAR_LIMIT, near, np.copysign(1.0 - rest, x))
