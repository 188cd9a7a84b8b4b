"""Takes one statement's value of a loop and the cotangent of what it is stored in, gives the adjoint statements.

    x[i] * sin(t)   with cotangent g   =>   d_x[i] = d_x[i] + g * sin(t);  d_t = d_t + g * x[i] * cos(t)

Everything is computed in float64. Where a value is finite but its derivative is not, the derivative counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["FLOATS", "Adjoint", "adjoint_of", "is_risky", "number", "wide"]

FLOATS = ("pyfloat", "float64", "float32")


def number(value: float) -> ir.Const:
    return ir.Const(float(value), "float64")


def wide(value: ir.Expr) -> ir.Expr:
    """The value as float64."""
    if isinstance(value, ir.Const):
        return number(value.value)
    return value if value.type == "float64" else ir.Cast(value, "float64")


def binary(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(operator, wide(left), wide(right), "float64")


def times(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return binary("mul", left, right)


def call(name: str, operand: ir.Expr) -> ir.Expr:
    return ir.Unary(f"numpy.{name}", wide(operand), "float64")


def unless_zero(divisor: ir.Expr, value: ir.Expr) -> ir.Expr:
    test = ir.Compare("eq", wide(divisor), number(0.0))
    return ir.Logic("choose", (test, number(0.0), value), "float64")


def adjoint_of(name: str) -> str:
    return f"d_{name}"


Derivative = Callable[[ir.Expr, ir.Expr, ir.Expr], ir.Expr]  # of g, x and the result


def _over(g: ir.Expr, divisor: ir.Expr) -> ir.Expr:
    return unless_zero(divisor, binary("truediv", g, divisor))


def _square(x: ir.Expr) -> ir.Expr:
    return times(x, x)


def _sign(x: ir.Expr) -> ir.Expr:
    below = ir.Logic("choose", (ir.Compare("lt", wide(x), number(0.0)), number(-1.0), number(0.0)), "float64")
    return ir.Logic("choose", (ir.Compare("gt", wide(x), number(0.0)), number(1.0), below), "float64")


def _one_minus(x: ir.Expr) -> ir.Expr:
    return binary("sub", number(1.0), x)


def _one_plus(x: ir.Expr) -> ir.Expr:
    return binary("add", number(1.0), x)


# By the name without its module; both spellings of the inverse functions.
DERIVATIVES: Mapping[str, Derivative] = {
    "neg": lambda g, x, y: times(g, number(-1.0)),
    "negative": lambda g, x, y: times(g, number(-1.0)),
    "abs": lambda g, x, y: times(g, _sign(x)),
    "fabs": lambda g, x, y: times(g, _sign(x)),
    "absolute": lambda g, x, y: times(g, _sign(x)),
    "square": lambda g, x, y: times(g, times(number(2.0), x)),
    "sqrt": lambda g, x, y: _over(times(g, number(0.5)), y),
    "cbrt": lambda g, x, y: _over(g, times(number(3.0), _square(y))),
    "exp": lambda g, x, y: times(g, y),
    "exp2": lambda g, x, y: times(g, times(number(math.log(2.0)), y)),
    "expm1": lambda g, x, y: times(g, _one_plus(y)),
    "log": lambda g, x, y: _over(g, x),
    "log2": lambda g, x, y: _over(g, times(number(math.log(2.0)), x)),
    "log10": lambda g, x, y: _over(g, times(number(math.log(10.0)), x)),
    "log1p": lambda g, x, y: _over(g, _one_plus(x)),
    "sin": lambda g, x, y: times(g, call("cos", x)),
    "cos": lambda g, x, y: times(g, times(number(-1.0), call("sin", x))),
    "tan": lambda g, x, y: times(g, _one_plus(_square(y))),
    "asin": lambda g, x, y: _over(g, call("sqrt", _one_minus(_square(x)))),
    "acos": lambda g, x, y: _over(times(g, number(-1.0)), call("sqrt", _one_minus(_square(x)))),
    "atan": lambda g, x, y: binary("truediv", g, _one_plus(_square(x))),
    "sinh": lambda g, x, y: times(g, call("cosh", x)),
    "cosh": lambda g, x, y: times(g, call("sinh", x)),
    "tanh": lambda g, x, y: times(g, _one_minus(_square(y))),
    "asinh": lambda g, x, y: binary("truediv", g, call("sqrt", _one_plus(_square(x)))),
    "acosh": lambda g, x, y: _over(g, call("sqrt", binary("sub", _square(x), number(1.0)))),
    "atanh": lambda g, x, y: _over(g, _one_minus(_square(x))),
    "reciprocal": lambda g, x, y: times(times(g, number(-1.0)), _square(y)),
    "positive": lambda g, x, y: g,
    "degrees": lambda g, x, y: times(g, number(180.0 / math.pi)),
    "rad2deg": lambda g, x, y: times(g, number(180.0 / math.pi)),
    "radians": lambda g, x, y: times(g, number(math.pi / 180.0)),
    "deg2rad": lambda g, x, y: times(g, number(math.pi / 180.0)),
}
DERIVATIVES = {**DERIVATIVES, **{f"arc{n[1:]}": d for n, d in DERIVATIVES.items() if n[:2] in ("as", "ac", "at")}}
STEPS = frozenset(["floor", "ceil", "rint", "trunc", "sign", "int", "isnan", "isinf", "isfinite", "signbit"])


def is_risky(value: ir.Expr) -> bool:
    """Whether a derivative of it may be infinite: nothing is computed then where the cotangent is 0."""
    if isinstance(value, ir.Binary):
        return value.operator in ("truediv", "pow", "mod") or is_risky(value.left) or is_risky(value.right)
    if isinstance(value, ir.Unary):
        return value.function not in ("neg", "abs") or is_risky(value.operand)
    if isinstance(value, ir.Cast):
        return is_risky(value.operand)
    return isinstance(value, ir.Logic) and any(map(is_risky, value.operands))


@dataclass(slots=True)
class Adjoint:
    """Adjoint statements of values; ``active`` are the names of variables and arrays that have an adjoint."""

    active: frozenset[str]
    serial: int = 0
    made: list[ir.Stmt] = field(default_factory=list)

    def fresh(self, value: ir.Expr) -> ir.Var:
        """A new variable with ``value``."""
        self.serial += 1
        variable = ir.Var(f"g_{self.serial}", "float64")
        self.made.append(ir.Assign(variable, value))
        return variable

    def is_active(self, value: ir.Expr) -> bool:
        """Whether the value depends, as a real number, on anything that has an adjoint."""
        return any(name in self.active for name in flowing(value))

    def back(self, value: ir.Expr, g: ir.Expr) -> None:
        """Hand ``g``, the cotangent of ``value``, on to what it is computed from."""
        if not self.is_active(value):
            return
        _BACK[type(value)](self, value, g)

    def add(self, target: ir.Var, g: ir.Expr) -> None:
        self.made.append(ir.Assign(target, binary("add", target, g)))

    def var(self, value: ir.Var, g: ir.Expr) -> None:
        self.add(ir.Var(adjoint_of(value.name), "float64"), g)

    def load(self, value: ir.Load, g: ir.Expr) -> None:
        name = adjoint_of(value.array)
        total = binary("add", ir.Load(name, value.index, "float64"), g)
        self.made.append(ir.Store(name, value.index, total))

    def cast(self, value: ir.Cast, g: ir.Expr) -> None:
        self.back(value.operand, g)

    def unary(self, value: ir.Unary, g: ir.Expr) -> None:
        name = value.function.rpartition(".")[2]
        if name in STEPS:
            return
        rule = DERIVATIVES.get(name)
        if rule is None:
            raise Unsupported("no-derivative", f"{value.function} in a loop")
        self.back(value.operand, self.fresh(rule(g, wide(value.operand), wide(value))))

    def binary(self, value: ir.Binary, g: ir.Expr) -> None:
        rule = _BINARY.get(value.operator)
        if rule is None:
            raise Unsupported("no-derivative", f"the operator {value.operator} in a loop")
        for operand, part in zip((value.left, value.right), rule(g, value), strict=True):
            if part is not None and self.is_active(operand):
                self.back(operand, self.fresh(part()) if callable(part) else part)

    def logic(self, value: ir.Logic, g: ir.Expr) -> None:
        """``choose(test, a, b)``; Python's ``max`` and ``min`` choose too: the first of those that are equal."""
        if value.operator == "choose":
            test, body, orelse = value.operands
            self._branch(test, body, orelse, g)
            return
        *others, last = value.operands
        if not others:
            self.back(last, g)
            return
        rest = others[0] if len(others) == 1 else ir.Logic(value.operator, tuple(others), value.type)
        beats = ir.Compare("gt" if value.operator == "max" else "lt", last, rest)
        self._branch(beats, last, rest, g)

    def _branch(self, test: ir.Expr, body: ir.Expr, orelse: ir.Expr, g: ir.Expr) -> None:
        outer, blocks = self.made, []
        for each in (body, orelse):
            self.made = []
            self.back(each, g)
            blocks.append(tuple(self.made))
        self.made = outer
        self.made.append(ir.If(test, *blocks))


def _quotient(g: ir.Expr, value: ir.Binary) -> tuple[Callable[[], ir.Expr], Callable[[], ir.Expr]]:
    def of_divisor() -> ir.Expr:
        return binary("truediv", times(times(g, number(-1.0)), value), value.right)

    return (lambda: binary("truediv", g, value.right)), of_divisor


def _power(g: ir.Expr, value: ir.Binary) -> tuple[Callable[[], ir.Expr], Callable[[], ir.Expr]]:
    base, exponent = wide(value.left), wide(value.right)

    def of_base() -> ir.Expr:
        less = binary("sub", exponent, number(1.0))
        return unless_zero(exponent, times(g, times(exponent, binary("pow", base, less))))

    def of_exponent() -> ir.Expr:
        is_positive = ir.Compare("gt", base, number(0.0))
        found = times(g, times(value, call("log", base)))
        return ir.Logic("choose", (is_positive, found, number(0.0)), "float64")

    return of_base, of_exponent


def _remainder(g: ir.Expr, value: ir.Binary) -> tuple[ir.Expr, Callable[[], ir.Expr]]:
    return g, lambda: times(times(g, number(-1.0)), binary("floordiv", value.left, value.right))


_BINARY: Mapping[str, Callable[..., tuple[Any, Any]]] = {
    "add": lambda g, v: (g, g),
    "sub": lambda g, v: (g, lambda: times(g, number(-1.0))),
    "mul": lambda g, v: ((lambda: times(g, v.right)), (lambda: times(g, v.left))),
    "truediv": _quotient,
    "pow": _power,
    "mod": _remainder,
    "floordiv": lambda g, v: (None, None),
    "intdiv": lambda g, v: (None, None),
}
_BACK: Mapping[type, Callable[..., None]] = {
    ir.Var: Adjoint.var,
    ir.Load: Adjoint.load,
    ir.Cast: Adjoint.cast,
    ir.Unary: Adjoint.unary,
    ir.Binary: Adjoint.binary,
    ir.Logic: Adjoint.logic,
}


def flowing(value: ir.Expr) -> Iterator[str]:
    """The names of real variables and arrays that the value depends on as a real number."""
    if value.type not in FLOATS:
        return
    if isinstance(value, ir.Var):
        yield value.name
    elif isinstance(value, ir.Load):
        yield value.array
    elif isinstance(value, ir.Binary):
        yield from flowing(value.left)
        yield from flowing(value.right)
    elif isinstance(value, ir.Cast | ir.Unary):
        yield from flowing(value.operand)
    elif isinstance(value, ir.Logic):
        for operand in value.operands:
            yield from flowing(operand)
