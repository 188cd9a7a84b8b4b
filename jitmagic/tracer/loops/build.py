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


@dataclass(slots=True)
class Builder:
    """``types`` maps the Python variables that are bound now to their types."""

    outside: Outside
    types: dict[str, str | Either] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    seen: list[tuple[int, str]] = field(default_factory=list)
    loops: list[list[dict[str, str | Either]]] = field(default_factory=list)

    # -- expressions
    def expression(self, node: ast.expr, *, either: bool = False) -> ir.Expr:
        """``either`` says that the user of the value has asked ``kinds`` and treats all of them alike."""
        if either and isinstance(node, ast.Name) and isinstance(kind := self.types.get(node.id), Either):
            return _versioned(node.id, kind.now)
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise refuse(f"the expression {ast.unparse(node)}")
        made = handler(self, node)
        if not isinstance(node, ast.Name):
            self.seen.append((id(node), made.type))
        return made

    def truth(self, node: ast.expr) -> ir.Expr:
        """An expression as a condition."""
        if isinstance(node, ast.BoolOp):
            word = "and" if isinstance(node.op, ast.And) else "or"
            return ir.Logic(word, tuple(self.truth(v) for v in node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ir.Not(self.truth(node.operand))
        value = self.expression(node)
        if value.type in ("pybool", "bool"):
            return value
        return ir.Compare("ne", value, ir.Cast(ir.Const(0, "pyint"), value.type))

    def kinds(self, node: ast.expr, made: ir.Expr) -> tuple[str, ...]:
        """The types that the value of ``node`` may have."""
        kind = self.types.get(node.id) if isinstance(node, ast.Name) else None
        return (kind.now, kind.before) if isinstance(kind, Either) else (made.type,)

    def variable(self, name: str) -> ir.Var:
        kind = self.types[name]
        if isinstance(kind, Either):
            raise refuse(f"{name} may still have its type from before the loop")
        return _versioned(name, kind)

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
            if value.type not in ("pyint", "pyfloat", "pybool") and not is_numpy(value.type):
                raise refuse(f"a value of type {value.type}")
            self.types[target.id] = value.type
            return [ir.Assign(_versioned(target.id, value.type), value)]
        if not isinstance(target, ast.Subscript):
            raise refuse(f"the target {ast.unparse(target)}")
        array = self.outside.array(target.value)
        if array is None:
            raise refuse(f"the target {ast.unparse(target)}")
        if not store_is_exact(value.type, array.dtype):
            raise refuse(f"storing {value.type} in an array of {array.dtype}")
        self.written.add(array.name)
        return [ir.Store(array.name, self.index(target.slice, array), value)]

    def loop_body(
        self, node: ast.For | ast.While, before: dict[str, str | Either], enter: Callable[[], Any]
    ) -> tuple[list[ir.Stmt], Any, tuple[ir.Stmt, ...]]:
        """Evaluate a body until the types at its head settle: (casts to make before, what ``enter`` gave, body)."""
        head = dict(before)
        first: list[tuple[int, str]] | None = None
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
                self._check_first_round(first)
                casts = [_cast_before(n, before[n], head[n]) for n in head if n in before and head[n] != before[n]]
                self.types = _after_loop(before, head, ends)
                return casts, entered, body
            head = widened
        raise refuse("types that do not settle")

    def _check_first_round(self, first: list[tuple[int, str]]) -> None:
        """Starting a variable in its later type must not change what the first round computes."""
        if [t for _, t in first] != [t for _, t in self.seen] or len(first) != len(self.seen):
            raise refuse("a variable whose first round computes in another type")


def _versioned(name: str, kind: str) -> ir.Var:
    return ir.Var(f"{name}_{kind}", kind)


def _settle(
    head: dict[str, str | Either], ends: Sequence[Mapping[str, str | Either]]
) -> dict[str, str | Either] | None:
    """The types to start the next attempt with, or None if those at the end agree with the head."""
    widened = dict(head)
    for name, kind in head.items():
        for end in ends:
            later = end.get(name)
            if later is None or later == kind:
                continue
            if isinstance(later, Either):
                later = later.now if later.before == kind else later
            if later == kind:
                continue
            if isinstance(later, Either) or isinstance(kind, Either) or not _widens(kind, later):
                raise refuse(f"{name} is {kind} in one round and {later} in the next")
            widened[name] = later
    return None if widened == head else widened


def _widens(before: str, later: str) -> bool:
    """``s = 0`` before a loop that adds floats: the int may start as that float."""
    return before in ("pyint", "pyfloat") and (later == "pyfloat" or is_numpy(later)) and later != "bool"


def _cast_before(name: str, before: str | Either, head: str | Either) -> ir.Stmt:
    if isinstance(before, Either) or isinstance(head, Either):
        raise refuse(f"{name} may have two types")
    if before == "pyfloat" and "int" in head:
        raise refuse(f"{name} starts as a float and becomes {head}")
    return ir.Assign(_versioned(name, head), ir.Cast(_versioned(name, before), head))


def _after_loop(
    before: Mapping[str, str | Either], head: Mapping[str, str | Either], ends: Sequence[Mapping[str, str | Either]]
) -> dict[str, str | Either]:
    """After the loop: names of the head keep its type; names that only the body binds may be unbound."""
    after: dict[str, str | Either] = {}
    for name, kind in head.items():
        old = before[name]
        after[name] = kind if old == kind or isinstance(kind, Either) or isinstance(old, Either) else Either(kind, old)
    return after


# -- expressions
def _constant(b: Builder, node: ast.Constant) -> ir.Expr:
    kind = LITERAL_TYPES.get(type(node.value))
    if kind is None or (kind == "pyint" and not -WORD < node.value < WORD):  # type: ignore[operator]  # an int here
        raise refuse(f"the constant {node.value!r}")
    return ir.Const(node.value, kind)  # type: ignore[arg-type]  # one of LITERAL_TYPES


def _name(b: Builder, node: ast.Name) -> ir.Expr:
    if node.id in b.types:
        return b.variable(node.id)
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
    return _operate(b, operator, (node.left, b.expression(node.left, either=True)), node.right)


def _operate(b: Builder, operator: str, first: tuple[ast.expr, ir.Expr], second: ast.expr) -> ir.Expr:
    """A binary operation; an operand that may have two types must give the same with both."""
    left, right = first[1], b.expression(second, either=True)
    pairs = [(k, m) for k in b.kinds(first[0], left) for m in b.kinds(second, right)]
    if len(pairs) > 1 and len({binary_types(operator, *pair) for pair in pairs}) > 1:
        raise refuse("an operand that may have two types")
    return binary(operator, left, right)


def _unary(b: Builder, node: ast.UnaryOp) -> ir.Expr:
    if isinstance(node.op, ast.Not):
        return ir.Not(b.truth(node.operand))
    value = b.expression(node.operand)
    if isinstance(node.op, ast.UAdd) and value.type in ("pyint", "pyfloat"):
        return value
    if not isinstance(node.op, ast.USub) or value.type in ("pybool", "bool") or value.type.startswith("uint"):
        raise refuse(f"the operator in {ast.unparse(node)}")
    if isinstance(value, ir.Const):
        return ir.Const(-value.value, value.type)
    return ir.Unary("neg", value, value.type)


def _compare(b: Builder, node: ast.Compare) -> ir.Expr:
    left = b.expression(node.left)
    tests: list[ir.Expr] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        operator = COMPARE.get(type(op))
        if operator is None:
            raise refuse(f"the comparison {ast.unparse(node)}")
        right = b.expression(right_node)
        inner, result = compare_type(left.type, right.type)
        tests.append(ir.Compare(operator, _cast(left, inner), _cast(right, inner), result))
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
    operand = b.expression(node.args[0])
    inner, result = function_types(name, operand.type)
    return ir.Unary(name, _cast(operand, inner), result)


def _len(b: Builder, node: ast.Call) -> ir.Expr:
    array = b.outside.array(node.args[0])
    if array is None or not array.ndim:
        raise refuse(f"the call {ast.unparse(node)}")
    return ir.Size(array.name, 0)


def _abs(b: Builder, node: ast.Call) -> ir.Expr:
    value = b.expression(node.args[0])
    if value.type in ("pybool", "bool"):
        raise refuse(f"the call {ast.unparse(node)}")
    return ir.Unary("abs", value, value.type)


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
    value = b.expression(node.args[0])
    return value if value.type == "pyint" else ir.Unary("int", value, "pyint")


def _float(b: Builder, node: ast.Call) -> ir.Expr:
    return _cast(b.expression(node.args[0]), "pyfloat")


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
    if isinstance(target, ast.Subscript):
        value = b.expression(node.value, either=True)
        array = b.outside.array(target.value)
        if array is not None and not all(store_is_exact(k, array.dtype) for k in b.kinds(node.value, value)):
            raise refuse("storing a value that may have two types")
        return b.assign(target, value)
    if not isinstance(target, ast.Tuple):
        return b.assign(target, b.expression(node.value))
    if not isinstance(node.value, ast.Tuple) or len(node.value.elts) != len(target.elts):
        raise refuse("unpacking")
    values = [b.expression(v) for v in node.value.elts]
    held = [_versioned(f"held{i}", v.type) for i, v in enumerate(values)]
    made: list[ir.Stmt] = [ir.Assign(h, v) for h, v in zip(held, values, strict=True)]
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
    return b.assign(node.target, _operate(b, operator, (load, b.expression(load, either=True)), node.value))


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
    """Types after an ``if``: a name with two types, or bound on one side only, must not be read again."""
    if left is None or right is None:
        return dict((left if right is None else right) or {})
    return {name: kind for name, kind in left.items() if right.get(name) == kind}


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

    casts, bind, body = b.loop_body(node, before, enter)
    orelse = b.block(node.orelse)
    return [*casts, ir.For(counter, start, stop, step, (bind, *body), orelse)]


def _range(b: Builder, args: Sequence[ast.expr]) -> tuple[ir.Expr, ir.Expr, int]:
    values = [b.expression(a) for a in args]
    if any(v.type != "pyint" and not (is_numpy(v.type) and "int" in v.type) for v in values):
        raise refuse("a range of what is no int")
    made = [_cast(v, "pyint") for v in values]
    if len(made) == 1:
        return ir.Const(0, "pyint"), made[0], 1
    step = made[2] if len(made) == 3 else ir.Const(1, "pyint")
    if not isinstance(step, ir.Const) or not step.value:
        raise refuse("a range with a step that is not written out")
    return made[0], made[1], int(step.value)


def _while(b: Builder, node: ast.While) -> list[ir.Stmt]:
    before = dict(b.types)
    casts, test, body = b.loop_body(node, before, lambda: b.truth(node.test))
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
