"""Takes nothing, gives the rows of NumPy's ufuncs of arithmetic, bits and functions of a real variable.

A row has a ``Pointwise`` lowering only where the plain operation has NumPy's exact bits; every other ufunc runs NumPy's
own inner loop. A ufunc that this NumPy does not have gets no row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import describe
from jitmagic.ops.lowering import InnerLoop, Lowering, Pointwise
from jitmagic.ops.record import Arguments, Form, Inferred, Op, Sample
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


# Rows: name, exact loop (None: NumPy's inner loop), forms, warnings, samples.
Row = tuple[str, Pointwise | None, tuple[Form, ...], frozenset[str], tuple[Sample, ...]]

ARITHMETIC: tuple[Row, ...] = (
    ("add", Pointwise("a + b", "iufc"), binary_forms("add"), ALL, reals(2)),
    ("subtract", Pointwise("a - b", "iufc"), binary_forms("sub"), ALL, reals(2)),
    ("multiply", Pointwise("a * b", "iuf"), binary_forms("mul"), ALL, reals(2)),
    ("true_divide", Pointwise("a / b", "f"), binary_forms("truediv"), ALL, reals(2, 1, 3)),
    ("negative", Pointwise("-a", "iufc"), (Form("__neg__"),), NOTHING, reals()),
    ("positive", Pointwise("a", "iufc"), (Form("__pos__"),), NOTHING, reals()),
    ("absolute", Pointwise("abs(a)", "iuf"), (Form("__abs__"),), ALL, reals()),
    ("fabs", Pointwise("abs(a)", "f"), (), NOTHING, reals()),
    ("square", Pointwise("a * a", "iuf"), (), ALL, reals()),
    ("reciprocal", Pointwise("1 / a", "f"), (), ALL, reals(1, 1, 3)),
    ("sqrt", Pointwise("sqrt(a)", "f"), (), ALL, reals(1, 0, 9)),
    ("sign", Pointwise("1.0 if a > 0 else (-1.0 if a < 0 else (0.0 if a == 0 else a))", "f"), (), NOTHING, reals()),
    ("conjugate", Pointwise("a", "iuf"), (Form("conj"), Form("conjugate")), NOTHING, reals()),
    ("copysign", Pointwise("copysign(a, b)", "f"), (), NOTHING, reals(2)),
    ("floor_divide", None, binary_forms("floordiv"), ALL, reals(2, 1, 9)),
    ("remainder", None, binary_forms("mod"), ALL, reals(2, 1, 9)),
    ("fmod", None, (), ALL, reals(2, 1, 9)),
    ("divmod", None, (Form("__divmod__"), Form("__rdivmod__", swapped)), ALL, reals(2, 1, 9)),
    ("maximum", Pointwise("a if a > b else b", "iu"), (), NOTHING, reals(2)),
    ("minimum", Pointwise("a if a < b else b", "iu"), (), NOTHING, reals(2)),
    ("fmax", Pointwise("a if a > b else b", "iu"), (), NOTHING, reals(2)),
    ("fmin", Pointwise("a if a < b else b", "iu"), (), NOTHING, reals(2)),
    ("gcd", None, (), NOTHING, integers(2)),
    ("lcm", None, (), NOTHING, integers(2)),
)

ROUNDING: tuple[Row, ...] = (
    ("floor", Pointwise("floor(a)", "f"), (), NOTHING, reals()),
    ("ceil", Pointwise("ceil(a)", "f"), (), NOTHING, reals()),
    ("trunc", Pointwise("trunc(a)", "f"), (), NOTHING, reals()),
    ("rint", Pointwise("rint(a)", "f"), (), NOTHING, reals()),
    ("modf", None, (), ALL, reals()),
    ("frexp", None, (), ALL, reals()),
    ("spacing", None, (), ALL, reals()),
    ("nextafter", None, (), ALL, reals(2)),
    ("ldexp", None, (), ALL, (Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 4, (4, 3)))),)),
)

BITS: tuple[Row, ...] = (
    ("bitwise_and", Pointwise("a & b", "biu"), binary_forms("and"), NOTHING, integers(2)),
    ("bitwise_or", Pointwise("a | b", "biu"), binary_forms("or"), NOTHING, integers(2)),
    ("bitwise_xor", Pointwise("a ^ b", "biu"), binary_forms("xor"), NOTHING, integers(2)),
    ("invert", Pointwise("~a", "iu"), (Form("__invert__"),), NOTHING, integers()),
    ("left_shift", None, binary_forms("lshift"), NOTHING, integers(2)),
    ("right_shift", None, binary_forms("rshift"), NOTHING, integers(2)),
    ("bitwise_count", None, (), NOTHING, integers()),
)

# Functions whose bits are those of NumPy's own loops: name and a range in which they are tame.
FUNCTIONS: tuple[tuple[str, float, float], ...] = (
    ("exp", -3, 3),
    ("exp2", -3, 3),
    ("expm1", -3, 3),
    ("log", 0.1, 9),
    ("log2", 0.1, 9),
    ("log10", 0.1, 9),
    ("log1p", -0.5, 9),
    ("cbrt", -3, 3),
    ("sin", -3, 3),
    ("cos", -3, 3),
    ("tan", -1, 1),
    ("arcsin", -1, 1),
    ("arccos", -1, 1),
    ("arctan", -3, 3),
    ("sinh", -3, 3),
    ("cosh", -3, 3),
    ("tanh", -3, 3),
    ("arcsinh", -3, 3),
    ("arccosh", 1, 9),
    ("arctanh", -0.9, 0.9),
    ("degrees", -3, 3),
    ("radians", -3, 3),
    ("deg2rad", -3, 3),
    ("rad2deg", -3, 3),
    ("arctan2", -3, 3),
    ("hypot", -3, 3),
    ("logaddexp", -3, 3),
    ("logaddexp2", -3, 3),
    ("float_power", 0.1, 3),
    ("heaviside", -3, 3),
)


def _raises_for_negative(call: Arguments) -> bool:
    """Integers cannot be raised to negative integer powers."""
    metas = [describe(a) for a in call.args[:2]]
    kinds = [m.dtype.kind if isinstance(m, ArrayMeta) else "i" if m and issubclass(m.type, int) else "f" for m in metas]
    constant = type(call.args[1]) is int and call.args[1] >= 0
    return not constant and kinds[0] in "iub" and kinds[1] == "i"


for _name, _lower, _forms, _warns, _samples in (*ARITHMETIC, *ROUNDING, *BITS):
    ufunc_row(_name, lower=_lower or INNER, forms=_forms, warns=_warns, samples=_samples)
for _name, _low, _high in FUNCTIONS:
    ufunc_row(_name, samples=reals(getattr(np, _name).nin, _low, _high))
ufunc_row(
    "power",
    samples=reals(2, 0.1, 3),
    raises=_raises_for_negative,
    note="an integer to a negative integer power raises ValueError",
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
)
