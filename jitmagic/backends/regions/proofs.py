"""Takes the accesses of a region or of one loop, gives the tests that prove all of their indices in range at once.

    proven = 1 * at1_lo >= 0                      a[i - 1] in ``for i in range(1, n)``
    proven = proven and a_n0 - at1_hi >= 0        where at1_lo and at1_hi are the least and the greatest i - 1

Where an access happens only under conditions, what these say may take the place of a bound (see ``facts``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jitmagic.backends.regions.facts import Access, Fact, accesses
from jitmagic.backends.regions.ranges import LOCAL_BITS, Affine, Ranges, combine, statements
from jitmagic.graph import region as ir

__all__ = ["Proof", "counts_from_end", "entry_proof", "loop_proof"]

_MOST_TESTS = 64  # of one proof; more would cost more than they save


@dataclass(slots=True)
class Proof:
    """``lines`` set ``name``; ``indices`` are the ids of what is in range if it is true, ``divisors`` are positive.

    ``from_end`` are those of the ``indices`` that count from the end of their axis.
    """

    name: str
    lines: list[str]
    indices: frozenset[int]
    divisors: list[Affine] = field(default_factory=list)
    from_end: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Names whose least and greatest value are in ``<name>_lo`` and ``<name>_hi``; others stand as they are."""

    names: frozenset[str]

    def low(self, form: Affine) -> str:
        """The least value of an affine form."""
        parts = []
        for name, factor in form.items():
            bound = f"{name}_{'lo' if factor > 0 else 'hi'}" if name in self.names else name
            parts.append(str(factor) if not name else bound if factor == 1 else f"{factor} * {bound}")
        return " + ".join(parts) or "0"

    def test(self, form: Affine, facts: Sequence[Fact]) -> str:
        """Text that is true if the form is nowhere negative where the facts hold; empty if that is known."""
        ways: list[str] = []
        for fact in (Fact({}), *(f for f in facts if _is_related(form, f.form))):
            rest = combine(form, -1, fact.form)
            if set(rest) <= {""}:
                if rest.get("", 0) < 0:
                    continue
                if fact.premise is None:
                    return ""
            way = f"{self.low(rest)} >= 0"
            ways.append(way if fact.premise is None else f"({way} and {self.low(fact.premise)} >= 0)")
        if not ways:
            return "False"
        return f"({' or '.join(ways)})" if len(ways) > 1 else ways[0]


def _is_related(form: Affine, fact: Affine) -> bool:
    return bool(set(form) & set(fact) - {""})


def entry_proof(region: ir.Region, ranges: Ranges) -> Proof | None:
    """What is tested once, before the loops; None if there is nothing to prove."""
    lines: list[str] = []
    bounds = _Bounds(frozenset(ranges.counters))
    for name, loop in ranges.counters.items():
        start, stop = ranges.affine(loop.start), ranges.affine(loop.stop)
        assert start is not None
        assert stop is not None
        lines += _interval(bounds, name, (start, stop), is_up=_ascends(loop))
    return _proof("proven", lines, bounds, accesses(region.body, ranges), ranges, frozenset())


def loop_proof(name: str, loop: ir.For, ends: tuple[str, ...], ranges: Ranges, known: frozenset[int]) -> Proof | None:
    """What is tested each time at the head of an innermost loop with the bounds ``ends`` (start, stop, step).

    Variables that the loop does not change count as known numbers; ``known`` indices are proven already.
    """
    changed = {s.variable.name for s in statements((loop,)) if isinstance(s, ir.Assign | ir.For)}
    local = frozenset(_read_ints(loop)) - changed | {loop.variable.name}
    found = [a for a in accesses(loop.body, ranges, local) if not all(id(i) in known for i in a.node.index)]
    own = loop.variable.name
    inner = {s.variable.name for s in statements(loop.body) if isinstance(s, ir.For)}
    bounds = _Bounds(frozenset({own} | (inner & set(ranges.counters))))
    first, after = ends[:2] if _goes_up(loop) else (f"{ends[1]} + 1", f"{ends[0]} + 1")
    lines = [f"{own}_lo = {first}", f"{own}_hi = {after} - 1"]
    proof = _proof(name, lines, bounds, found, ranges, local, known)
    if proof is None:
        return None
    names = {n for line in proof.lines[2:] for n in local if _mentions(line, n)} - {own}
    limit = 2**LOCAL_BITS
    is_index = any(ranges.affine(i, local) == {own: 1} for a in found for i in a.node.index)  # from 0 to a size then
    for each in (*(() if is_index else (f"{own}_lo", f"{own}_hi")), *sorted(names - ranges.fixed)):
        proof.lines.append(f"{name} = {name} and {each} < {limit} and {each} > {-limit}")
    if not isinstance(loop.step, ir.Const):
        proof.lines.append(f"{name} = {name} and {ends[2]} > 0 and {ends[2]} < {limit}")
    return proof


def _mentions(line: str, name: str) -> bool:
    return name in line.replace("(", " ").replace(")", " ").split()


def _read_ints(loop: ir.For) -> Iterator[str]:
    def walk(node: object) -> Iterator[str]:
        if isinstance(node, ir.Var):
            if "int" in node.type:
                yield node.name
        elif isinstance(node, tuple):
            for each in node:
                yield from walk(each)
        else:
            for name in getattr(node, "__dataclass_fields__", ()):
                yield from walk(getattr(node, name))

    return walk(loop.body)


def _proof(
    name: str,
    lines: list[str],
    bounds: _Bounds,
    found: Sequence[Access],
    ranges: Ranges,
    local: frozenset[str],
    known: frozenset[int] = frozenset(),
) -> Proof | None:
    proof = Proof(name, lines, frozenset())
    tests: dict[str, None] = {}
    indices: set[int] = set()
    for access in found:
        for axis, index in enumerate(access.node.index):
            wanted = None if id(index) in known else _wanted(index, f"{access.node.array}_n{axis}", ranges, local)
            if wanted is None:
                continue
            forms, divisor = wanted
            indices.add(id(index))
            if counts_from_end(ranges.affine(index, local)):
                proof.from_end.add(id(index))
            tests.update((test, None) for form in forms if (test := bounds.test(form, access.facts)))
            if divisor is not None:
                proof.divisors.append(divisor)
    if not indices or len(tests) > _MOST_TESTS:
        return None
    proof.indices = frozenset(indices)
    proof.lines += [f"{name} = True", *(f"{name} = {name} and {test}" for test in tests)]
    return proof


def counts_from_end(form: Affine | None) -> bool:
    """Whether an index is a negative number, however it is written."""
    return form is not None and set(form) == {""} and form[""] < 0


def _wanted(
    index: ir.Expr, size: str, ranges: Ranges, local: frozenset[str]
) -> tuple[tuple[Affine, Affine], Affine | None] | None:
    """The forms that must not be negative for an index to be in range; the divisor, if it is ``x % divisor``."""
    form = ranges.affine(index, local)
    if form is not None:
        if counts_from_end(form):
            form = combine(form, 1, {size: 1})
        last = combine({size: 1, "": -1}, -1, form)
        return (form, last), None
    if isinstance(index, ir.Binary) and index.operator == "mod" and "int" in index.type:
        divisor = ranges.affine(index.right, local)
        if divisor is not None:
            return (combine(divisor, -1, {"": 1}), combine({size: 1}, -1, divisor)), divisor
    return None


def _interval(bounds: _Bounds, name: str, ends: tuple[Affine, Affine], *, is_up: bool) -> list[str]:
    """The least and the greatest value of a counter."""
    first, after = ends[:2] if is_up else (combine(ends[1], 1, {"": 1}), combine(ends[0], 1, {"": 1}))
    greatest = combine({"": 1}, -1, after)  # minus it
    return [f"{name}_lo = {bounds.low(first)}", f"{name}_hi = -({bounds.low(greatest)})"]


def _ascends(loop: ir.For) -> bool:
    assert isinstance(loop.step, ir.Const)
    return loop.step.value > 0


def _goes_up(loop: ir.For) -> bool:
    """A step that is not known is tested to be positive."""
    return not isinstance(loop.step, ir.Const) or loop.step.value > 0
