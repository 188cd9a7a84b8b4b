"""Takes a region, gives what is known of its integers: how large they can get, and which are affine in loop counters.

A counter of ``range(a, b)`` with affine bounds has an interval that is computed once, when the region is entered; an
index that is affine in counters is then checked once for all rounds. Everything else is checked where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from jitmagic.graph import region as ir

__all__ = ["ARGUMENT_BITS", "WORD_BITS", "Affine", "Interval", "Ranges", "accesses", "statements"]

ARGUMENT_BITS = 31  # ints from outside are checked once to be below this many bits
SIZE_BITS = 40  # no array has an axis longer than that
WORD_BITS = 62  # Python ints in variables stay below; two of them can be added without wrapping
_NUMPY_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}

Affine = dict[str, int]  # name of a counter, parameter or size -> factor; "" is the constant
Interval = tuple[Affine, Affine, int]  # (low, high, least): the index is in range if low >= least, high < size + least


def statements(block: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """Every statement, inner ones included."""
    for each in block:
        yield each
        for name in ("body", "orelse"):
            yield from statements(getattr(each, name, ()))


def accesses(block: tuple[ir.Stmt, ...]) -> list[ir.Load | ir.Store]:
    """Every load and store, wherever it stands."""
    found: list[ir.Load | ir.Store] = []

    def look(value: object) -> None:
        if isinstance(value, ir.Load | ir.Store):
            found.append(value)
        if isinstance(value, tuple):
            for each in value:
                look(each)
        elif hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                look(getattr(value, name))

    look(block)
    return found


@dataclass(slots=True)
class Ranges:
    """``counters`` are those of ``for`` loops with affine bounds, outermost first; ``fixed`` the other known names."""

    region: ir.Region
    counters: dict[str, ir.For] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    divisors: list[ir.Expr] = field(default_factory=list)  # of indices ``x % n``

    def __post_init__(self) -> None:
        self.fixed = {p.name for p in self.region.scalars if p.type == "pyint"}
        assigned = Counter(s.variable.name for s in statements(self.region.body) if isinstance(s, ir.Assign))
        self.fixed -= set(assigned)
        self.divisors = [
            index.right
            for access in accesses(self.region.body)
            for index in access.index
            if isinstance(index, ir.Binary) and index.operator == "mod" and index.type == "pyint"
        ]
        for each in statements(self.region.body):
            if isinstance(each, ir.For) and self._is_known(each):
                self.counters[each.variable.name] = each
                bind = each.body[0]
                if isinstance(bind, ir.Assign) and assigned[bind.variable.name] == 1:
                    self.aliases[bind.variable.name] = each.variable.name

    def _is_known(self, loop: ir.For) -> bool:
        known = self.affine(loop.start) is not None and self.affine(loop.stop) is not None
        return known and isinstance(loop.step, ir.Const) and loop.step.value != 0

    def affine(self, expr: ir.Expr) -> Affine | None:
        """The expression as a sum of counters, parameters and sizes with factors; None if it is none."""
        if isinstance(expr, ir.Const) and isinstance(expr.value, int):
            return {"": int(expr.value)}
        if isinstance(expr, ir.Var):
            name = self.aliases.get(expr.name, expr.name)
            return {name: 1} if name in self.counters or name in self.fixed else None
        if isinstance(expr, ir.Size):
            return {f"{expr.array}_n{expr.axis}": 1}
        if isinstance(expr, ir.Binary) and expr.type == "pyint":
            return self._combined(expr)
        if isinstance(expr, ir.Unary) and expr.function == "neg":
            inner = self.affine(expr.operand)
            return None if inner is None else {k: -v for k, v in inner.items()}
        return None

    def interval(self, expr: ir.Expr) -> Interval | None:
        """What must hold at entry for an index to be in range in all rounds; ``x % n`` is, if ``0 < n <= size``."""
        form = self.affine(expr)
        if form is not None:
            return form, form, 0
        if isinstance(expr, ir.Binary) and expr.operator == "mod" and expr.type == "pyint":
            divisor = self.affine(expr.right)
            if divisor is not None:
                return divisor, divisor, 1
        return None

    def is_surely_positive(self, divisor: ir.Expr) -> bool:
        """Whether the proofs at entry include that a divisor is positive: every index with it is checked there."""
        form = self.affine(divisor)
        return form is not None and any(self.affine(d) == form for d in self.divisors)

    def _combined(self, expr: ir.Binary) -> Affine | None:
        left, right = self.affine(expr.left), self.affine(expr.right)
        if left is None or right is None:
            return None
        if expr.operator in ("add", "sub"):
            sign = 1 if expr.operator == "add" else -1
            return {k: left.get(k, 0) + sign * right.get(k, 0) for k in (*left, *right)}
        if expr.operator == "mul":
            for one, other in ((left, right), (right, left)):
                if set(one) <= {""}:
                    return {k: v * one.get("", 0) for k, v in other.items()}
        return None

    def bits(self, expr: ir.Expr) -> int:
        """A bound on the size of a Python int: its absolute value is below 2 to this."""
        known = _BITS.get(type(expr))
        return known(self, expr) if known is not None else WORD_BITS  # type: ignore[operator]  # one per class


def _const(r: Ranges, expr: ir.Const) -> int:
    return int(expr.value).bit_length()


def _var(r: Ranges, expr: ir.Var) -> int:
    name = r.aliases.get(expr.name, expr.name)
    if name in r.fixed:
        return ARGUMENT_BITS
    return SIZE_BITS + 2 if name in r.counters else WORD_BITS


def _size(r: Ranges, expr: ir.Size) -> int:
    return SIZE_BITS


def _cast(r: Ranges, expr: ir.Cast) -> int:
    kind = expr.operand.type
    if kind in ("pybool", "bool"):
        return 1
    return _NUMPY_BITS.get(kind, WORD_BITS)


def _binary(r: Ranges, expr: ir.Binary) -> int:
    left, right = r.bits(expr.left), r.bits(expr.right)
    growth = {"add": max(left, right) + 1, "sub": max(left, right) + 1, "mul": left + right}
    return growth.get(expr.operator, max(left, right))


def _unary(r: Ranges, expr: ir.Unary) -> int:
    return r.bits(expr.operand) if expr.function in ("neg", "abs") else WORD_BITS


_BITS = {ir.Const: _const, ir.Var: _var, ir.Size: _size, ir.Cast: _cast, ir.Binary: _binary, ir.Unary: _unary}
