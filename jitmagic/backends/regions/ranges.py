"""Takes a region, gives what is known of its integers: how large they can get, and which are affine in loop counters.

A counter of ``range(a, b)`` with affine bounds has an interval that is computed once, when the region is entered; an
index that is affine in counters is then checked once for all rounds. Everything else is checked where it is used, or
at the head of the innermost loop around it (see ``proofs``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jitmagic.graph import region as ir

__all__ = ["ARGUMENT_BITS", "WORD_BITS", "Affine", "Ranges", "combine", "parts_of", "statements"]

ARGUMENT_BITS = 31  # ints from outside are checked once to be below this many bits
SIZE_BITS = 40  # no array has an axis longer than that
WORD_BITS = 62  # Python ints in variables stay below; two of them can be added without wrapping
LOCAL_BITS = 40  # ints in variables, where a proof at the head of a loop has looked at them
FORM_BITS = 60  # of an affine form whose value is computed without checks
_COUNTER_BITS = 54
_NUMPY_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32}

Affine = dict[str, int]  # name of a counter, parameter, size or variable -> factor; "" is the constant
_NONE: frozenset[str] = frozenset()


def _is_counter(value: ir.Expr, loop: ir.For) -> bool:
    """Whether a value is the counter of a loop itself, and not what an array holds there."""
    while isinstance(value, ir.Cast) and "int" in value.type and "int" in value.operand.type:
        value = value.operand
    return isinstance(value, ir.Var) and value.name == loop.variable.name


def statements(block: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """Every statement, inner ones included."""
    for each in block:
        yield each
        for name in ("body", "orelse"):
            yield from statements(getattr(each, name, ()))


def parts_of(expr: Any) -> Iterator[Any]:
    """An expression and every one inside."""
    yield expr
    for name in expr.__dataclass_fields__:
        value = getattr(expr, name)
        for each in value if isinstance(value, tuple) else (value,):
            if hasattr(each, "__dataclass_fields__"):
                yield from parts_of(each)


def combine(one: Affine, factor: int, other: Affine) -> Affine:
    """``one + factor * other``."""
    made = {k: one.get(k, 0) + factor * other.get(k, 0) for k in (*one, *other)}
    return {k: v for k, v in made.items() if v}


@dataclass(slots=True)
class Ranges:
    """``counters`` are those of ``for`` loops with affine bounds, outermost first; ``fixed`` the other known names."""

    region: ir.Region
    counters: dict[str, ir.For] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    counter_bits: dict[str, int] = field(default_factory=dict)
    assigned: dict[str, list[ir.Expr]] = field(default_factory=dict)  # all that a variable may hold, if that is known

    def __post_init__(self) -> None:
        self.fixed = {p.name for p in self.region.scalars if p.type == "pyint"}
        assigned = Counter(s.variable.name for s in statements(self.region.body) if isinstance(s, ir.Assign))
        self.fixed -= set(assigned)
        parameters = {p.name for p in self.region.scalars}
        for each in statements(self.region.body):
            if isinstance(each, ir.Assign) and each.variable.name not in parameters:
                self.assigned.setdefault(each.variable.name, []).append(each.value)
        for each in statements(self.region.body):
            if isinstance(each, ir.For) and self._is_known(each):
                self.counters[each.variable.name] = each
                bind = each.body[0]
                if isinstance(bind, ir.Assign) and assigned[bind.variable.name] == 1 and _is_counter(bind.value, each):
                    self.aliases[bind.variable.name] = each.variable.name

    def _is_known(self, loop: ir.For) -> bool:
        start, stop = self.affine(loop.start), self.affine(loop.stop)
        if start is None or stop is None or not isinstance(loop.step, ir.Const) or not loop.step.value:
            return False
        bits = max(self.form_bits(start), self.form_bits(stop)) + 1
        self.counter_bits[loop.variable.name] = bits
        return bits <= _COUNTER_BITS

    def form_bits(self, form: Affine) -> int:
        """A bound on the size of an affine form, as ``bits``."""
        return max((self._name_bits(k) + abs(v).bit_length() for k, v in form.items()), default=0) + len(form)

    def _name_bits(self, name: str) -> int:
        if not name:
            return 1
        if name in self.counter_bits:
            return self.counter_bits[name]
        return ARGUMENT_BITS if name in self.fixed else max(SIZE_BITS, LOCAL_BITS)

    def affine(self, expr: ir.Expr, local: frozenset[str] = _NONE) -> Affine | None:
        """The expression as a sum of counters, parameters and sizes with factors; None if it is none.

        ``local`` are variables that do not change where the form is used.
        """
        form = self._affine(expr, local)
        return form if form is None or self.form_bits(form) <= FORM_BITS else None

    def _affine(self, expr: ir.Expr, local: frozenset[str]) -> Affine | None:
        if isinstance(expr, ir.Const) and isinstance(expr.value, int) and expr.type != "pybool":
            return {"": int(expr.value)} if expr.value else {}
        if isinstance(expr, ir.Var):
            name = self.aliases.get(expr.name, expr.name)
            return {name: 1} if name in self.counters or name in self.fixed or name in local else None
        if isinstance(expr, ir.Size):
            return {f"{expr.array}_n{expr.axis}": 1}
        if isinstance(expr, ir.Cast) and "int" in expr.type and "int" in expr.operand.type:
            return self._affine(expr.operand, local)
        if isinstance(expr, ir.Binary) and "int" in expr.type:
            return self._combined(expr, local)
        if isinstance(expr, ir.Unary) and expr.function == "neg" and "int" in expr.type:
            inner = self._affine(expr.operand, local)
            return None if inner is None else combine({}, -1, inner)
        return None

    def _combined(self, expr: ir.Binary, local: frozenset[str]) -> Affine | None:
        left, right = self._affine(expr.left, local), self._affine(expr.right, local)
        if left is None or right is None:
            return None
        if expr.operator in ("add", "sub"):
            return combine(left, 1 if expr.operator == "add" else -1, right)
        if expr.operator == "mul":
            for one, other in ((left, right), (right, left)):
                if set(one) <= {""}:
                    return combine({}, one.get("", 0), other)
        return None

    def is_never_negative(self, expr: ir.Expr) -> bool:
        """Whether an int is known to be 0 or more wherever it is read."""
        return self._is_natural(expr, frozenset())

    def _is_natural(self, expr: ir.Expr, seen: frozenset[str]) -> bool:
        if isinstance(expr, ir.Const):
            return expr.value >= 0
        if isinstance(expr, ir.Cast):
            return self._is_natural(expr.operand, seen)
        if isinstance(expr, ir.Logic):
            values = expr.operands[1:] if expr.operator == "choose" else expr.operands
            return "bool" in expr.type or all(self._is_natural(v, seen) for v in values)
        if not isinstance(expr, ir.Var):
            return isinstance(expr, ir.Size | ir.Compare | ir.Not) or expr.type.startswith("uint")
        held = self.assigned.get(expr.name)
        if expr.name in seen:
            return True
        return held is not None and all(self._is_natural(v, seen | {expr.name}) for v in held)

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
    held = r.assigned.get(name)
    if held and all(isinstance(v, ir.Const) for v in held):
        return max(r.bits(v) for v in held)
    return r.counter_bits[name] if name in r.counters else WORD_BITS


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
