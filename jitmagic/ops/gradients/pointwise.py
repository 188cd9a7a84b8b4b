"""Takes ``g``, the result and the operands of an elementwise operation, gives ``g`` times the derivative.

Short ones stand in the rows. A divisor that becomes infinity is how a derivative that is infinite counts as 0: no NaN
is made that would have to be removed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "among_larger",
    "among_larger_numbers",
    "among_smaller",
    "among_smaller_numbers",
    "bessel_i1",
    "by_log_share",
    "clipped_bounds",
    "clipped_value",
    "cosine_of_arcsine",
    "exponent_of_power",
    "finite_divisor",
    "modulus",
    "of_base",
    "of_divisor",
    "phase",
    "unit",
]


def finite_divisor(d: Any) -> Any:
    """``d`` with infinity in place of 0: what is divided by it becomes 0."""
    return np.where(d == 0, np.inf, d)


def cosine_of_arcsine(x: Any) -> Any:
    """``sqrt(1 - x * x)``, of complex numbers in two factors: the sign of an imaginary part 0 tells the branch."""
    return np.sqrt(-(x - 1)) * np.sqrt(x + 1) if _is_complex(x) else np.sqrt(1 - x * x)


def of_divisor(g: Any, ans: Any, x: Any, y: Any) -> Any:
    """Of ``x / y`` by ``y``."""
    return -g * ans / y


def modulus(g: Any, ans: Any, x: Any) -> Any:
    """Of ``abs(x)``: the sign; 0 at 0."""
    if _is_complex(x):
        return g * np.conj(x) / finite_divisor(ans)
    return g * np.sign(x)


def unit(g: Any, ans: Any, x: Any) -> Any:
    """Of ``sign(x)``: 0 for real numbers; for complex ones it turns with ``x``."""
    if not _is_complex(x):
        return np.zeros_like(x)
    size = finite_divisor(np.abs(x))
    return g / size - np.real(g * x) * np.conj(x) / size**3


def phase(g: Any, ans: Any, x: Any, *rest: Any) -> Any:
    """Of ``angle(x)`` in radians: 0 for real numbers, and at 0."""
    if not _is_complex(x):
        return np.zeros_like(x)
    return g * np.conj(np.multiply(1j, x)) / finite_divisor(np.real(x * np.conj(x)))


def among_larger(g: Any, x: Any, y: Any) -> Any:
    """The part of ``x`` in the cotangent of ``maximum(x, y)``: all, half where they are equal, or nothing."""
    return np.where(x > y, g, np.where(x == y, g / 2, 0))


def among_smaller(g: Any, x: Any, y: Any) -> Any:
    return np.where(x < y, g, np.where(x == y, g / 2, 0))


def among_larger_numbers(g: Any, x: Any, y: Any) -> Any:
    """The same for ``fmax``, which takes a number rather than NaN."""
    return np.where(y != y, g, among_larger(g, x, y))


def among_smaller_numbers(g: Any, x: Any, y: Any) -> Any:
    return np.where(y != y, g, among_smaller(g, x, y))


def clipped_value(g: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
    """Of ``minimum(maximum(x, low), high)`` by ``x``; a bound that is None does not bound."""
    if high is not None:
        g = among_smaller(g, x if low is None else np.maximum(x, low), high)
    return g if low is None else among_larger(g, x, low)


def clipped_bounds(which: int) -> Any:
    """Of the same by ``low`` (1) or ``high`` (2)."""

    def low_product(g: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
        if high is not None:
            g = among_smaller(g, np.maximum(x, low), high)
        return among_larger(g, low, x)

    def high_product(g: Any, ans: Any, x: Any, low: Any, high: Any) -> Any:
        return among_smaller(g, high, x if low is None else np.maximum(x, low))

    return low_product if which == 1 else high_product


def of_base(g: Any, ans: Any, x: Any, p: Any) -> Any:
    """Of ``x ** p`` by ``x``; at 0 it counts as 0 if it is infinite but the power is not (0 < p < 1)."""
    if isinstance(p, int | float):
        if p == 2:
            return 2 * g * x
        if p == 0:
            return np.zeros_like(g)
        return g * p * (finite_divisor(x) if 0 < p < 1 else x) ** (p - 1)
    if _is_complex(x) or _is_complex(p):
        return g * p * x ** np.where(p == 0, 1, p - 1)
    steep = (x == 0) & (p > 0) & (p < 1)
    return g * p * np.where(steep, np.inf, x) ** np.where(p == 0, 1, p - 1)


def exponent_of_power(g: Any, ans: Any, x: Any, p: Any) -> Any:
    """Of ``x ** p`` by ``p``; 0 at ``x == 0``."""
    return g * ans * np.log(np.where(x == 0, 1, x))


def by_log_share(exp: Any) -> Any:
    """Of ``logaddexp`` by operand 0: its share in the sum."""

    def product(g: Any, ans: Any, x: Any) -> Any:
        return g * exp(np.where(x == ans, 0, x - ans))

    return product


NODES = np.cos((np.arange(64) + 0.5) * (np.pi / 128))


def bessel_i1(x: Any) -> Any:
    """The modified Bessel function I1, the derivative of ``i0``.

    I1(x) is the mean of ``exp(x cos t) cos t`` over a period. The midpoint rule with n points errs by about I_n(x)
    (Trefethen and Weideman, "The exponentially convergent trapezoidal rule", 2014): nothing for n = 256 and x up to
    700, where I1 overflows. Four points each have the same ``abs(cos t)``.
    """
    total = 0
    for node in NODES.tolist():
        total = total + node * np.sinh(node * x)
    return total / len(NODES)


def _is_complex(x: Any) -> bool:
    return bool(x.dtype.kind == "c") if hasattr(x, "dtype") else isinstance(x, complex)
