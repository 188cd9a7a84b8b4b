"""Takes the syntax of a loop and the types of what it reads, gives typed statements.

Types are found by abstract evaluation in program order. At a loop head the types of the variables that the body
rebinds must settle: a variable that is an int or float before the loop and a NumPy scalar after one round starts as
that scalar, if this changes the type of nothing that the first round computes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.rules import binary_types, compare_type, function_types, is_numpy, refuse, store_is_exact

__all__ = ["Builder", "Outside"]

BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
LITERAL_TYPES: Mapping[type, str] = {bool: "pybool", int: "pyint", float: "pyfloat"}
WORD = 2**62  # Python ints in a region stay below this size; a result that might not leaves the region


class Outside:
    """What the region asks of the world around it; ``capture`` answers from the trackers."""

    def array(self, node: ast.expr) -> ir.ArrayParameter | None:
        """The array that an expression denotes, if it denotes one that the loop does not rebind."""
        raise NotImplementedError

    def scalar(self, node: ast.expr) -> ir.Var | ir.Const | None:
        """The number that it denotes, as a parameter of the region."""
        raise NotImplementedError

    def function(self, node: ast.expr) -> str | None:
        """The full name of the function that it denotes (``math.sqrt``, ``builtins.abs``)."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Either:
    """The variable has the type ``now`` if the loop before has run, else it still is a Python number of ``before``."""

    now: str
    before: str


@dataclass(frozen=True, slots=True)
class Mixed(Either):
    """The same where the variable may be either now, in two variables of the region: only a loop head joins them."""


@dataclass(slots=True)
class Builder:
    """``types`` maps the Python variables that are bound now to their types."""

    outside: Outside
    types: dict[str, str | Either] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)
    doubtful: dict[int, tuple[ir.Expr, Either]] = field(default_factory=dict)
    loops: list[list[dict[str, str | Either]]] = field(default_factory=list)

    # -- expressions
    def expression(self, node: ast.expr, *, either: bool = False) -> ir.Expr:
        """``either`` says that the user of the value asks ``kinds`` and treats all of them alike."""
        if isinstance(node, ast.Name) and isinstance(kind := self.types.get(node.id), Either):
            if isinstance(kind, Mixed):
                raise refuse(f"{node.id}, which may have two types")
            made: ir.Expr = self.doubt(_versioned(node.id, kind.now), kind)
        else:
            handler = _EXPRESSIONS.get(type(node))
            if handler is None:
                raise refuse(f"the expression {ast.unparse(node)}")
            made = handler(self, node)
        if not either and id(made) in self.doubtful:
            raise refuse(f"{ast.unparse(node)}, which may have two types")
        if not isinstance(node, ast.Name):
            self.seen.append(made.type)
        return made

    def doubt(self, made: ir.Expr, kind: Either) -> ir.Expr:
        """Note that a value may be a NumPy scalar or the Python number of equal value."""
        self.doubtful[id(made)] = (made, kind)
        return made

    def kinds(self, made: ir.Expr) -> tuple[str, ...]:
        """The types that a value may have."""
        known = self.doubtful.get(id(made))
        return (made.type,) if known is None else (known[1].now, known[1].before)

    def kind(self, made: ir.Expr) -> str | Either:
        known = self.doubtful.get(id(made))
        return made.type if known is None else known[1]

    def truth(self, node: ast.expr) -> ir.Expr:
        """An expression as a condition; a comparison may have operands of two types, its outcome is the same."""
        if isinstance(node, ast.BoolOp):
            word = "and" if isinstance(node.op, ast.And) else "or"
            return ir.Logic(word, tuple(self.truth(v) for v in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ir.Not(self.truth(node.operand))
        if isinstance(node, ast.Compare):
            return _compared(self, node)
        value = self.expression(node, either=True)
        if value.type in ("pybool", "bool"):
            return value
        return ir.Compare("ne", value, ir.Cast(ir.Const(0, "pyint"), value.type))

    def index(self, node: ast.expr, array: ir.ArrayParameter) -> tuple[ir.Expr, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if len(parts) != array.ndim:
            raise refuse(f"part of an array: {array.name}[{ast.unparse(node)}]")
        made = tuple(self.expression(p) for p in parts)
        for each in made:
            if each.type != "pyint" and not (is_numpy(each.type) and "int" in each.type):
                raise refuse(f"an index of type {each.type}")
        return made

    # -- statements
    def block(self, statements: Sequence[ast.stmt]) -> tuple[ir.Stmt, ...]:
        made: list[ir.Stmt] = []
        for statement in statements:
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                raise refuse(f"the statement {ast.unparse(statement).splitlines()[0]}")
            made.extend(handler(self, statement))
            if made and isinstance(made[-1], ir.Break | ir.Continue):
                break
        return tuple(made)

    def assign(self, target: ast.expr, value: ir.Expr) -> list[ir.Stmt]:
        if isinstance(target, ast.Name):
            self.types[target.id] = self.kind(value)
            return [ir.Assign(_versioned(target.id, value.type), value)]
        if not isinstance(target, ast.Subscript):
            raise refuse(f"the target {ast.unparse(target)}")
        array = self.outside.array(target.value)
        if array is None:
            raise refuse(f"the target {ast.unparse(target)}")
        for kind in self.kinds(value):
            if not store_is_exact(kind, array.dtype):
                raise refuse(f"storing {kind} in an array of {array.dtype}")
        self.written.add(array.name)
        return [ir.Store(array.name, self.index(target.slice, array), value)]

    def loop_body(
        self, node: ast.For | ast.While, before: dict[str, str | Either], enter: Callable[[], Any], *, runs: bool
    ) -> tuple[list[ir.Stmt], Any, tuple[ir.Stmt, ...]]:
        """Evaluate a body until the types at its head settle: (casts to make before, what ``enter`` gave, body).

        ``runs`` says that there is at least one round.
        """
        head = dict(before)
        first: list[str] | None = None
        for _ in range(4):
            self.types = dict(head)
            self.seen = []
            self.loops.append([])
            entered = enter()
            body = self.block(node.body)
            ends = [*self.loops.pop(), dict(self.types)]
            first = self.seen if first is None else first
            widened = _settle(head, ends)
            if widened is None:
                _check_first_round(first, self.seen)
                casts = [_cast_before(n, before[n], head[n]) for n in head if head[n] != before[n]]
                self.types = _after_loop(before, head, runs=runs)
                return casts, entered, body
            head = widened
        raise refuse("types that do not settle")


_ALIKE = {("float64", "pyfloat"), ("int64", "pyint"), ("bool", "pybool")}


def _alike(now: str, before: str) -> bool:
    """Whether a NumPy scalar and a Python number of equal value go through the same arithmetic."""
    return now == before or (now, before) in _ALIKE or (before, now) in _ALIKE


def _check_first_round(first: list[str], last: list[str]) -> None:
    """Starting a variable in its later type must not change what the first round computes."""
    if len(first) != len(last) or not all(map(_alike, last, first)):
        raise refuse("a variable whose first round computes in another type")


def _versioned(name: str, kind: str) -> ir.Var:
    return ir.Var(f"{name}_{kind}", kind)


def _settle(
    head: dict[str, str | Either], ends: Sequence[Mapping[str, str | Either]]
) -> dict[str, str | Either] | None:
    """The types to start the next attempt with, or None if those at the end agree with the head."""
    widened = dict(head)
    for name in head:
        for end in ends:
            if name not in end:
                raise refuse(f"{name}, which has two types in one round")
            widened[name] = _join(name, widened[name], end[name])
    return None if widened == head else widened


def _join(name: str, kind: str | Either, later: str | Either) -> str | Either:
    """A type for a variable that is ``kind`` in one round and ``later`` in the next."""
    kinds = [*_kinds_of(kind), *_kinds_of(later)]
    wide = [k for k in kinds if is_numpy(k)] or [k for k in kinds if k == "pyfloat"] or kinds
    if any(k != wide[0] and not _widens(k, wide[0]) for k in kinds):
        raise refuse(f"{name}, which is {kinds[0]} in one round and {kinds[-1]} in the next")
    return wide[0]


def _widens(before: str, later: str) -> bool:
    """``s = 0`` before a loop that adds floats: the int may start as that float."""
    if later == "bool":
        return before == "pybool"
    return before in ("pyint", "pyfloat") and (later == "pyfloat" or is_numpy(later))


def _cast_before(name: str, before: str | Either, head: str | Either) -> ir.Stmt:
    old = before.now if isinstance(before, Either) else before
    new = head.now if isinstance(head, Either) else head
    if old == "pyfloat" and "int" in new:
        raise refuse(f"{name}, which starts as a float and becomes {new}")
    return ir.Assign(_versioned(name, new), ir.Cast(_versioned(name, old), new))


def _after_loop(
    before: Mapping[str, str | Either], head: Mapping[str, str | Either], *, runs: bool
) -> dict[str, str | Either]:
    """After the loop: names of the head keep its type; names that only the body binds may be unbound."""
    after: dict[str, str | Either] = {}
    for name, kind in head.items():
        old = before[name]
        if kind == old or runs:
            after[name] = kind
        elif isinstance(kind, str) and isinstance(old, str):
            after[name] = Either(kind, old)
    return after


# -- expressions
def _constant(b: Builder, node: ast.Constant) -> ir.Expr:
    kind = LITERAL_TYPES.get(type(node.value))
    if kind is None or (kind == "pyint" and not -WORD < node.value < WORD):  # type: ignore[operator]  # an int here
        raise refuse(f"the constant {node.value!r}")
    return ir.Const(node.value, kind)  # type: ignore[arg-type]  # one of LITERAL_TYPES


def _name(b: Builder, node: ast.Name) -> ir.Expr:
    kind = b.types.get(node.id)
    if isinstance(kind, str):
        return _versioned(node.id, kind)
    found = b.outside.scalar(node)
    if found is None:
        raise refuse(f"the value of {node.id}")
    return found


def _attribute(b: Builder, node: ast.Attribute) -> ir.Expr:
    array = b.outside.array(node.value)
    if array is not None and node.attr == "size" and array.ndim == 1:
        return ir.Size(array.name, 0)
    found = b.outside.scalar(node)
    if found is None:
        raise refuse(f"the value of {ast.unparse(node)}")
    return found


def _subscript(b: Builder, node: ast.Subscript) -> ir.Expr:
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr == "shape" and isinstance(node.slice, ast.Constant):
        shaped = b.outside.array(owner.value)
        axis = node.slice.value
        if shaped is not None and isinstance(axis, int) and -shaped.ndim <= axis < shaped.ndim:
            return ir.Size(shaped.name, axis % shaped.ndim)
    array = b.outside.array(owner)
    if array is None:
        raise refuse(f"the value of {ast.unparse(node)}")
    return ir.Load(array.name, b.index(node.slice, array), array.dtype)


def binary(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if operator == "pow" and left.type in ("pyint", "pybool") and right.type in ("pyint", "pybool"):
        return _int_power(left, right)
    if operator == "truediv" and {left.type, right.type} <= {"pyint", "pybool"}:
        return ir.Binary("intdiv", _cast(left, "pyint"), _cast(right, "pyint"), "pyfloat")
    inner, result = binary_types(operator, left.type, right.type)
    return ir.Binary(operator, _cast(left, inner), _cast(right, inner), result)


def _int_power(base: ir.Expr, exponent: ir.Expr) -> ir.Expr:
    if not isinstance(exponent, ir.Const) or not 1 <= exponent.value <= 4:
        raise refuse("a power of ints")
    made = _cast(base, "pyint")
    power = made
    for _ in range(int(exponent.value) - 1):
        power = ir.Binary("mul", power, made, "pyint")
    return power


def _cast(value: ir.Expr, kind: str) -> ir.Expr:
    return value if value.type == kind else ir.Cast(value, kind)


def _binary(b: Builder, node: ast.BinOp) -> ir.Expr:
    operator = BINARY.get(type(node.op))
    if operator is None:
        raise refuse(f"the operator in {ast.unparse(node)}")
    return _operate(b, operator, b.expression(node.left, either=True), node.right)


def _operate(b: Builder, operator: str, left: ir.Expr, second: ast.expr) -> ir.Expr:
    """A binary operation; with an operand that may have two types the result may have two as well."""
    right = b.expression(second, either=True)
    made = binary(operator, left, right)
    found = {binary(operator, _as(left, k), _as(right, m)).type for k in b.kinds(left) for m in b.kinds(right)}
    found.discard(made.type)
    if not found:
        return made
    other = found.pop()
    if found or not _alike(made.type, other):
        raise refuse("an operand that may have two types")
    return b.doubt(made, Either(made.type, other))


def _as(value: ir.Expr, kind: str) -> ir.Expr:
    return value if value.type == kind else ir.Var("any", kind)


def _unary(b: Builder, node: ast.UnaryOp) -> ir.Expr:
    if isinstance(node.op, ast.Not):
        return ir.Not(b.truth(node.operand))
    value = b.expression(node.operand, either=True)
    if isinstance(node.op, ast.UAdd) and value.type in ("pyint", "pyfloat"):
        return value
    if not isinstance(node.op, ast.USub) or value.type in ("pybool", "bool") or value.type.startswith("uint"):
        raise refuse(f"the operator in {ast.unparse(node)}")
    if isinstance(value, ir.Const):
        return ir.Const(-value.value, value.type)
    if not all(_alike(value.type, kind) for kind in b.kinds(value)):
        raise refuse(f"{ast.unparse(node)} of an int or a float, whose zeros differ")
    return _like(b, ir.Unary("neg", value, value.type), value)


def _like(b: Builder, made: ir.Expr, operand: ir.Expr) -> ir.Expr:
    """A result that has two types exactly if its operand has."""
    kind = b.kind(operand)
    return b.doubt(made, kind) if isinstance(kind, Either) else made


def _compare(b: Builder, node: ast.Compare) -> ir.Expr:
    return _compared(b, node, as_value=True)


def _compared(b: Builder, node: ast.Compare, *, as_value: bool = False) -> ir.Expr:
    """Comparisons; as a condition the type of the outcome does not matter, as a value it does."""
    left = b.expression(node.left, either=not as_value)
    tests: list[ir.Expr] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        operator = COMPARE.get(type(op))
        if operator is None:
            raise refuse(f"the comparison {ast.unparse(node)}")
        right = b.expression(right_node, either=not as_value)
        inner, result = compare_type(left.type, right.type)
        tests.append(ir.Compare(operator, _cast(left, inner), _cast(right, inner), result if as_value else "pybool"))
        left = right
    if len(tests) == 1:
        return tests[0]
    if len({t.type for t in tests}) > 1:
        raise refuse(f"the comparison {ast.unparse(node)}")
    return ir.Logic("and", tuple(tests), tests[0].type)


def _bool(b: Builder, node: ast.BoolOp) -> ir.Expr:
    made = tuple(b.expression(v) for v in node.values)
    if {m.type for m in made} not in ({"pybool"}, {"bool"}):
        raise refuse(f"the value of {ast.unparse(node)}")
    return ir.Logic("and" if isinstance(node.op, ast.And) else "or", made, made[0].type)


def _conditional(b: Builder, node: ast.IfExp) -> ir.Expr:
    test = b.truth(node.test)
    body, orelse = b.expression(node.body), b.expression(node.orelse)
    if body.type != orelse.type:
        raise refuse(f"two types in {ast.unparse(node)}")
    return ir.Logic("choose", (test, body, orelse), body.type)


def _call(b: Builder, node: ast.Call) -> ir.Expr:
    name = b.outside.function(node.func)
    if name is None or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise refuse(f"the call {ast.unparse(node)}")
    handler = _CALLS.get(name)
    if handler is not None:
        return handler(b, node)
    if len(node.args) != 1:
        raise refuse(f"the call {ast.unparse(node)}")
    operand = b.expression(node.args[0], either=True)
    inner, result = function_types(name, operand.type)
    made = ir.Unary(name, _cast(operand, inner), result)
    if any(function_types(name, kind) != (inner, result) for kind in b.kinds(operand)):
        raise refuse(f"the call {ast.unparse(node)}")
    return made


def _len(b: Builder, node: ast.Call) -> ir.Expr:
    array = b.outside.array(node.args[0])
    if array is None or not array.ndim:
        raise refuse(f"the call {ast.unparse(node)}")
    return ir.Size(array.name, 0)


def _abs(b: Builder, node: ast.Call) -> ir.Expr:
    value = b.expression(node.args[0], either=True)
    if value.type in ("pybool", "bool"):
        raise refuse(f"the call {ast.unparse(node)}")
    return _like(b, ir.Unary("abs", value, value.type), value)


def _extreme(operator: str) -> Callable[[Builder, ast.Call], ir.Expr]:
    """``max(a, b)`` is ``b if b > a else a``: what stays is the first, also for nan and equal values."""

    def call(b: Builder, node: ast.Call) -> ir.Expr:
        values = [b.expression(a) for a in node.args]
        if len(values) < 2 or len({v.type for v in values}) > 1 or values[0].type in ("pybool", "bool"):
            raise refuse(f"the call {ast.unparse(node)}")
        best = values[0]
        for value in values[1:]:
            best = ir.Logic("choose", (ir.Compare(operator, value, best), value, best), best.type)
        return best

    return call


def _int(b: Builder, node: ast.Call) -> ir.Expr:
    value = b.expression(node.args[0], either=True)
    return value if b.kinds(value) == ("pyint",) else ir.Unary("int", value, "pyint")


def _float(b: Builder, node: ast.Call) -> ir.Expr:
    value = b.expression(node.args[0], either=True)
    return value if b.kinds(value) == ("pyfloat",) else ir.Cast(value, "pyfloat")


_CALLS: Mapping[str, Callable[[Builder, ast.Call], ir.Expr]] = {
    "builtins.len": _len,
    "builtins.abs": _abs,
    "builtins.max": _extreme("gt"),
    "builtins.min": _extreme("lt"),
    "builtins.int": _int,
    "builtins.float": _float,
    "numpy.abs": _abs,
    "numpy.absolute": _abs,
}
_EXPRESSIONS: Mapping[type[ast.expr], Callable[[Builder, Any], ir.Expr]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.IfExp: _conditional,
    ast.Call: _call,
}


# -- statements
def _assign(b: Builder, node: ast.Assign) -> list[ir.Stmt]:
    if len(node.targets) != 1:
        raise refuse("several targets")
    target = node.targets[0]
    if not isinstance(target, ast.Tuple):
        return b.assign(target, b.expression(node.value, either=True))
    if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != len(target.elts):
        raise refuse("unpacking")
    values = [b.expression(v, either=True) for v in node.value.elts]
    place = f"{node.lineno}_{node.col_offset}"
    held = [_like(b, _versioned(f"held{place}_{i}", v.type), v) for i, v in enumerate(values)]
    made: list[ir.Stmt] = [ir.Assign(h, v) for h, v in zip(held, values, strict=True)]  # type: ignore[arg-type]  # Vars
    for each, value in zip(target.elts, held, strict=True):
        made.extend(b.assign(each, value))
    return made


def _augmented(b: Builder, node: ast.AugAssign) -> list[ir.Stmt]:
    operator = BINARY.get(type(node.op))
    if operator is None:
        raise refuse("the operator")
    load: Any = ast.copy_location(
        ast.Name(node.target.id, ast.Load())
        if isinstance(node.target, ast.Name)
        else ast.Subscript(node.target.value, node.target.slice, ast.Load())
        if isinstance(node.target, ast.Subscript)
        else ast.Constant(None),
        node,
    )
    return b.assign(node.target, _operate(b, operator, b.expression(load, either=True), node.value))


def _if(b: Builder, node: ast.If) -> list[ir.Stmt]:
    test = b.truth(node.test)
    before = dict(b.types)
    body = b.block(node.body)
    left = None if _leaves(body) else b.types
    b.types = dict(before)
    orelse = b.block(node.orelse)
    right = None if _leaves(orelse) else b.types
    b.types = _merge(left, right)
    return [ir.If(test, body, orelse)]


def _leaves(block: tuple[ir.Stmt, ...]) -> bool:
    return bool(block) and isinstance(block[-1], ir.Break | ir.Continue)


def _merge(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    """Types after an ``if``. A name that is bound on one side only, or with types that do not mix, must not be read.

    A Python number on one side and the NumPy scalar that it may become on the other are joined by the loop around.
    """
    if left is None or right is None:
        return dict((left if right is None else right) or {})
    merged: dict[str, Any] = {}
    for name in left.keys() & right.keys():
        if left[name] == right[name]:
            merged[name] = left[name]
            continue
        kinds = dict.fromkeys((*_kinds_of(left[name]), *_kinds_of(right[name])))
        now = next((k for k in kinds if is_numpy(k)), "pyfloat")
        others = [k for k in kinds if k != now]
        if len(others) == 1 and _widens(others[0], now):
            merged[name] = Mixed(now, others[0])
    return merged


def _kinds_of(kind: str | Either) -> tuple[str, ...]:
    return (kind.now, kind.before) if isinstance(kind, Either) else (kind,)


def _for(b: Builder, node: ast.For) -> list[ir.Stmt]:
    if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
        raise refuse(f"a loop over {ast.unparse(node.iter)}")
    if b.outside.function(node.iter.func) != "builtins.range" or node.iter.keywords:
        raise refuse(f"a loop over {ast.unparse(node.iter)}")
    start, stop, step = _range(b, node.iter.args)
    before = dict(b.types)
    name = node.target.id
    counter = ir.Var(f"at{node.lineno}_{node.col_offset}_pyint", "pyint")

    def enter() -> ir.Stmt:
        b.types[name] = "pyint"
        return ir.Assign(_versioned(name, "pyint"), counter)

    runs = all(isinstance(v, ir.Const) for v in (start, stop, step)) and _is_nonempty(start, stop, step)
    casts, bind, body = b.loop_body(node, before, enter, runs=runs)
    orelse = b.block(node.orelse)
    return [*casts, ir.For(counter, start, stop, step, (bind, *body), orelse)]


def _is_nonempty(start: Any, stop: Any, step: Any) -> bool:
    return bool(step.value) and len(range(start.value, stop.value, step.value)) > 0


def _range(b: Builder, args: Sequence[ast.expr]) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    values = [b.expression(a) for a in args]
    if any(v.type != "pyint" and not (is_numpy(v.type) and "int" in v.type) for v in values):
        raise refuse("a range of what is no int")
    made = [_cast(v, "pyint") for v in values]
    if len(made) == 1:
        return ir.Const(0, "pyint"), made[0], ir.Const(1, "pyint")
    return made[0], made[1], made[2] if len(made) == 3 else ir.Const(1, "pyint")


def _while(b: Builder, node: ast.While) -> list[ir.Stmt]:
    before = dict(b.types)
    casts, test, body = b.loop_body(node, before, lambda: b.truth(node.test), runs=False)
    return [*casts, ir.While(test, body, b.block(node.orelse))]


def _break(b: Builder, node: ast.stmt) -> list[ir.Stmt]:
    b.loops[-1].append(dict(b.types))
    return [ir.Break() if isinstance(node, ast.Break) else ir.Continue()]


def _expression_statement(b: Builder, node: ast.Expr) -> list[ir.Stmt]:
    if isinstance(node.value, ast.Constant):
        return []
    raise refuse(f"the statement {ast.unparse(node)}")


_STATEMENTS: Mapping[type[ast.stmt], Callable[[Builder, Any], list[ir.Stmt]]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _break,
    ast.Pass: lambda b, node: [],
    ast.Expr: _expression_statement,
}
