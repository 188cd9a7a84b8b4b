"""Takes a loop region, gives the region that runs it and then runs it backwards, with adjoints (source transformation).

    for i in range(n):                 for i in range(n): push(t); t = x[i] * t
        t = x[i] * t          =>       for i in range(n - 1, -1, -1):
                                           t = pop(); g = d_t; d_t = 0; d_x[i] += g * t; d_t += g * x[i]

The forward sweep pushes what it overwrites onto tapes, arrays of the caller, as far as the backward sweep reads it; the
backward sweep pops it. ``break`` and ``continue`` become conditions first, so that a loop is a number of rounds.
After L. Hascoet and V. Pascual, "The Tapenade automatic differentiation tool", ACM TOMS 39 (2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.aot.joint.loop_steps import FLOATS, Adjoint, adjoint_of, flowing, is_risky, number, wide
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["Reversed", "reverse_region"]

Block = tuple[ir.Stmt, ...]
REALS, WHOLE = "tape_f", "tape_i"
ONE, ZERO = ir.Const(1, "pyint"), ir.Const(0, "pyint")


@dataclass(frozen=True, slots=True)
class Reversed:
    """``region`` takes the arrays of the loop, adjoints of ``arrays``, the two tapes, then the scalars and cotangents.

    Its results are the lengths that the tapes need (if they are longer than given, nothing else was computed), then
    the adjoints of ``scalars``.
    """

    region: ir.Region
    arrays: tuple[str, ...]
    scalars: tuple[str, ...]


def reverse_region(region: ir.Region, wanted: frozenset[str]) -> Reversed:
    """The reverse of ``region`` for the parameters named in ``wanted``. Raises Unsupported where there is none."""
    if _has_folds(region.body):
        raise Unsupported("no-derivative", "the sum or the largest of a part of an array in a loop")
    body = _Flags().block(region.body)
    active = _active(body, wanted)
    plan = _Sweeps(active, _assigned(body), {a.name: a.dtype for a in region.arrays})
    while True:
        plan.needed_before = frozenset(plan.needed)
        backward = plan.backward(body)
        if plan.needed == plan.needed_before:
            break
    results = [v for v in region.results if v.type in FLOATS]
    fits = ir.Logic("and", tuple(ir.Compare("le", _top(t), ir.Size(t, 0)) for t in (REALS, WHOLE)))
    whole = (
        *(ir.Assign(_top(t), ZERO) for t in (REALS, WHOLE)),
        *(ir.Assign(_adjoint(name), number(0.0)) for name in sorted(_variables(body, region, active))),
        *plan.forward(body),
        ir.If(fits, (*_seeds(results, active), *backward)),
    )
    arrays = tuple(a.name for a in region.arrays if a.name in active and a.dtype in FLOATS)
    scalars = tuple(s.name for s in region.scalars if s.type in FLOATS and s.name in wanted)
    given = (*region.scalars, *(ir.ScalarParameter(f"c_{i}", "float64") for i in range(len(results))))
    gives = (_top(REALS), _top(WHOLE), *map(_adjoint, scalars))
    return Reversed(ir.Region(_arrays(region, arrays), given, whole, gives, region.line), arrays, scalars)


def _has_folds(node: Any) -> bool:
    if isinstance(node, tuple):
        return any(map(_has_folds, node))
    fields = getattr(node, "__dataclass_fields__", ())
    return isinstance(node, ir.Fold) or any(_has_folds(getattr(node, name)) for name in fields)


def _seeds(results: Sequence[ir.Var], active: frozenset[str]) -> Iterator[ir.Stmt]:
    """The cotangents of the results are where the backward sweep starts."""
    for index, variable in enumerate(results):
        if variable.name in active:
            d = _adjoint(variable.name)
            yield ir.Assign(d, ir.Binary("add", d, ir.Var(f"c_{index}", "float64"), "float64"))


def _arrays(region: ir.Region, adjoints: Sequence[str]) -> tuple[ir.ArrayParameter, ...]:
    """The arrays of the loop (written ones are copies), adjoints of some, the tapes."""

    def own(a: ir.ArrayParameter) -> ir.ArrayParameter:
        return ir.ArrayParameter(a.name, a.dtype, a.ndim, a.is_written, a.is_contiguous or a.is_written)

    def adjoint(a: ir.ArrayParameter) -> ir.ArrayParameter:
        return ir.ArrayParameter(adjoint_of(a.name), "float64", a.ndim, True, True)

    return (
        *map(own, region.arrays),
        *(adjoint(a) for a in region.arrays if a.name in adjoints),
        ir.ArrayParameter(REALS, "float64", 1, True, True),
        ir.ArrayParameter(WHOLE, "int64", 1, True, True),
    )


def _adjoint(name: str) -> ir.Var:
    return ir.Var(adjoint_of(name), "float64")


def _top(tape: str) -> ir.Var:
    return ir.Var(f"{tape}_n", "pyint")


# -- what the statements say
def _walk(block: Sequence[ir.Stmt]) -> Iterator[ir.Stmt]:
    for statement in block:
        yield statement
        if isinstance(statement, ir.If | ir.For | ir.While):
            yield from _walk(statement.body)
            yield from _walk(statement.orelse)


def _active(body: Block, wanted: frozenset[str]) -> frozenset[str]:
    """The names of everything real that depends on a wanted parameter."""
    active = set(wanted)
    while True:
        before = len(active)
        for statement in _walk(body):
            if isinstance(statement, ir.Assign | ir.Store) and not active.isdisjoint(flowing(statement.value)):
                name = statement.variable.name if isinstance(statement, ir.Assign) else statement.array
                active.add(name)
        if len(active) == before:
            return frozenset(active)


def _assigned(body: Block) -> frozenset[str]:
    found = {s.variable.name for s in _walk(body) if isinstance(s, ir.Assign)}
    return frozenset(found | {s.variable.name for s in _walk(body) if isinstance(s, ir.For)})


def _variables(body: Block, region: ir.Region, active: frozenset[str]) -> set[str]:
    """The active variables, parameters included; arrays are none."""
    names = {s.variable.name for s in _walk(body) if isinstance(s, ir.Assign)}
    return (names | {s.name for s in region.scalars}) & active


def _names(value: ir.Expr) -> Iterator[str]:
    """Variables and arrays that an expression reads."""
    if isinstance(value, ir.Var):
        yield value.name
    elif isinstance(value, ir.Load):
        yield value.array
        for each in value.index:
            yield from _names(each)
    elif isinstance(value, ir.Binary | ir.Compare):
        yield from _names(value.left)
        yield from _names(value.right)
    elif isinstance(value, ir.Cast | ir.Unary | ir.Not):
        yield from _names(value.operand)
    elif isinstance(value, ir.Logic):
        for each in value.operands:
            yield from _names(each)


def _read_in(block: Sequence[ir.Stmt]) -> Iterator[str]:
    """What adjoint statements read."""
    for statement in _walk(block):
        if isinstance(statement, ir.Assign):
            yield from _names(statement.value)
        elif isinstance(statement, ir.Store):
            yield from _names(statement.value)
            for each in statement.index:
                yield from _names(each)
        elif isinstance(statement, ir.If | ir.While):
            yield from _names(statement.test)


# -- break and continue as conditions
@dataclass(slots=True)
class _Flags:
    """Each loop gets a flag that skips the rest of a round, and one that says that it was left."""

    count: int = 0

    def block(self, block: Block, skip: ir.Var | None = None, stop: ir.Var | None = None) -> Block:
        made: list[ir.Stmt] = []
        for place, statement in enumerate(block):
            if isinstance(statement, ir.Break | ir.Continue):
                assert skip is not None
                assert stop is not None
                made.append(ir.Assign(skip, ir.Const(True, "pybool")))
                if isinstance(statement, ir.Break):
                    made.append(ir.Assign(stop, ir.Const(True, "pybool")))
                return tuple(made)
            made += self._statement(statement, skip, stop)
            if isinstance(statement, ir.If) and _jumps(statement):
                rest = self.block(block[place + 1 :], skip, stop)
                if rest and skip is not None:
                    made.append(ir.If(ir.Not(skip), rest))
                return tuple(made)
        return tuple(made)

    def _statement(self, statement: ir.Stmt, skip: ir.Var | None, stop: ir.Var | None) -> list[ir.Stmt]:
        if isinstance(statement, ir.If):
            bodies = (self.block(statement.body, skip, stop), self.block(statement.orelse, skip, stop))
            return [ir.If(statement.test, *bodies)]
        if isinstance(statement, ir.For | ir.While):
            return self._loop(statement)
        return [statement]

    def _loop(self, loop: ir.For | ir.While) -> list[ir.Stmt]:
        if not any(isinstance(s, ir.Break | ir.Continue) or (isinstance(s, ir.If) and _jumps(s)) for s in loop.body):
            return [_with_body(loop, self.block(loop.body)), *self.block(loop.orelse)]
        self.count += 1
        skip, stop = (ir.Var(f"{kind}_{self.count}", "pybool") for kind in ("skip", "stop"))
        false = ir.Const(False, "pybool")
        body = (ir.Assign(skip, false), *self.block(loop.body, skip, stop), ir.If(stop, (ir.Break(),)))
        after = self.block(loop.orelse)
        return [
            ir.Assign(stop, false),
            _with_body(loop, body),
            *((ir.If(ir.Not(stop), after),) if after else ()),
        ]


def _jumps(statement: ir.If) -> bool:
    """Whether a branch leaves or skips the loop around."""
    for each in (*statement.body, *statement.orelse):
        if isinstance(each, ir.Break | ir.Continue) or (isinstance(each, ir.If) and _jumps(each)):
            return True
    return False


def _with_body(loop: ir.For | ir.While, body: Block) -> ir.Stmt:
    if isinstance(loop, ir.While):
        return ir.While(loop.test, body)
    return ir.For(loop.variable, loop.start, loop.stop, loop.step, body)


# -- the two sweeps
@dataclass(slots=True)
class _Sweeps:
    """``needed`` are the names whose values the backward sweep reads, as far as is known."""

    active: frozenset[str]
    assigned: frozenset[str]
    dtypes: dict[str, str]
    needed: set[str] = field(default_factory=set)
    needed_before: frozenset[str] = frozenset()
    loops: dict[int, int] = field(default_factory=dict)

    def is_needed(self, name: str) -> bool:
        return name in self.needed_before

    # forward
    def forward(self, block: Block) -> Block:
        made: list[ir.Stmt] = []
        for statement in block:
            made += self._forward(statement)
        return tuple(made)

    def _forward(self, statement: ir.Stmt) -> list[ir.Stmt]:
        if isinstance(statement, ir.Assign):
            return [*self._push(statement.variable), statement]
        if isinstance(statement, ir.Store):
            load = ir.Load(statement.array, statement.index, self.dtypes[statement.array])
            return [*self._push_element(load), statement]
        if isinstance(statement, ir.If):
            if statement.body == (ir.Break(),):
                return [statement]
            marked = ((statement.body, ONE), (statement.orelse, ZERO))
            bodies = [(*self.forward(block), *_pushed_whole(mark)) for block, mark in marked]
            return [ir.If(statement.test, *bodies)]
        if isinstance(statement, ir.For | ir.While):
            return self._forward_loop(statement)
        return [statement]

    def _forward_loop(self, loop: ir.For | ir.While) -> list[ir.Stmt]:
        rounds = self._rounds(loop)
        count = ir.Assign(rounds, ir.Binary("add", rounds, ONE, "pyint"))
        body = (count, *self.forward(loop.body))
        before: list[ir.Stmt] = [ir.Assign(rounds, ZERO)]
        if isinstance(loop, ir.For):
            before += self._push(loop.variable)
            if not self._counts(loop):
                turn = ir.Var(f"{loop.variable.name}_of_{rounds.name}", "pyint")
                body = (count, *self._push(loop.variable), ir.Assign(loop.variable, turn), *self.forward(loop.body))
                return [*before, ir.For(turn, loop.start, loop.stop, loop.step, body), *_pushed_whole(rounds)]
        return [*before, _with_body(loop, body), *_pushed_whole(rounds)]

    def _rounds(self, loop: ir.Stmt) -> ir.Var:
        return ir.Var(f"rounds_{self.loops.setdefault(id(loop), len(self.loops))}", "pyint")

    def _counts(self, loop: ir.For) -> bool:
        """Whether the values of its variable can be counted down: nothing else changes it, the steps are known."""
        inside = {s.variable.name for s in _walk(loop.body) if isinstance(s, ir.Assign)}
        inside |= {s.variable.name for s in _walk(loop.body) if isinstance(s, ir.For)}
        fixed = isinstance(loop.step, ir.Const) and _is_fixed(loop.start, self.assigned)
        return fixed and loop.variable.name not in inside

    def _push(self, variable: ir.Var) -> list[ir.Stmt]:
        return _pushed_value(variable) if self.is_needed(variable.name) else []

    def _push_element(self, load: ir.Load) -> list[ir.Stmt]:
        return _pushed_value(load) if self.is_needed(load.array) else []

    # backward
    def backward(self, block: Block) -> Block:
        made: list[ir.Stmt] = []
        for statement in reversed(block):
            made += self._backward(statement)
        return tuple(made)

    def _backward(self, statement: ir.Stmt) -> list[ir.Stmt]:
        if isinstance(statement, ir.Assign):
            return [*self._pop(statement.variable), *self._adjoint(statement)]
        if isinstance(statement, ir.Store):
            return [*self._pop_element(statement), *self._adjoint(statement)]
        if isinstance(statement, ir.If):
            if statement.body == (ir.Break(),):
                return []
            flag = ir.Var(f"flag_{self.loops.setdefault(id(statement), len(self.loops))}", "pyint")
            test = ir.Compare("ne", flag, ZERO)
            return [*_popped_whole(flag), ir.If(test, self.backward(statement.body), self.backward(statement.orelse))]
        if isinstance(statement, ir.For | ir.While):
            return self._backward_loop(statement)
        return []

    def _backward_loop(self, loop: ir.For | ir.While) -> list[ir.Stmt]:
        rounds = self._rounds(loop)
        body = self.backward(loop.body)
        turn = ir.Var(f"turn_of_{rounds.name}", "pyint")
        if not isinstance(loop, ir.For):
            return [*_popped_whole(rounds), ir.For(turn, ZERO, rounds, ONE, body)]
        after = self._pop(loop.variable)
        if not self._counts(loop):
            body = (*body, *self._pop(loop.variable))
            return [*_popped_whole(rounds), ir.For(turn, ZERO, rounds, ONE, body), *after]
        self.needed |= set(_names(loop.start)) & self.assigned
        assert isinstance(loop.step, ir.Const)
        step = int(loop.step.value)
        last = _shifted(
            loop.start, ir.Binary("mul", ir.Binary("sub", rounds, ONE, "pyint"), ir.Const(step, "pyint"), "pyint")
        )
        stop = ir.Binary("sub", loop.start, ir.Const(step, "pyint"), "pyint")
        return [*_popped_whole(rounds), ir.For(loop.variable, last, stop, ir.Const(-step, "pyint"), body), *after]

    def _adjoint(self, statement: ir.Assign | ir.Store) -> list[ir.Stmt]:
        """Take the cotangent of what was assigned, leave 0, hand it on."""
        value = statement.value
        if isinstance(statement, ir.Assign):
            name = statement.variable.name
            target: ir.Expr = ir.Var(adjoint_of(name), "float64")
            is_real = statement.variable.type in FLOATS
        else:
            name = statement.array
            target = ir.Load(adjoint_of(name), statement.index, "float64")
            is_real = True
        if not is_real or name not in self.active:
            return []
        steps = Adjoint(self.active, serial=1000 * self.loops.setdefault(id(statement), len(self.loops)))
        g = steps.fresh(target)
        clear: ir.Stmt
        if isinstance(statement, ir.Assign):
            clear = ir.Assign(target, number(0.0))  # type: ignore[arg-type]  # a Var here
        else:
            clear = ir.Store(adjoint_of(name), statement.index, number(0.0))
        steps.made.append(clear)
        first, steps.made = steps.made, []
        steps.back(value, g)
        self._note(first)
        self._note(steps.made)
        if is_risky(value) and steps.made:
            return [*first, ir.If(ir.Compare("ne", g, number(0.0)), tuple(steps.made))]
        return [*first, *steps.made]

    def _note(self, block: Sequence[ir.Stmt]) -> None:
        self.needed |= set(_read_in(block))

    def _pop(self, variable: ir.Var) -> list[ir.Stmt]:
        if not self.is_needed(variable.name):
            return []
        step, value = _popped_value(variable.type)
        return [step, ir.Assign(variable, value)]

    def _pop_element(self, store: ir.Store) -> list[ir.Stmt]:
        if not self.is_needed(store.array):
            return []
        if any(store.array in set(_names(each)) for each in store.index):
            raise Unsupported("no-derivative", "a write to a place that the written array tells")
        for each in store.index:
            self.needed |= set(_names(each))
        step, value = _popped_value(self.dtypes[store.array])
        return [step, ir.Store(store.array, store.index, value)]


def _is_fixed(value: ir.Expr, assigned: frozenset[str]) -> bool:
    return isinstance(value, ir.Const | ir.Size) or (isinstance(value, ir.Var) and value.name not in assigned)


def _shifted(value: ir.Expr, by: ir.Expr) -> ir.Expr:
    return ir.Binary("add", value, by, "pyint")


def _pushed(tape: str, value: ir.Expr) -> list[ir.Stmt]:
    """The tape is written as far as it is long, and counted on."""
    top = _top(tape)
    fits = ir.Compare("lt", top, ir.Size(tape, 0))
    return [
        ir.If(fits, (ir.Store(tape, (top,), value),)),
        ir.Assign(top, ir.Binary("add", top, ONE, "pyint")),
    ]


def _pushed_whole(value: ir.Expr) -> list[ir.Stmt]:
    return _pushed(WHOLE, value)


def _popped(tape: str, kind: str) -> tuple[ir.Stmt, ir.Expr]:
    top = _top(tape)
    return ir.Assign(top, ir.Binary("sub", top, ONE, "pyint")), ir.Load(tape, (top,), kind)


def _pushed_value(value: ir.Expr) -> list[ir.Stmt]:
    """Real numbers onto one tape, all others onto the other."""
    if value.type in FLOATS:
        return _pushed(REALS, wide(value))
    return _pushed_whole(value if value.type == "pyint" else ir.Cast(value, "pyint"))


def _popped_value(kind: str) -> tuple[ir.Stmt, ir.Expr]:
    if kind not in FLOATS:
        step, load = _popped(WHOLE, "int64")
        return step, _as_kind(ir.Cast(load, "pyint"), kind)
    step, load = _popped(REALS, "float64")
    return step, load if kind == "float64" else ir.Cast(load, kind)


def _as_kind(whole: ir.Expr, kind: str) -> ir.Expr:
    if kind in ("pybool", "bool"):
        return ir.Compare("ne", whole, ZERO, kind)
    return whole if kind == "pyint" else ir.Cast(whole, kind)


def _popped_whole(variable: ir.Var) -> list[ir.Stmt]:
    step, value = _popped_value("pyint")
    return [step, ir.Assign(variable, value)]
