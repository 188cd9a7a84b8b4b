"""Takes nothing, gives the rows of NumPy's ufuncs of arithmetic, bits and functions of a real variable.

A row has a ``Pointwise`` lowering only where the plain operation has NumPy's exact bits; every other ufunc runs NumPy's
own inner loop. A ufunc that this NumPy does not have gets no row.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import describe
from jitmagic.ops.gradients import elementwise, zero
from jitmagic.ops.gradients.elementwise import entry
from jitmagic.ops.gradients.pointwise import (
    among_larger,
    among_larger_numbers,
    among_smaller,
    among_smaller_numbers,
    by_log_share,
    cosine_of_arcsine,
    exponent_of_power,
    finite_divisor,
    modulus,
    of_base,
    of_divisor,
    unit,
)
from jitmagic.ops.lowering import InnerLoop, Lowering, Pointwise
from jitmagic.ops.record import Arguments, Form, Inferred, Op, Rules, Sample
from jitmagic.ops.registry import by_name, op
from jitmagic.ops.samples import integers, reals
from jitmagic.ops.ufuncs import ufunc_arguments, ufunc_rule

__all__ = ["binary_forms", "ufunc_row"]

INNER = InnerLoop()
ALL = frozenset({"divide", "over", "under", "invalid"})
NOTHING: frozenset[str] = frozenset()
OPTIONS = "out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True, signature=None"


def ufunc_row(
    name: str,
    *,
    lower: Lowering = INNER,
    forms: tuple[Form, ...] = (),
    warns: frozenset[str] = ALL,
    samples: tuple[Sample, ...] = (),
    raises: bool | Callable[[Arguments], bool] = False,
    vjp: Rules | None = None,
    note: str = "",
) -> None:
    """Register the ufunc ``np.<name>``, if this NumPy has it."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc):
        return
    inputs = ", ".join(f"x{i + 1}" for i in range(ufunc.nin))
    op(
        name,
        ufunc,
        meta=ufunc_rule,
        signature=f"{inputs}, /, {OPTIONS}",
        adapt=lambda *args, **kwargs: ufunc_arguments(ufunc, args, kwargs),
        forms=forms,
        warns=warns,
        lower=lower,
        samples=samples or reals(ufunc.nin, 0.1, 0.9),
        raises=raises,
        vjp=vjp,
        note=note,
    )


def swapped(a: Any, b: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``b.__radd__(a)`` means ``a + b``."""
    return (b, a), {}


def in_place(a: Any, b: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``a += b`` writes into ``a``."""
    return (a, b), {"out": a}


def binary_forms(stem: str) -> tuple[Form, ...]:
    """``__add__``, ``__radd__`` and ``__iadd__`` for ``"add"``."""
    return (Form(f"__{stem}__"), Form(f"__r{stem}__", swapped), Form(f"__i{stem}__", in_place))


# Rows: name, exact loop (None: NumPy's inner loop), forms, warnings, samples, and the rules of the derivative.
Row = tuple[str, Pointwise | None, tuple[Form, ...], frozenset[str], tuple[Sample, ...], Rules | None]

STEPS: Rules = (zero(0), zero(1))  # piecewise constant
STEP: Rules = (zero(0),)


def same(g: Any, *operands: Any) -> Any:
    return g


def turned(g: Any, *operands: Any) -> Any:
    return -g


SUM = elementwise(same, same, damped=False)
DIFFERENCE = elementwise(same, turned, damped=False)
PRODUCT = elementwise(lambda g, ans, x, y: g * y, lambda g, ans, x, y: g * x, factors=(1, 0))
QUOTIENT = elementwise(lambda g, ans, x, y: g / y, of_divisor, factors=(1, None))
REMAINDER = elementwise(same, lambda g, ans, x, y: -g * np.floor_divide(x, y))
MODULUS = elementwise(modulus)

ARITHMETIC: tuple[Row, ...] = (
    ("add", Pointwise("a + b", "iufc"), binary_forms("add"), ALL, reals(2), SUM),
    ("subtract", Pointwise("a - b", "iufc"), binary_forms("sub"), ALL, reals(2), DIFFERENCE),
    ("multiply", Pointwise("a * b", "iuf"), binary_forms("mul"), ALL, reals(2), PRODUCT),
    ("true_divide", Pointwise("a / b", "f"), binary_forms("truediv"), ALL, reals(2, 1, 3), QUOTIENT),
    ("negative", Pointwise("-a", "iufc"), (Form("__neg__"),), NOTHING, reals(), elementwise(turned, damped=False)),
    ("positive", Pointwise("a", "iufc"), (Form("__pos__"),), NOTHING, reals(), elementwise(same, damped=False)),
    ("absolute", Pointwise("abs(a)", "iuf"), (Form("__abs__"),), ALL, reals(), MODULUS),
    ("fabs", Pointwise("abs(a)", "f"), (), NOTHING, reals(), MODULUS),
    ("square", Pointwise("a * a", "iuf"), (), ALL, reals(), elementwise(lambda g, ans, x: 2 * g * x)),
    ("reciprocal", Pointwise("1 / a", "f"), (), ALL, reals(1, 1, 3), elementwise(lambda g, ans, x: -g * ans * ans)),
    (
        "sqrt",
        Pointwise("sqrt(a)", "f"),
        (),
        ALL,
        reals(1, 0, 9),
        elementwise(lambda g, ans, x: 0.5 * g / finite_divisor(ans)),
    ),
    (
        "sign",
        Pointwise("1.0 if a > 0 else (-1.0 if a < 0 else (0.0 if a == 0 else a))", "f"),
        (),
        NOTHING,
        reals(),
        elementwise(unit),
    ),
    (
        "conjugate",
        Pointwise("a", "iuf"),
        (Form("conj"), Form("conjugate")),
        NOTHING,
        reals(),
        elementwise(lambda g, ans, x: np.conj(g), damped=False),
    ),
    (
        "copysign",
        Pointwise("copysign(a, b)", "f"),
        (),
        NOTHING,
        reals(2),
        (*elementwise(lambda g, ans, x, y: g * np.sign(x) * np.copysign(1, y)), zero(1)),
    ),
    ("floor_divide", None, binary_forms("floordiv"), ALL, reals(2, 1, 9), STEPS),
    ("remainder", None, binary_forms("mod"), ALL, reals(2, 1, 9), REMAINDER),
    ("fmod", None, (), ALL, reals(2, 1, 9), elementwise(same, lambda g, ans, x, y: -g * np.trunc(x / y))),
    (
        "divmod",
        None,
        (Form("__divmod__"), Form("__rdivmod__", swapped)),
        ALL,
        reals(2, 1, 9),
        entry(1, elementwise(same, lambda g, ans, x, y: -g * np.floor_divide(x, y))),
    ),
    (
        "maximum",
        Pointwise("a if a > b else b", "iu"),
        (),
        NOTHING,
        reals(2),
        elementwise(
            lambda g, ans, x, y: among_larger(g, x, y), lambda g, ans, x, y: among_larger(g, y, x), damped=False
        ),
    ),
    (
        "minimum",
        Pointwise("a if a < b else b", "iu"),
        (),
        NOTHING,
        reals(2),
        elementwise(
            lambda g, ans, x, y: among_smaller(g, x, y), lambda g, ans, x, y: among_smaller(g, y, x), damped=False
        ),
    ),
    (
        "fmax",
        Pointwise("a if a > b else b", "iu"),
        (),
        NOTHING,
        reals(2),
        elementwise(
            lambda g, ans, x, y: among_larger_numbers(g, x, y),
            lambda g, ans, x, y: among_larger_numbers(g, y, x),
            damped=False,
        ),
    ),
    (
        "fmin",
        Pointwise("a if a < b else b", "iu"),
        (),
        NOTHING,
        reals(2),
        elementwise(
            lambda g, ans, x, y: among_smaller_numbers(g, x, y),
            lambda g, ans, x, y: among_smaller_numbers(g, y, x),
            damped=False,
        ),
    ),
    ("gcd", None, (), NOTHING, integers(2), None),
    ("lcm", None, (), NOTHING, integers(2), None),
)

ROUNDING: tuple[Row, ...] = (
    ("floor", Pointwise("floor(a)", "f"), (), NOTHING, reals(), STEP),
    ("ceil", Pointwise("ceil(a)", "f"), (), NOTHING, reals(), STEP),
    ("trunc", Pointwise("trunc(a)", "f"), (), NOTHING, reals(), STEP),
    ("rint", Pointwise("rint(a)", "f"), (), NOTHING, reals(), STEP),
    ("modf", None, (), ALL, reals(), entry(0, elementwise(same, damped=False))),
    ("frexp", None, (), ALL, reals(), entry(0, elementwise(lambda g, ans, x: np.ldexp(g, -ans[1])))),
    ("spacing", None, (), ALL, reals(), STEP),
    ("nextafter", None, (), ALL, reals(2), (*elementwise(same, damped=False), zero(1))),
    (
        "ldexp",
        None,
        (),
        ALL,
        (Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 4, (4, 3)))),),
        elementwise(lambda g, ans, x, n: np.ldexp(g, n)),
    ),
)

BITS: tuple[Row, ...] = (
    ("bitwise_and", Pointwise("a & b", "biu"), binary_forms("and"), NOTHING, integers(2), None),
    ("bitwise_or", Pointwise("a | b", "biu"), binary_forms("or"), NOTHING, integers(2), None),
    ("bitwise_xor", Pointwise("a ^ b", "biu"), binary_forms("xor"), NOTHING, integers(2), None),
    ("invert", Pointwise("~a", "iu"), (Form("__invert__"),), NOTHING, integers(), None),
    ("left_shift", None, binary_forms("lshift"), NOTHING, integers(2), None),
    ("right_shift", None, binary_forms("rshift"), NOTHING, integers(2), None),
    ("bitwise_count", None, (), NOTHING, integers(), None),
)

LN_2 = math.log(2)
LN_10 = math.log(10)
TO_DEGREES = elementwise(lambda g, ans, x: g * (180 / math.pi))
TO_RADIANS = elementwise(lambda g, ans, x: g * (math.pi / 180))
SHARE = by_log_share(np.exp)
SHARE_2 = by_log_share(np.exp2)
POWER = elementwise(of_base, exponent_of_power)

# Functions whose bits are those of NumPy's own loops: name, a range in which they are tame, the rules.
FUNCTIONS: tuple[tuple[str, float, float, Rules], ...] = (
    ("exp", -3, 3, elementwise(lambda g, ans, x: g * ans)),
    ("exp2", -3, 3, elementwise(lambda g, ans, x: g * ans * LN_2)),
    ("expm1", -3, 3, elementwise(lambda g, ans, x: g * (ans + 1))),
    ("log", 0.1, 9, elementwise(lambda g, ans, x: g / x)),
    ("log2", 0.1, 9, elementwise(lambda g, ans, x: g / x / LN_2)),
    ("log10", 0.1, 9, elementwise(lambda g, ans, x: g / x / LN_10)),
    ("log1p", -0.5, 9, elementwise(lambda g, ans, x: g / (1 + x))),
    ("cbrt", -3, 3, elementwise(lambda g, ans, x: g / finite_divisor(3 * ans * ans))),
    ("sin", -3, 3, elementwise(lambda g, ans, x: g * np.cos(x))),
    ("cos", -3, 3, elementwise(lambda g, ans, x: -g * np.sin(x))),
    ("tan", -1, 1, elementwise(lambda g, ans, x: g * (1 + ans * ans))),
    ("arcsin", -0.9, 0.9, elementwise(lambda g, ans, x: g / finite_divisor(cosine_of_arcsine(x)))),
    ("arccos", -0.9, 0.9, elementwise(lambda g, ans, x: -g / finite_divisor(cosine_of_arcsine(x)))),
    ("arctan", -3, 3, elementwise(lambda g, ans, x: g / (1 + x * x))),
    ("sinh", -3, 3, elementwise(lambda g, ans, x: g * np.cosh(x))),
    ("cosh", -3, 3, elementwise(lambda g, ans, x: g * np.sinh(x))),
    ("tanh", -3, 3, elementwise(lambda g, ans, x: g * (1 - ans * ans))),
    ("arcsinh", -3, 3, elementwise(lambda g, ans, x: g / np.sqrt(x * x + 1))),
    ("arccosh", 1.1, 9, elementwise(lambda g, ans, x: g / finite_divisor(np.sqrt(x - 1) * np.sqrt(x + 1)))),
    ("arctanh", -0.9, 0.9, elementwise(lambda g, ans, x: g / (1 - x * x))),
    ("degrees", -3, 3, TO_DEGREES),
    ("radians", -3, 3, TO_RADIANS),
    ("deg2rad", -3, 3, TO_RADIANS),
    ("rad2deg", -3, 3, TO_DEGREES),
    (
        "arctan2",
        -3,
        3,
        elementwise(
            lambda g, ans, y, x: g * x / finite_divisor(x * x + y * y),
            lambda g, ans, y, x: -g * y / finite_divisor(x * x + y * y),
        ),
    ),
    (
        "hypot",
        -3,
        3,
        elementwise(
            lambda g, ans, x, y: g * x / finite_divisor(ans),
            lambda g, ans, x, y: g * y / finite_divisor(ans),
        ),
    ),
    ("logaddexp", -3, 3, elementwise(lambda g, ans, x, y: SHARE(g, ans, x), lambda g, ans, x, y: SHARE(g, ans, y))),
    (
        "logaddexp2",
        -3,
        3,
        elementwise(lambda g, ans, x, y: SHARE_2(g, ans, x), lambda g, ans, x, y: SHARE_2(g, ans, y)),
    ),
    ("float_power", 0.1, 3, POWER),
    ("heaviside", -3, 3, (zero(0), *elementwise(None, lambda g, ans, x, h: np.where(x == 0, g, 0))[1:])),
)

NOTES: dict[str, str] = {
    "absolute": "derivative 0 at 0",
    "fabs": "derivative 0 at 0",
    "sign": "derivative 0, also at 0",
    "copysign": "derivative 0 at 0",
    "sqrt": "the derivative at 0 counts as 0",
    "cbrt": "the derivative at 0 counts as 0",
    "arcsin": "the derivative at -1 and 1 counts as 0",
    "arccos": "the derivative at -1 and 1 counts as 0",
    "arccosh": "the derivative at 1 counts as 0",
    "hypot": "the derivative at (0, 0) counts as 0",
    "arctan2": "the derivative at (0, 0) counts as 0",
    "maximum": "equal operands get half of the gradient each",
    "minimum": "equal operands get half of the gradient each",
    "fmax": "equal operands get half of the gradient each",
    "fmin": "equal operands get half of the gradient each",
    "float_power": "derivatives at base 0 count as 0 where the power is finite",
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "floor_divide", "spacing"), "derivative 0, also at the steps"),
    "remainder": "derivative 1 by the first operand, also at the steps",
    "fmod": "derivative 1 by the first operand, also at the steps",
    "modf": "derivative 1 of the fraction, also at the steps",
    "heaviside": "derivative 0 by the first operand, also at 0",
}


def _raises_for_negative(call: Arguments) -> bool:
    """Integers cannot be raised to negative integer powers."""
    metas = [describe(a) for a in call.args[:2]]
    kinds = [m.dtype.kind if isinstance(m, ArrayMeta) else "i" if m and issubclass(m.type, int) else "f" for m in metas]
    constant = type(call.args[1]) is int and call.args[1] >= 0
    return not constant and kinds[0] in "iub" and kinds[1] == "i"


for _name, _lower, _forms, _warns, _samples, _vjp in (*ARITHMETIC, *ROUNDING, *BITS):
    ufunc_row(
        _name,
        lower=_lower or INNER,
        forms=_forms,
        warns=_warns,
        samples=_samples,
        vjp=_vjp,
        note=NOTES.get(_name, ""),
    )
for _name, _low, _high, _vjp in FUNCTIONS:
    ufunc_row(_name, samples=reals(getattr(np, _name).nin, _low, _high), vjp=_vjp, note=NOTES.get(_name, ""))
ufunc_row(
    "power",
    samples=reals(2, 0.1, 3),
    raises=_raises_for_negative,
    vjp=POWER,
    note="an integer to a negative integer power raises ValueError; "
    "derivatives at base 0 count as 0 where the power is finite",
)


class _Recorder(np.ndarray[Any, Any]):
    """An array that tells which ufunc an operator calls, in place of calling it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc, len(inputs)


def _power_shortcut(base: np.dtype[Any], exponent: Any) -> tuple[np.ufunc, int]:
    """The ufunc behind ``array ** exponent`` and how many operands it takes; NumPy itself is asked."""
    found: tuple[np.ufunc, int] = np.empty(0, base).view(_Recorder) ** exponent
    return found


def _power_stands_for(call: Arguments) -> tuple[Op, tuple[int, ...]] | None:
    base, exponent = call.args[:2]
    if not isinstance(base, ArrayMeta) or base.scalar:
        return None
    known = exponent if type(exponent) in (int, float) else 0
    ufunc, count = _power_shortcut(base.dtype, known)
    return by_name(ufunc.__name__), tuple(range(count))


def _power_rule(call: Arguments) -> Inferred:
    """``a ** b`` as ``ndarray.__pow__`` does it: ``square``, ``sqrt`` and ``reciprocal`` for some exponents."""
    found = _power_stands_for(call)
    row, kept = found if found is not None else (by_name("power"), (0, 1))
    args = tuple(call.args[i] for i in kept)
    return row.infer(args, call.kwargs, call.env)


op(
    "pow",
    operator.pow,
    meta=_power_rule,
    signature="a, b, /",
    forms=(Form("__pow__"), Form("__rpow__", swapped)),
    warns=ALL,
    raises=_raises_for_negative,
    stands_for=_power_stands_for,
    samples=(Sample(lambda rng: (rng.uniform(0.1, 3, (4, 3)), 2)), *reals(2, 0.1, 3)),
    vjp=POWER,
    note="`x**2`, `x**0.5` and `x**-1` run as square, sqrt and reciprocal where NumPy does so",
)


def _ipow_rule(call: Arguments) -> Inferred:
    if call.args[0].scalar:  # scalars are not written to: a new one comes out
        return _power_rule(call)
    row, kept = _power_stands_for(call) or (by_name("power"), (0, 1))
    args = tuple(call.args[i] for i in kept)
    found = row.infer(args, {"out": call.args[0]}, call.env)
    return Inferred(found.meta, same_as=0)


op(
    "ipow",
    operator.ipow,
    meta=_ipow_rule,
    signature="a, b, /",
    forms=(Form("__ipow__"),),
    writes=(0,),
    warns=ALL,
    raises=_raises_for_negative,
    samples=(Sample(lambda rng: (rng.uniform(0.1, 3, (4, 3)), 2)),),
    vjp=POWER,
)
