"""Takes integers and symbols, gives sparse polynomials over them in a normal form.

The normal form is a sorted tuple of (monomial, coefficient) pairs; a monomial is a sorted tuple of *atoms*: symbols
(one unknown integer each) and opaque terms such as ``n // 2``. Equal polynomials are equal tuples.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "COMPARE",
    "FUNCTIONS",
    "NEGATED",
    "Polynomial",
    "Symbol",
    "Term",
    "add",
    "constant",
    "divide_exactly",
    "evaluate",
    "format_polynomial",
    "lower_bound",
    "multiply",
    "scale",
    "symbols_of",
]

COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "abs": abs,
}
INFIX = {"floordiv": "//", "mod": "%"}


@dataclass(frozen=True, slots=True)
class Symbol:
    """One unknown integer. ``name`` prints it (``s0``); every use may rely on ``minimum``.

    ``hint`` is its value in this trace. A ``run_time`` symbol (the length of ``x[x > 0]``) has no value before the
    data are known: its hint only shapes stand-ins, and deciding anything on it raises ``DataDependentSize``.
    """

    name: str
    hint: int
    minimum: int | None = 2
    run_time: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Term:
    """An opaque integer function of polynomials: a key of ``FUNCTIONS``."""

    function: str
    args: tuple[Polynomial, ...]

    @property
    def name(self) -> str:
        return str(self)

    @property
    def minimum(self) -> int | None:
        """A lower bound, if one is known."""
        lows = [lower_bound(a) for a in self.args]
        known = [low for low in lows if low is not None]
        if self.function == "abs":
            return 0
        if self.function == "max":
            return max(known, default=None)
        if len(known) < len(lows):
            return None
        if self.function == "min":
            return min(known)
        return 0 if known[0] >= 0 and known[1] > 0 else None

    def __str__(self) -> str:
        args = [format_polynomial(a) for a in self.args]
        if self.function in INFIX:
            return f"(({args[0]}) {INFIX[self.function]} ({args[1]}))"
        return f"{self.function}({', '.join(args)})"


Atom: TypeAlias = Symbol | Term
Monomial: TypeAlias = tuple[Atom, ...]
Polynomial: TypeAlias = tuple[tuple[Monomial, int], ...]


def constant(value: int) -> Polynomial:
    return (((), value),) if value else ()


def _collect(items: Iterable[tuple[Monomial, int]]) -> Polynomial:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in items:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    return tuple(sorted(kept, key=lambda mc: (-len(mc[0]), [a.name for a in mc[0]])))


def add(p: Polynomial, q: Polynomial) -> Polynomial:
    return _collect((*p, *q))


def scale(p: Polynomial, factor: int) -> Polynomial:
    return _collect((m, c * factor) for m, c in p)


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    return _collect((tuple(sorted((*m, *n), key=lambda a: a.name)), c * d) for m, c in p for n, d in q)


def divide_exactly(p: Polynomial, q: Polynomial) -> Polynomial | None:
    """``p / q`` if ``q`` is a single term that divides every term of ``p``, else None."""
    if len(q) != 1:
        return None
    divisor, factor = q[0]
    out: list[tuple[Monomial, int]] = []
    for monomial, coefficient in p:
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % factor:
            return None
        out.append((tuple(rest), coefficient // factor))
    return _collect(out)


def evaluate(p: Polynomial, values: Mapping[str, int] | None = None) -> int:
    """The value of ``p``, with symbols taken from ``values`` by name, or from their hints."""
    total = 0
    for monomial, coefficient in p:
        product = coefficient
        for atom in monomial:
            product *= _atom_value(atom, values)
        total += product
    return total


def _atom_value(atom: Atom, values: Mapping[str, int] | None) -> int:
    if isinstance(atom, Symbol):
        return atom.hint if values is None else values[atom.name]
    return FUNCTIONS[atom.function](*(evaluate(a, values) for a in atom.args))


def symbols_of(p: Polynomial) -> set[Symbol]:
    """Every symbol in ``p``, those inside opaque terms included."""
    found: set[Symbol] = set()
    for monomial, _ in p:
        for atom in monomial:
            if isinstance(atom, Symbol):
                found.add(atom)
            else:
                found.update(*(symbols_of(arg) for arg in atom.args))
    return found


def lower_bound(p: Polynomial) -> int | None:
    """A number that ``p`` never falls below, or None if none is known."""
    total = 0
    for monomial, coefficient in p:
        bound = coefficient
        for atom in monomial:
            if coefficient < 0 or atom.minimum is None or atom.minimum < 0:
                return None
            bound *= atom.minimum
        total += bound
    return total


def format_polynomial(p: Polynomial) -> str:
    """A Python expression over the symbols' names."""
    text = ""
    for monomial, coefficient in p:
        factors = [str(a) for a in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+" if text else ""
        text += f" {sign} " if text else sign
        text += "*".join(factors)
    return text or "0"
