"""Takes Python arithmetic on unknown sizes, gives symbolic integers and the relations decided on them.

Arithmetic on a ``SymInt`` stays symbolic. **Every comparison answers with the value seen in this trace and records
the relation as a guard**, so code that branches on sizes is sound without knowing about symbols; ``int(n)``,
``range(n)`` and anything else that needs a plain number fixes the value in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from jitmagic.errors import JitMagicError
from jitmagic.graph.extremes import extreme
from jitmagic.graph.polynomial import (
    COMPARE,
    FUNCTIONS,
    NEGATED,
    Polynomial,
    Symbol,
    Term,
    add,
    constant,
    divide_exactly,
    evaluate,
    format_polynomial,
    lower_bound,
    multiply,
    scale,
    symbols_of,
)

__all__ = ["DataDependentSize", "Dim", "Relation", "ShapeEnv", "SymInt", "apply", "hint_of", "simplify"]


RUN_TIME_HINT = 3  # a size that no special case (0, 1, 2) is made of


class DataDependentSize(JitMagicError):
    """A decision on a size that only the data tell; the tracer turns it into a graph break."""


@dataclass(frozen=True, slots=True)
class Relation:
    """``left op right`` between symbolic integers, true in this trace; it becomes a guard."""

    op: str
    left: Polynomial
    right: Polynomial

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it is true with the symbols taken from ``values`` by name."""
        return COMPARE[self.op](evaluate(self.left, values), evaluate(self.right, values))

    def symbols(self) -> set[Symbol]:
        return symbols_of(self.left) | symbols_of(self.right)

    def __str__(self) -> str:
        return f"{format_polynomial(self.left)} {self.op} {format_polynomial(self.right)}"


@dataclass(slots=True)
class ShapeEnv:
    """The symbols of one trace, and the relations decided on them, in order.

    ``on_specialise(symbol, value)`` is called when a relation fixes one symbol; a strict promise
    (``mark_dynamic``) raises from there.
    """

    relations: dict[Relation, None] = field(default_factory=dict)
    symbols: list[Symbol] = field(default_factory=list)
    on_specialise: Callable[[Symbol, int], None] | None = None

    def new_symbol(self, hint: int, *, minimum: int | None = 2, prefix: str = "s") -> SymInt:
        symbol = Symbol(f"{prefix}{len(self.symbols)}", hint, minimum)
        self.symbols.append(symbol)
        return SymInt((((symbol,), 1),), self)

    def new_run_time_symbol(self) -> SymInt:
        """A size that only the data tell, such as the number of true elements of a mask."""
        symbol = Symbol(f"u{len(self.symbols)}", RUN_TIME_HINT, 0, run_time=True)
        self.symbols.append(symbol)
        return SymInt((((symbol,), 1),), self)

    def decide(self, op: str, left: Polynomial, right: Polynomial) -> bool:
        """The truth of ``left op right`` in this trace; recorded unless it can never differ."""
        truth = COMPARE[op](evaluate(left), evaluate(right))
        difference = add(left, scale(right, -1))
        if not _is_certain(op, difference):
            if any(s.run_time for s in symbols_of(difference)):
                raise DataDependentSize(_for_people(str(Relation(op, left, right)), difference))
            relation = Relation(op if truth else NEGATED[op], left, right)
            if relation not in self.relations:
                self.relations[relation] = None
                self._note_specialised(relation.op, difference)
        return truth

    def _note_specialised(self, op: str, difference: Polynomial) -> None:
        found = symbols_of(difference)
        if op == "==" and self.on_specialise is not None and len(found) == 1:
            symbol = next(iter(found))
            self.on_specialise(symbol, symbol.hint)


def _for_people(text: str, difference: Polynomial) -> str:
    """``text`` with letters for the symbols, whose numbers mean nothing outside: ``n > 0``."""
    symbols = sorted(symbols_of(difference), key=lambda symbol: symbol.name)
    letters = {s.name: "nmkpq"[i] if i < 5 else f"n{i}" for i, s in enumerate(symbols)}
    return re.sub(r"\b[su]\d+\b", lambda found: letters.get(found.group(), found.group()), text)


def _is_certain(op: str, difference: Polynomial) -> bool:
    """True if ``difference op 0`` is the same for every value that the symbols may take."""
    low = lower_bound(difference)
    negative = lower_bound(scale(difference, -1))
    high = None if negative is None else -negative
    if low is not None and low == high:
        return True
    excludes_zero = (low is not None and low > 0) or (high is not None and high < 0)
    if op in ("==", "!="):
        return excludes_zero
    touches = (low is not None and low >= 0) if op in ("<", ">=") else (high is not None and high <= 0)
    return excludes_zero or touches


class SymInt:
    """An integer that may differ from call to call.

    Immutable. Arithmetic gives a ``SymInt``, or an ``int`` when the result is known; comparisons, ``bool``,
    ``int`` and ``__index__`` answer with the value of this trace and record a guard in ``env``.
    """

    __slots__ = ("env", "poly")

    def __init__(self, poly: Polynomial, env: ShapeEnv) -> None:
        self.poly = poly
        self.env = env

    @property
    def hint(self) -> int:
        """The value in this trace; reading it records nothing."""
        return evaluate(self.poly)

    @property
    def key(self) -> Polynomial:
        """A hashable identity: equal keys mean equal in every call."""
        return self.poly

    @property
    def is_run_time(self) -> bool:
        """Whether only the data tell it."""
        return any(s.run_time for s in symbols_of(self.poly))

    def __repr__(self) -> str:
        return format_polynomial(self.poly)

    def __hash__(self) -> int:
        return hash(int(self))

    def _with(self, other: object, combine: Callable[[Polynomial, Polynomial], Polynomial]) -> Any:
        poly = _poly(other)
        return NotImplemented if poly is None else simplify(combine(self.poly, poly), self.env)

    def __add__(self, other: object) -> Any:
        return self._with(other, add)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._with(other, lambda p, q: add(p, scale(q, -1)))

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda p, q: add(q, scale(p, -1)))

    def __mul__(self, other: object) -> Any:
        return self._with(other, multiply)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return simplify(scale(self.poly, -1), self.env)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        low = lower_bound(self.poly)
        return self if low is not None and low >= 0 else apply("abs", self)

    def __floordiv__(self, other: object) -> Any:
        return _divide("floordiv", self, other, self.env)

    def __rfloordiv__(self, other: object) -> Any:
        return _divide("floordiv", other, self, self.env)

    def __mod__(self, other: object) -> Any:
        return _divide("mod", self, other, self.env)

    def __rmod__(self, other: object) -> Any:
        return _divide("mod", other, self, self.env)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return int(self) / _plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / int(self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, int) and 1 <= other <= 3:
            result: Any = self
            for _ in range(other - 1):
                result = self * result
            return result
        return int(self) ** _plain(other)

    def __rpow__(self, other: Any) -> Any:
        return other ** int(self)

    def _decide(self, op: str, other: object) -> Any:
        poly = _poly(other)
        return NotImplemented if poly is None else self.env.decide(op, self.poly, poly)

    def __eq__(self, other: object) -> Any:
        return self._decide("==", other)

    def __ne__(self, other: object) -> Any:
        return self._decide("!=", other)

    def __lt__(self, other: object) -> Any:
        return self._decide("<", other)

    def __le__(self, other: object) -> Any:
        return self._decide("<=", other)

    def __gt__(self, other: object) -> Any:
        return self._decide(">", other)

    def __ge__(self, other: object) -> Any:
        return self._decide(">=", other)

    def __bool__(self) -> bool:
        return self.env.decide("!=", self.poly, ())

    def __int__(self) -> int:
        value = self.hint
        self.env.decide("==", self.poly, constant(value))
        return value

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))


Dim: TypeAlias = int | SymInt


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, SymInt) else value


def _poly(value: object) -> Polynomial | None:
    if isinstance(value, SymInt):
        return value.poly
    return constant(int(value)) if isinstance(value, int) else None


def _divide(function: str, left: object, right: object, env: ShapeEnv) -> Any:
    p, q = _poly(left), _poly(right)
    if p is None or q is None:
        return NotImplemented
    if not env.decide("!=", q, ()):
        raise ZeroDivisionError("integer division or modulo by zero")
    exact = divide_exactly(p, q)
    if exact is not None:
        return simplify(exact, env) if function == "floordiv" else 0
    return SymInt((((Term(function, (p, q)),), 1),), env)


def apply(function: str, *args: Dim) -> Dim:
    """``function`` (``max``, ``min``, ``abs``) of sizes, kept symbolic without deciding which one it is."""
    env = next((a.env for a in args if isinstance(a, SymInt)), None)
    if env is None:
        return FUNCTIONS[function](*args)
    polys = tuple(p for a in args if (p := _poly(a)) is not None)
    if function in ("max", "min"):
        return simplify(extreme(function, polys), env)
    return SymInt((((Term(function, polys),), 1),), env)


def simplify(poly: Polynomial, env: ShapeEnv) -> Dim:
    """A plain ``int`` when the polynomial is constant, else a ``SymInt``."""
    if not poly:
        return 0
    if len(poly) == 1 and not poly[0][0]:
        return poly[0][1]
    return SymInt(poly, env)


def hint_of(value: Dim) -> int:
    """The value in this trace, without recording anything."""
    return value.hint if isinstance(value, SymInt) else value
