"""Arithmetic on Python numbers that are known only at run time: the meaning is Python's own operator."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import PyMeta
from jitmagic.graph.shapes import SymInt
from jitmagic.ops import elementwise  # noqa: F401 - its rows come first: their rules serve here too
from jitmagic.ops.gradients.special import ERF, ERFC, GAMMA, LGAMMA
from jitmagic.ops.record import Arguments, Inferred, Op, Rules
from jitmagic.ops.registry import by_name, op

__all__ = [
    "ABS",
    "COMPLEX_FUNCTIONS",
    "COUNT",
    "EXTREMES",
    "NUMBER_FUNCTIONS",
    "NUMBER_OPS",
    "PARTS",
    "ROUND",
    "ROUND_TO",
    "SIZE",
    "SLICE_BOUND",
    "TO_COMPLEX",
    "TO_FLOAT",
    "TO_INT",
    "TRUTH",
    "NumberOp",
    "number_type",
]

_RANK = (bool, int, float, complex)


def number_type(value: Any) -> type:
    """The Python class of an operand: a number, a description or a symbolic int."""
    if isinstance(value, PyMeta):
        return value.type
    return int if isinstance(value, SymInt) else type(value)


@dataclass(frozen=True, slots=True)
class NumberOp:
    """A Python operator on Python numbers and the class of its result."""

    op: Op
    result: Callable[..., type]

    @staticmethod
    def meta(kind: type) -> PyMeta:
        return PyMeta(kind)


def _widest(*kinds: type) -> type:
    widest = max(kinds, key=_RANK.index)
    return int if widest is bool else widest


def _quotient(*kinds: type) -> type:
    return complex if complex in kinds else float


def _power(*kinds: type) -> type:
    """A float to a whole power; a power that is a float may give a complex number. Complex numbers stay complex."""
    if complex in kinds:
        return complex
    if kinds != (float, int):
        raise Unsupported("operator", "** between Python numbers")
    return float


def _ordered(result: Callable[..., type]) -> Callable[..., type]:
    """For operators that complex numbers do not have: Python says so."""

    def rule(*kinds: type) -> type:
        if complex in kinds:
            raise Unsupported("operator", "an operator that complex numbers do not have")
        return result(*kinds)

    return rule


# The rules are those of the array operations of the same meaning.
LIKE = {
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "neg": "negative",
    "pos": "positive",
    "pow": "power",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "round_to": "round",
    "abs": "absolute",
}
OWN: dict[str, Rules | None] = {
    "erf": ERF,
    "erfc": ERFC,
    "gamma": GAMMA,
    "lgamma": LGAMMA,
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne")),
}


def _rules_of(name: str) -> Rules | None:
    return OWN[name] if name in OWN else by_name(LIKE.get(name, name)).vjp


def _row(name: str, function: Callable[..., Any], result: Callable[..., type]) -> NumberOp:
    def meta(call: Arguments) -> Inferred:
        return Inferred(PyMeta(result(*(number_type(a) for a in call.args))))

    vjp = _rules_of(name.removeprefix("math_"))
    places = f"{', '.join('ab'[: len(vjp)])}, /" if vjp else ""  # a rule for each: ``*args`` would share the last
    return NumberOp(op(f"py_{name}", _own(function), meta=meta, vjp=vjp, signature=places), result)


def _own(function: Callable[..., Any]) -> Callable[..., Any]:
    """A callable of its own, so that the row does not claim ``operator.add`` and ``math.sqrt`` for itself."""

    def call(*args: Any) -> Any:
        return function(*args)

    call.__name__ = getattr(function, "__name__", "call")
    return call


def _bool(*kinds: type) -> type:
    return bool


def _float(*kinds: type) -> type:
    return float


NUMBER_OPS: dict[str, NumberOp] = {
    name: _row(name, getattr(operator, name), result)
    for name, result in {
        "add": _widest,
        "sub": _widest,
        "mul": _widest,
        "truediv": _quotient,
        "floordiv": _ordered(_widest),
        "mod": _ordered(_widest),
        "neg": _widest,
        "pos": _widest,
        "pow": _power,
        "lt": _ordered(_bool),
        "le": _ordered(_bool),
        "gt": _ordered(_bool),
        "ge": _ordered(_bool),
        "eq": _bool,
        "ne": _bool,
    }.items()
}


def _first(*kinds: type) -> type:
    return int if kinds[0] is bool else kinds[0]


def _like_first(call: Arguments) -> Inferred:
    return Inferred(PyMeta(number_type(call.args[0])))


def _size(*kinds: type) -> type:
    return float if kinds[0] is complex else _first(*kinds)


ABS = _row("abs", operator.abs, _size)
EXTREMES = {
    name: NumberOp(op(f"py_{name}", _own(function), meta=_like_first), _first)
    for name, function in (("max", max), ("min", min))
}


def _part(name: str, function: Callable[..., Any], kind: type) -> NumberOp:
    return NumberOp(op(f"py_{name}", _own(function), meta=lambda call: Inferred(PyMeta(kind))), lambda *kinds: kind)


PARTS = {  # of a complex number
    "real": _part("real", operator.attrgetter("real"), float),
    "imag": _part("imag", operator.attrgetter("imag"), float),
    "conjugate": _part("conjugate", operator.methodcaller("conjugate"), complex),
}

# What may raise for some numbers (inf, nan), and ``round(x, digits)``.
TO_INT = NumberOp(op("py_int", _own(int), meta=lambda call: Inferred(PyMeta(int)), raises=True), lambda *kinds: int)
TO_COMPLEX = NumberOp(
    op("py_complex", _own(complex), meta=lambda call: Inferred(PyMeta(complex))), lambda *kinds: complex
)
TO_FLOAT = NumberOp(op("py_float", _own(float), meta=lambda call: Inferred(PyMeta(float)), raises=True), _float)
ROUND = NumberOp(op("py_round", _own(round), meta=lambda call: Inferred(PyMeta(int)), raises=True), lambda *kinds: int)
ROUND_TO = _row("round_to", round, _first)


def _slice_bound(value: int, size: int) -> int:
    """Where the bound of a slice that goes forward lies in an axis of ``size`` elements."""
    return slice(None, value).indices(size)[1]


SLICE_BOUND = NumberOp(op("py_slice_bound", _slice_bound, meta=lambda call: Inferred(PyMeta(int))), lambda *kinds: int)


def _as_size(value: int) -> int:
    """The number of elements of an axis. Raises as NumPy does for a negative one."""
    if value < 0:
        raise ValueError("negative dimensions are not allowed")
    return value


def _as_count(value: int) -> int:
    """The length of a range from 0."""
    return max(value, 0)


def _integer(call: Arguments) -> Inferred:
    return Inferred(PyMeta(int))


SIZE = NumberOp(op("py_size", _as_size, meta=_integer, raises=True), lambda *kinds: int)
COUNT = NumberOp(op("py_count", _as_count, meta=_integer), lambda *kinds: int)

TRUTH = op("py_truth", _own(operator.truth), meta=lambda call: Inferred(PyMeta(bool)), raises=True)

_MATH = (
    "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
    "hypot pow fabs copysign fmod erf erfc gamma lgamma degrees radians cbrt exp2"
)
NUMBER_FUNCTIONS: dict[Any, NumberOp] = {
    getattr(math, name): _row(f"math_{name}", getattr(math, name), _float) for name in _MATH.split(" ")
}
NUMBER_FUNCTIONS |= {
    getattr(math, name): NumberOp(
        op(f"py_math_{name}", _own(getattr(math, name)), meta=lambda call: Inferred(PyMeta(int)), raises=True),
        lambda *kinds: int,
    )
    for name in ("floor", "ceil", "trunc")
}
NUMBER_FUNCTIONS |= {
    getattr(math, name): NumberOp(
        op(f"py_math_{name}", _own(getattr(math, name)), meta=lambda call: Inferred(PyMeta(bool))), _bool
    )
    for name in ("isnan", "isinf", "isfinite")
}

# Functions of complex numbers. They have no derivative here: who differentiates leaves them to Python.
_CMATH = (
    "exp sqrt log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh rect phase isnan isinf isfinite"
)
_OTHER_RESULTS: dict[str, type] = {"phase": float, "isnan": bool, "isinf": bool, "isfinite": bool}


def _complex_row(name: str) -> NumberOp:
    result = _OTHER_RESULTS.get(name, complex)
    row = op(f"py_cmath_{name}", _own(getattr(cmath, name)), meta=lambda call: Inferred(PyMeta(result)), raises=True)
    return NumberOp(row, lambda *kinds: result)


COMPLEX_FUNCTIONS: dict[Any, NumberOp] = {getattr(cmath, name): _complex_row(name) for name in _CMATH.split(" ")}
