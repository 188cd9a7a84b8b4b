"""Takes nothing, gives the rules of special functions, of ``math`` and of ``scipy.special``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.gradients.elementwise import elementwise
from jitmagic.ops.gradients.pointwise import bessel_i1
from jitmagic.ops.record import Rules

__all__ = ["ERF", "ERFC", "GAMMA", "LGAMMA", "SPECIAL", "digamma"]

SHIFT = 10
BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma(x: Any) -> Any:
    """The derivative of ``log(gamma(x))``.

    The recurrence up to large arguments, there the asymptotic series, and reflection for negative arguments (NIST
    Digital Library of Mathematical Functions, 5.5.2, 5.11.2 and 5.5.4); relative error below 1e-13.
    """
    negative = x < 0.5
    y = np.where(negative, 1 - x, x)
    total: Any = 0
    for k in range(SHIFT):
        total = total - 1 / (y + k)
    large = y + SHIFT
    total = total + np.log(large) - 0.5 / large
    square = 1 / (large * large)
    series: Any = 0
    for coefficient in reversed(BERNOULLI):
        series = (series + coefficient) * square
    total = total - series
    return np.where(negative, total - np.pi / np.tan(np.pi * np.where(negative, x, 0.25)), total)


TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
ERF = elementwise(lambda g, ans, x: g * TWO_OVER_ROOT_PI * np.exp(-x * x))
ERFC = elementwise(lambda g, ans, x: -g * TWO_OVER_ROOT_PI * np.exp(-x * x))
GAMMA = elementwise(lambda g, ans, x: g * ans * digamma(x))
LGAMMA = elementwise(lambda g, ans, x: g * digamma(x))


def scipy(name: str) -> Callable[..., Any]:
    """A function of ``scipy.special``, looked up when it is called: only a call of SciPy's leads here."""
    return lambda *args: getattr(sys.modules["scipy.special"], name)(*args)


def _log(x: Any) -> Any:
    return np.log(np.where(x == 0, 1, x))


TRIGAMMA = elementwise(lambda g, ans, x: g * scipy("zeta")(2.0, x))
SPECIAL: dict[str, Rules] = {
    "erf": ERF,
    "erfc": ERFC,
    "gamma": GAMMA,
    "gammaln": LGAMMA,
    "loggamma": LGAMMA,
    "digamma": TRIGAMMA,
    "psi": TRIGAMMA,
    "expit": elementwise(lambda g, ans, x: g * ans * (1 - ans)),
    "log_expit": elementwise(lambda g, ans, x: g * scipy("expit")(-x)),
    "logit": elementwise(lambda g, ans, x: g / (x * (1 - x))),
    "xlogy": elementwise(lambda g, ans, x, y: g * _log(np.where(x == 0, 1, y)), lambda g, ans, x, y: g * x / y),
    "xlog1py": elementwise(
        lambda g, ans, x, y: g * np.log1p(np.where(x == 0, 0, y)), lambda g, ans, x, y: g * x / (1 + y)
    ),
    "entr": elementwise(lambda g, ans, x: -g * (np.log(x) + 1)),
    "rel_entr": elementwise(lambda g, ans, x, y: g * (np.log(x / y) + 1), lambda g, ans, x, y: -g * x / y),
    "kl_div": elementwise(lambda g, ans, x, y: g * np.log(x / y), lambda g, ans, x, y: g * (1 - x / y)),
    "ndtr": elementwise(lambda g, ans, x: g * np.exp(-x * x / 2) / ROOT_TWO_PI),
    "log_ndtr": elementwise(lambda g, ans, x: g * np.exp(-x * x / 2 - ans) / ROOT_TWO_PI),
    "ndtri": elementwise(lambda g, ans, x: g * ROOT_TWO_PI * np.exp(ans * ans / 2)),
    "erfinv": elementwise(lambda g, ans, x: g / TWO_OVER_ROOT_PI * np.exp(ans * ans)),
    "erfcinv": elementwise(lambda g, ans, x: -g / TWO_OVER_ROOT_PI * np.exp(ans * ans)),
    "j0": elementwise(lambda g, ans, x: -g * scipy("j1")(x)),
    "j1": elementwise(lambda g, ans, x: g * (scipy("j0")(x) - scipy("jv")(2.0, x)) / 2),
    "i0": elementwise(lambda g, ans, x: g * bessel_i1(x)),
    "i1": elementwise(lambda g, ans, x: g * (scipy("i0")(x) + scipy("iv")(2.0, x)) / 2),
    "exp10": elementwise(lambda g, ans, x: g * ans * math.log(10)),
    "exprel": elementwise(
        lambda g, ans, x: g * (np.exp(x) - ans) / np.where(x == 0, 1, x) + np.where(x == 0, g / 2, 0)
    ),
}
