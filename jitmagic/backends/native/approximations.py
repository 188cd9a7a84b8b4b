"""The functions of ``fastmath``: takes a float64 in LLVM IR, gives arithmetic without branches, which vectorises.

Each is a range reduction and a polynomial, with fused multiplications where a product has to be kept exactly. Terms
are Taylor's, as many as the reduced range needs for half an ulp: no table of fitted constants. NumPy's special values
(NaN, infinities, zeros) are kept; floating-point flags are not.

The reductions are the usual ones: Cody and Waite, *Software Manual for the Elementary Functions* (1980), with the
constants split into as many floats as it takes; powers need the logarithm to about 65 bits, for which sums and products
carry their rounding errors along (Dekker, 1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from jitmagic.backends.native.ulps import ERRORS_ULP

__all__ = ["APPROXIMATIONS", "Real"]

_F64, _I64 = ir.DoubleType(), ir.IntType(64)
# Numba adds its flags where there are none. These let LLVM rearrange nothing, which the exact steps depend on.
_EXACT = ("afn",)
_ROUNDING = 6755399441055744.0  # 1.5 * 2**52: adding it leaves a whole number in the low bits
_ROUNDING_BITS = 0x4338000000000000
LN2 = 0.6931471805599453, 2.3190468138462996e-17
LN2_SHORT = 0.6931471803691238, 1.9082149292705877e-10  # the first has 32 bits, so that multiples of it are exact
HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33


@dataclass(frozen=True, slots=True)
class Real:
    """A float64 under construction, with Python's operators."""

    builder: Any
    value: Any

    def of(self, value: Real | float) -> Real:
        return value if isinstance(value, Real) else Real(self.builder, ir.Constant(_F64, value))

    def __add__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fadd(self.value, self.of(other).value, flags=_EXACT))

    def __sub__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fsub(self.value, self.of(other).value, flags=_EXACT))

    def __mul__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fmul(self.value, self.of(other).value, flags=_EXACT))

    def __truediv__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fdiv(self.value, self.of(other).value, flags=_EXACT))

    def __neg__(self) -> Real:
        return self * -1.0

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """``self * factor + addend``, rounded once."""
        return self.intrinsic("llvm.fma", self.of(factor), self.of(addend))

    def rounded(self) -> Real:
        """The nearest whole number."""
        return self.intrinsic("llvm.rint")

    def magnitude(self) -> Real:
        return self.intrinsic("llvm.fabs")

    def with_sign_of(self, other: Real) -> Real:
        return self.intrinsic("llvm.copysign", other)

    def intrinsic(self, name: str, *others: Real) -> Real:
        values = [self.value, *(o.value for o in others)]
        kind = ir.FunctionType(_F64, [_F64] * len(values))
        module = self.builder.module
        function = module.globals.get(f"{name}.f64") or ir.Function(module, kind, f"{name}.f64")
        return Real(self.builder, self.builder.call(function, values))

    def compare(self, operator: str, other: Real | float) -> Any:
        return self.builder.fcmp_ordered(operator, self.value, self.of(other).value)

    def is_nan(self) -> Any:
        return self.builder.fcmp_unordered("uno", self.value, self.value)

    def where(self, condition: Any, other: Real | float) -> Real:
        """``self if condition else other``."""
        return Real(self.builder, self.builder.select(condition, self.value, self.of(other).value))

    def bits(self) -> Any:
        return self.builder.bitcast(self.value, _I64)

    def from_bits(self, bits: Any) -> Real:
        return Real(self.builder, self.builder.bitcast(bits, _F64))

    def whole_bits(self) -> Any:
        """A whole number, below 2**51, as an integer: vector units lack the conversion."""
        return self.builder.sub((self + _ROUNDING).bits(), _I64(_ROUNDING_BITS))

    def power_of_two(self) -> Real:
        """2 to a whole number between -1022 and 1023."""
        biased = self.builder.add(self.whole_bits(), _I64(1023))
        return self.from_bits(self.builder.shl(biased, _I64(52)))

    def series(self, coefficients: Sequence[float]) -> Real:
        """A polynomial, the highest power first."""
        total = self.of(coefficients[0])
        for coefficient in coefficients[1:]:
            total = total.fma(self, coefficient)
        return total


Pair = tuple[Real, Real]  # a sum that is not carried out: more than 100 bits


def _sum(a: Real, b: Real) -> Pair:
    """``a + b`` and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# ---------------------------------------------------------------- exponentials

_EXP = [1 / math.factorial(n) for n in range(13, 1, -1)]  # of (e**r - 1 - r) / r**2, for |r| <= ln(2) / 2


def _exp_reduced(x: Real, rest: Real | None = None) -> Pair:
    """``e**(x + rest)`` as ``2**k`` and ``e**r - 1``."""
    k = (x * (1 / math.log(2))).rounded()
    r = (-k).fma(LN2_SHORT[1], (-k).fma(LN2_SHORT[0], x))
    if rest is not None:
        r = r + rest
    return k, (r * r).fma(r.series(_EXP), r)


def _scaled(value: Real, k: Real) -> Real:
    """``value * 2**k`` in two steps, for results that are subnormal or overflow."""
    half = (k * 0.5).rounded()
    return value * half.power_of_two() * (k - half).power_of_two()


def _clamped(x: Real, low: float, high: float) -> Real:
    return x.where(x.compare("<", high), high).where(x.compare(">", low), low)


def exp(x: Real) -> Real:
    k, less_one = _exp_reduced(_clamped(x, -746.0, 710.0))
    return x.where(x.is_nan(), _scaled(less_one + 1.0, k))


def exp2(x: Real) -> Real:
    inside = _clamped(x, -1080.0, 1025.0)
    k = inside.rounded()
    r = inside - k
    scaled = r.fma(LN2[0], r * LN2[1])
    return x.where(x.is_nan(), _scaled((scaled * scaled).fma(scaled.series(_EXP), scaled) + 1.0, k))


def _expm1(x: Real) -> Real:
    """For ``-40 <= x <= 709``."""
    k, less_one = _exp_reduced(x)
    scale = k.power_of_two()
    return scale.fma(less_one, scale - 1.0)


def expm1(x: Real) -> Real:
    small = _expm1(_clamped(x, -40.0, 700.0))
    return x.where(x.is_nan(), exp(x).where(x.compare(">", 700.0), small.with_sign_of(x)))


def tanh(x: Real) -> Real:
    size = x.magnitude()
    grown = _expm1((size * 2.0).where(size.compare("<", 20.0), 40.0))
    return x.where(x.is_nan(), (grown / (grown + 2.0)).with_sign_of(x))


# ---------------------------------------------------------------- logarithms

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_ATANH = [2 / n for n in range(23, 1, -2)]  # of 2 * (atanh(s) - s) / s**3 in powers of s**2, for |s| <= 0.172


def _split(x: Real) -> Pair:
    """A positive number as ``2**k`` and ``m`` between the square roots of 1/2 and 2."""
    builder = x.builder
    tiny = x.compare("<", 2.2250738585072014e-308)
    bits = (x * 2.0**54).where(tiny, x).bits()
    above = builder.sub(bits, _I64(_SQRT_HALF_BITS))
    # a logical shift of what was made positive: vector units lack the arithmetic one
    biased = builder.lshr(builder.add(above, _I64(1024 << 52)), _I64(52))
    k = x.from_bits(builder.or_(biased, _I64(0x4330000000000000))) - (2.0**52 + 1024)
    exponent = builder.shl(builder.sub(biased, _I64(1024)), _I64(52))
    return (k - 54.0).where(tiny, k), x.from_bits(builder.sub(bits, exponent))


def _log_of(m: Real) -> Real:
    """For ``m`` around 1."""
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return f - (half - s * (half + z * z.series(_ATANH)))


def _log_special(x: Real, found: Real) -> Real:
    """``found`` for positive finite numbers."""
    inside = found.where(x.compare(">", 0.0), x.of(math.nan).where(x.compare("<", 0.0), -math.inf))
    return inside.where(x.compare("<", math.inf), x)


def _not_nan(x: Real) -> Any:
    return x.builder.fcmp_ordered("ord", x.value, x.value)


def log(x: Real) -> Real:
    k, m = _split(x)
    return _log_special(x, k.fma(LN2_SHORT[0], k.fma(LN2_SHORT[1], _log_of(m))))


def log2(x: Real) -> Real:
    k, m = _split(x)
    return _log_special(x, _log_of(m).fma(1 / math.log(2), k))


def log10(x: Real) -> Real:
    k, m = _split(x)
    return _log_special(x, k.fma(math.log10(2), _log_of(m) * (1 / math.log(10))))


def log1p(x: Real) -> Real:
    """The logarithm of ``1 + x`` and, for what the sum lost, the derivative."""
    u = x + 1.0
    lost = (x - (u - 1.0)).where(x.compare("<", 1.0), (x.of(1.0) - (u - x)))
    found = log(u) + (lost / u).where(x.magnitude().compare("<", 2.0**60), 0.0)
    return x.where(x.compare("==", 0.0), found.where(x.compare(">", -1.0), log(u)))


def _log_pair(x: Real) -> Pair:
    """The logarithm of a positive number with its rounding error."""
    k, m = _split(x)
    f = m - 1.0
    d = f + 2.0
    s = f / d
    s_rest = ((-s).fma(d, f) - s * (f - (d - 2.0))) / d
    z = s * s
    whole, error = _sum(k * LN2_SHORT[0], s * 2.0)
    tail = (s * z * z.series(_ATANH) + s_rest * 2.0) + error
    return _sum(whole, k.fma(LN2_SHORT[1], tail))


def power(x: Real, y: Real) -> Real:
    builder = x.builder
    size = x.magnitude()
    high, low = _log_pair(size)
    product = y * high
    rest = y.fma(high, -product) + y * low
    inside = _clamped(product, -746.0, 710.0)
    rest = rest.where(inside.compare("==", product), 0.0)
    k, less_one = _exp_reduced(inside, rest)
    grows = builder.xor(size.compare(">", 1.0), y.compare("<", 0.0))
    infinite = builder.or_(size.compare("==", math.inf), size.compare("==", 0.0))
    edge = x.of(math.inf).where(grows, 0.0)
    found = edge.where(infinite, _scaled(less_one + 1.0, k))
    found = x.of(1.0).where(size.compare("==", 1.0), found)
    whole = y.compare("==", y.rounded())
    half = y * 0.5
    odd = builder.and_(whole, builder.not_(half.compare("==", half.rounded())))
    found = found.with_sign_of(x).where(odd, found)
    finite = builder.and_(x.compare("<", 0.0), builder.and_(size.compare("<", math.inf), builder.not_(whole)))
    found = x.of(math.nan).where(builder.and_(finite, y.magnitude().compare("<", math.inf)), found)
    found = found.where(builder.and_(_not_nan(x), _not_nan(y)), x + y)
    return x.of(1.0).where(builder.or_(y.compare("==", 0.0), x.compare("==", 1.0)), found)


# ---------------------------------------------------------------- circular functions

_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(8, 0, -1)]  # of (sin(r) - r) / r**3, for |r| <= pi / 4
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(8, 1, -1)]  # of (cos(r) - 1 + r**2 / 2) / r**4


def _turned(x: Real) -> tuple[Any, Real, Real]:
    """The quarter turns taken off (their number as an integer), and sine and cosine of what is left."""
    k = (x * (1 / HALF_PI[0])).rounded()
    r = (-k).fma(HALF_PI[2], (-k).fma(HALF_PI[1], (-k).fma(HALF_PI[0], x)))
    z = r * r
    return k.whole_bits(), (r * z).fma(z.series(_SIN), r), (z * z).fma(z.series(_COS), z.fma(-0.5, 1.0))


def _quarter(turns: Any, sine: Real, cosine: Real) -> Real:
    """The sine after so many quarter turns."""
    builder = sine.builder
    odd = builder.icmp_unsigned("!=", builder.and_(turns, _I64(1)), _I64(0))
    chosen = cosine.where(odd, sine)
    sign = builder.shl(builder.and_(turns, _I64(2)), _I64(62))
    return chosen.from_bits(builder.xor(chosen.bits(), sign))


def sin(x: Real) -> Real:
    return x.where(x.compare("==", 0.0), _quarter(*_turned(x)))


def cos(x: Real) -> Real:
    turns, sine, cosine = _turned(x)
    return _quarter(x.builder.add(turns, _I64(1)), sine, cosine)


def tan(x: Real) -> Real:
    turns, sine, cosine = _turned(x)
    builder = x.builder
    odd = builder.icmp_unsigned("!=", builder.and_(turns, _I64(1)), _I64(0))
    found = (-cosine).where(odd, sine) / sine.where(odd, cosine)
    return x.where(x.compare("==", 0.0), found)


_FUNCTIONS: tuple[Callable[..., Real], ...] = (
    *(exp, exp2, expm1, log, log1p, log2, log10),
    *(power, sin, cos, tan, tanh),
)
APPROXIMATIONS: dict[str, tuple[int, Callable[..., Real]]] = {
    f.__name__: (2 if f is power else 1, f) for f in _FUNCTIONS
}
assert APPROXIMATIONS.keys() == ERRORS_ULP.keys()
