"""Takes statements, gives their accesses to arrays, each with the conditions under which it happens.

    if i > 0 and j > 0:             the access happens only where i - 1 >= 0 and j - 1 >= 0
        s += a[i - 1, j - 1]

A fact is an affine form that is not negative there; if it has a premise, only where that is not negative either.
``i != 0`` gives such facts: ``i - 1 >= 0`` if ``i >= 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jitmagic.backends.regions.ranges import Affine, Ranges, combine
from jitmagic.graph import region as ir

__all__ = ["Access", "Fact", "accesses"]

_ONE: Affine = {"": 1}
_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Fact:
    form: Affine
    premise: Affine | None = None


Facts = tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Access:
    node: ir.Load | ir.Store
    facts: Facts


def accesses(block: tuple[ir.Stmt, ...], ranges: Ranges, local: frozenset[str] = frozenset()) -> list[Access]:
    """Every load and store in ``block``, wherever it stands."""
    walk = _Walk(ranges, local, [])
    walk.block(block, ())
    return walk.found


@dataclass(slots=True)
class _Walk:
    ranges: Ranges
    local: frozenset[str]
    found: list[Access]

    def block(self, block: tuple[ir.Stmt, ...], facts: Facts) -> None:
        for each in block:
            if isinstance(each, ir.If):
                self.expression(each.test, facts)
                held, refuted = self.when(each.test, True), self.when(each.test, False)
                self.block(each.body, facts + held)
                self.block(each.orelse, facts + refuted)
                if _leaves(each.body):
                    facts += refuted
                elif _leaves(each.orelse):
                    facts += held
                continue
            if isinstance(each, ir.For):
                for bound in (each.start, each.stop, each.step):
                    self.expression(bound, facts)
                self.block(each.body, facts + self.rounds(each))
                self.block(each.orelse, facts)
                continue
            if isinstance(each, ir.While):
                self.expression(each.test, facts)
                self.block(each.body, facts + self.when(each.test, True))
                self.block(each.orelse, facts)
                continue
            self.parts(each, facts)

    def parts(self, node: Any, facts: Facts) -> None:
        if isinstance(node, ir.Load | ir.Store):  # a part of an array is looked at where it is read
            self.found.append(Access(node, facts))
        for name in node.__dataclass_fields__:
            value = getattr(node, name)
            if name in ("body", "orelse"):
                self.block(value, facts)
                continue
            for each in value if isinstance(value, tuple) else (value,):
                if hasattr(each, "__dataclass_fields__"):
                    self.expression(each, facts)

    def expression(self, node: Any, facts: Facts) -> None:
        """Operands of ``and`` and ``or`` are evaluated only where the ones before them say so."""
        if not isinstance(node, ir.Logic) or node.operator in ("max", "min"):
            self.parts(node, facts)
        elif node.operator == "choose":
            test, body, orelse = node.operands
            self.expression(test, facts)
            self.expression(body, facts + self.when(test, True))
            self.expression(orelse, facts + self.when(test, False))
        else:
            for each in node.operands:
                self.expression(each, facts)
                facts += self.when(each, node.operator == "and")

    def rounds(self, loop: ir.For) -> Facts:
        """What a round of a loop says of bounds that depend on other counters."""
        start, stop = (self.ranges.affine(b, self.local) for b in (loop.start, loop.stop))
        known = isinstance(loop.step, ir.Const) and loop.step.value != 0
        if start is None or stop is None or not known or not (set(start) | set(stop)) & set(self.ranges.counters):
            return ()
        assert isinstance(loop.step, ir.Const)
        if loop.step.value < 0:
            start, stop = combine(stop, 1, _ONE), combine(start, 1, _ONE)
        counter = self.ranges.affine(loop.variable, self.local)
        own = () if counter is None else (*_at_least(counter, start), *_above(stop, counter))
        return (*_above(stop, start), *own)

    def when(self, test: Any, holds: bool) -> Facts:
        """What follows from a condition that holds, or does not."""
        rule = _RULES.get(type(test))
        return rule(self, test, holds) if rule is not None else ()


def _compared(walk: _Walk, test: ir.Compare, holds: bool) -> Facts:
    left, right = (walk.ranges.affine(e, walk.local) for e in (test.left, test.right))
    if left is None or right is None or "float" in test.left.type:
        return ()
    return tuple(_FACTS[test.operator if holds else _NEGATED[test.operator]](left, right))


def _logic(walk: _Walk, test: ir.Logic, holds: bool) -> Facts:
    if test.operator != ("and" if holds else "or"):
        return ()
    return tuple(fact for each in test.operands for fact in walk.when(each, holds))


_RULES: Mapping[type, Callable[[_Walk, Any, bool], Facts]] = {
    ir.Compare: _compared,
    ir.Logic: _logic,
    ir.Not: lambda walk, test, holds: walk.when(test.operand, not holds),
}


def _at_least(left: Affine, right: Affine) -> Iterator[Fact]:
    yield Fact(combine(left, -1, right))


def _above(left: Affine, right: Affine) -> Iterator[Fact]:
    yield Fact(combine(combine(left, -1, right), -1, _ONE))


def _equal(left: Affine, right: Affine) -> Iterator[Fact]:
    yield from (*_at_least(left, right), *_at_least(right, left))


def _different(left: Affine, right: Affine) -> Iterator[Fact]:
    for one, other in ((left, right), (right, left)):
        difference = combine(one, -1, other)
        yield Fact(combine(difference, -1, _ONE), difference)


_FACTS: Mapping[str, Callable[[Affine, Affine], Iterator[Fact]]] = {
    "ge": _at_least,
    "gt": _above,
    "le": lambda left, right: _at_least(right, left),
    "lt": lambda left, right: _above(right, left),
    "eq": _equal,
    "ne": _different,
}


def _leaves(block: tuple[ir.Stmt, ...]) -> bool:
    return bool(block) and isinstance(block[-1], ir.Break | ir.Continue | ir.Leave)
