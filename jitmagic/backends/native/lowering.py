"""Takes the text of a kernel, gives it as an LLVM module: Numba's instructions without Numba's analyses.

Each name of a kernel is assigned before it is read and each value has one type, so one walk over the text types and
lowers it. What an operator or a function of some types means is asked of Numba, once per process: ``types -> signature
and instructions`` is remembered. Numba's own way, through bytecode, inference and rewriting, takes ten times as long.

What the walk does not know raises Unsupported, and Numba compiles the text.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.errors import NumbaError

from jitmagic.backends.native.callees import NoLibrary, callee, function_kind, meaning
from jitmagic.errors import Unsupported

__all__ = ["lower"]

_I64 = ir.IntType(64)
_literal: Any = types.literal  # Numba is annotated in places only


class Typed(NamedTuple):
    """A value in a register, or the place of one in memory, with Numba's type."""

    kind: Any
    value: Any


Scope = dict[str, Typed]  # variables with the place of each: the same name may have places of several types


def lower(context: Any, source: str, name: str, symbol: str) -> ir.Module:
    """The module of ``int64 symbol(int64, int64, int64)``; raises Unsupported, or SyntaxError."""
    definition = next(s for s in ast.parse(source).body if isinstance(s, ast.FunctionDef) and s.name == name)
    parameters = [a.arg for a in definition.args.args]
    module: ir.Module = context.create_module(name)
    function = ir.Function(module, ir.FunctionType(_I64, [_I64] * len(parameters)), symbol)
    entry = function.append_basic_block("entry")  # has the memory of all variables, which LLVM makes registers
    builder = ir.IRBuilder(entry)
    start = builder.append_basic_block("start")
    builder.branch(start)
    builder.position_at_end(start)
    walk = _Walk(context, builder)
    for parameter, value in zip(parameters, function.args, strict=True):
        walk.set(parameter, Typed(types.int64, value))
    try:
        with context.push_code_library(NoLibrary()):
            walk.block(definition.body)
    except (NumbaError, NotImplementedError) as error:
        raise Unsupported("kernel", str(error)) from error
    if not builder.block.is_terminated:
        builder.ret(_I64(0))
    return module


@dataclass(slots=True)
class _Loop:
    """Where ``continue`` and ``break`` go, what was known before the loop, and what is known at each way out."""

    more: Any
    after: Any
    before: Scope
    ends: list[Scope] = field(default_factory=list)
    read: set[Any] = field(default_factory=set)  # places that each round reads before it sets them, or may


@dataclass(slots=True)
class _Walk:
    """``places`` has the memory of each variable by name and type."""

    context: Any
    builder: ir.IRBuilder
    scope: Scope = field(default_factory=dict)
    places: dict[tuple[str, Any], Typed] = field(default_factory=dict)
    loops: list[_Loop] = field(default_factory=list)
    read: set[Any] = field(default_factory=set)  # places whose values were asked for

    # -- statements
    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.builder.block.is_terminated:
                return
            _handler(_STATEMENTS, statement)(self, statement)

    def set(self, name: str, made: Typed) -> None:
        place = self.places.get((name, made.kind))
        if place is None:
            with self.builder.goto_entry_block():
                memory = self.builder.alloca(made.value.type, name=name)
            place = self.places[name, made.kind] = Typed(made.kind, memory)
        self.builder.store(made.value, place.value)
        self.scope[name] = place

    def leave_to(self, block: Any) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    # -- expressions
    def value(self, node: ast.expr) -> Typed:
        made: Typed = _handler(_EXPRESSIONS, node)(self, node)
        return made

    def call(self, kind: Any, arguments: Sequence[Typed]) -> Typed:
        """Call a function of Numba's type ``kind``; arguments are cast to what it takes."""
        given = tuple(a.kind for a in arguments)
        signature, write = callee(self.context, kind, given)
        values = [self.cast(a, wanted) for a, wanted in zip(arguments, signature.args, strict=True)]
        try:
            return Typed(signature.return_type, write(self.builder, values))
        except Exception as error:  # a function that Numba compiles asks for more than is here
            raise Unsupported("kernel", f"{kind}: {error}") from error

    def apply(self, function: Any, *arguments: Typed) -> Typed:
        """A Python operator, or builtin."""
        return self.call(function_kind(self.context, function), arguments)

    def cast(self, made: Typed, kind: Any) -> Any:
        return made.value if made.kind == kind else self.context.cast(self.builder, made.value, made.kind, kind)

    def truth(self, node: ast.expr) -> Any:
        made = self.value(node)
        return made.value if made.kind == types.boolean else self.apply(bool, made).value

    def word(self, node: ast.expr) -> Any:
        return meaning(self.context, ast.unparse(node))


def _handler(table: Mapping[type, Callable[..., Any]], node: ast.AST) -> Callable[..., Any]:
    handler = table.get(type(node))
    if handler is None:
        raise Unsupported("kernel", ast.unparse(node))
    return handler


# ---------------------------------------------------------------- statements


def _assign(w: _Walk, node: ast.Assign) -> None:
    (target,) = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        made = [w.value(each) for each in node.value.elts]
        pairs = list(zip(target.elts, made, strict=True))
    else:
        pairs = [(target, w.value(node.value))]
    for each, value in pairs:
        if not isinstance(each, ast.Name):
            raise Unsupported("kernel", ast.unparse(node))
        w.set(each.id, value)


def _augmented(w: _Walk, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise Unsupported("kernel", ast.unparse(node))
    left = w.value(ast.Name(node.target.id))
    w.set(node.target.id, w.apply(_OPERATORS[type(node.op)], left, w.value(node.value)))


def _if(w: _Walk, node: ast.If) -> None:
    b = w.builder
    then, after = b.append_basic_block("then"), b.append_basic_block("after")
    orelse = b.append_basic_block("else") if node.orelse else after
    b.cbranch(w.truth(node.test), then, orelse)
    before, ends = w.scope, []
    for block, statements in ((then, node.body), (orelse, node.orelse)):
        w.scope = dict(before)
        if block is not after:
            b.position_at_end(block)
            w.block(statements)
        if block is after or not b.block.is_terminated:
            ends.append(w.scope)
            w.leave_to(after) if block is not after else None
    b.position_at_end(after)
    w.scope = _joined(ends)
    if not ends:
        b.unreachable()


def _joined(ends: Sequence[Scope]) -> Scope:
    """What is known where several ways meet: a name whose type depends on the way is not."""
    found: Scope = {}
    for end in ends:
        found = {**end, **found}
    return {name: place for name, place in found.items() if all(end.get(name, place) == place for end in ends)}


def _for(w: _Walk, node: ast.For) -> None:
    target, start, stop, step = _range(w, node)
    b = w.builder
    with b.goto_entry_block():
        counter = b.alloca(_I64)
    b.store(start, counter)
    head, body, more, after = (b.append_basic_block(name) for name in ("head", "body", "more", "after"))
    b.branch(head)
    b.position_at_end(head)
    now = b.load(counter)
    b.cbranch(b.icmp_signed("<" if step > 0 else ">", now, stop), body, after)
    b.position_at_end(body)
    before = dict(w.scope)
    w.set(target, Typed(types.int64, now))
    _rounds(w, node.body, _Loop(more, after, before, [before]))
    b.position_at_end(more)
    b.store(b.add(b.load(counter), _I64(step), flags=("nsw",)), counter)
    b.branch(head)
    b.position_at_end(after)


def _range(w: _Walk, node: ast.For) -> tuple[str, Any, Any, int]:
    """Name, start, stop and step of ``for name in range(...)``; the step is a constant."""
    call = node.iter
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    if not is_range or not isinstance(node.target, ast.Name) or node.orelse:
        raise Unsupported("kernel", ast.unparse(node.iter))
    assert isinstance(call, ast.Call)
    bounds, step = call.args, 1
    if len(bounds) == 3:
        step = _number(w, bounds[2])
    made = [w.value(each) for each in bounds[:2]]
    if any(each.kind != types.int64 for each in made) or not isinstance(step, int) or step == 0:
        raise Unsupported("kernel", ast.unparse(node.iter))
    start = made[0].value if len(made) == 2 else _I64(0)
    return node.target.id, start, made[-1].value, step


def _while(w: _Walk, node: ast.While) -> None:
    if node.orelse:
        raise Unsupported("kernel", "else after while")
    b = w.builder
    head, body, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    endless = isinstance(node.test, ast.Constant) and node.test.value is True
    before = dict(w.scope)
    outside, w.read = w.read, set()
    if endless:
        b.branch(body)
    else:
        b.cbranch(w.truth(node.test), body, after)
    b.position_at_end(body)
    loop = _Loop(head, after, before, [] if endless else [before], w.read)
    w.read = outside
    _rounds(w, node.body, loop)
    b.position_at_end(after)
    if not loop.ends:
        b.unreachable()


def _rounds(w: _Walk, body: Sequence[ast.stmt], loop: _Loop) -> None:
    """The body of a loop; what a round reads of the one before has the type that it had before the loop."""
    w.loops.append(loop)
    outside, w.read = w.read, loop.read
    w.block(body)
    w.loops.pop()
    if not w.builder.block.is_terminated:
        _check_round(w, loop)
        loop.ends.append(w.scope) if loop.before in loop.ends else None
        w.builder.branch(loop.more)
    w.read |= outside
    w.scope = _joined(loop.ends)


def _check_round(w: _Walk, loop: _Loop) -> None:
    known = loop.before.items()
    changed = [name for name, place in known if w.scope.get(name) != place and place.value in w.read]
    if changed:
        raise Unsupported("kernel", f"{', '.join(changed)} with another type in each round")


def _break(w: _Walk, node: ast.Break) -> None:
    loop = w.loops[-1]
    loop.ends.append(w.scope)
    w.builder.branch(loop.after)


def _continue(w: _Walk, node: ast.Continue) -> None:
    loop = w.loops[-1]
    _check_round(w, loop)
    w.builder.branch(loop.more)


def _return(w: _Walk, node: ast.Return) -> None:
    if node.value is None:
        raise Unsupported("kernel", "return without a value")
    w.builder.ret(w.cast(w.value(node.value), types.int64))


_STATEMENTS: Mapping[type, Callable[[_Walk, Any], None]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Expr: lambda w, node: w.value(node.value) and None,
    ast.For: _for,
    ast.If: _if,
    ast.Pass: lambda w, node: None,
    ast.Return: _return,
    ast.While: _while,
}


# ---------------------------------------------------------------- expressions

_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Mod: operator.mod,
    ast.Mult: operator.mul,
    ast.RShift: operator.rshift,
    ast.Sub: operator.sub,
    ast.Eq: operator.eq,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.NotEq: operator.ne,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _number(w: _Walk, node: ast.expr) -> Any:
    """The Python number of a constant, with its sign; None for other expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(w, node.operand)
        return None if number is None else -number
    if isinstance(node, ast.Constant):
        return node.value
    is_local = isinstance(node, ast.Name) and node.id in w.scope
    if isinstance(node, ast.Name | ast.Attribute) and not is_local:
        found = w.word(node)
        return found if isinstance(found, int | float) else None
    return None


def _constant(w: _Walk, node: ast.expr) -> Typed:
    number = _number(w, node)
    if not isinstance(number, int | float):
        raise Unsupported("kernel", ast.unparse(node))
    kind: Any = types.boolean if isinstance(number, bool) else types.float64
    if isinstance(number, int) and not isinstance(number, bool):
        kind = types.int64 if number < 2**63 else types.uint64
    return Typed(kind, w.context.get_constant(kind, number))


def _name(w: _Walk, node: ast.Name) -> Typed:
    place = w.scope.get(node.id)
    if place is None:
        return _constant(w, node)
    w.read.add(place.value)
    return Typed(place.kind, w.builder.load(place.value))


def _unary(w: _Walk, node: ast.UnaryOp) -> Typed:
    if _number(w, node) is not None:
        return _constant(w, node)
    return w.apply(_OPERATORS[type(node.op)], w.value(node.operand))


def _binary(w: _Walk, node: ast.BinOp) -> Typed:
    function = _OPERATORS.get(type(node.op))
    if function is None:
        raise Unsupported("kernel", ast.unparse(node))
    return w.apply(function, w.value(node.left), w.value(node.right))


def _compare(w: _Walk, node: ast.Compare) -> Typed:
    function = _OPERATORS.get(type(node.ops[0]))
    if function is None or len(node.ops) > 1:
        raise Unsupported("kernel", ast.unparse(node))
    return w.apply(function, w.value(node.left), w.value(node.comparators[0]))


def _logic(w: _Walk, node: ast.BoolOp) -> Typed:
    """``and`` and ``or`` of truth values: what decides is computed, the rest is not."""
    b = w.builder
    after = b.append_basic_block("decided")
    ends = []
    for position, each in enumerate(node.values):
        made = w.value(each)
        if made.kind != types.boolean:
            raise Unsupported("kernel", f"{ast.unparse(node)} of numbers")
        ends.append((made.value, b.block))
        if position == len(node.values) - 1:
            b.branch(after)
        else:
            more = b.append_basic_block("undecided")
            b.cbranch(made.value, *((more, after) if isinstance(node.op, ast.And) else (after, more)))
            b.position_at_end(more)
    b.position_at_end(after)
    joined = b.phi(ir.IntType(1))
    for value, block in ends:
        joined.add_incoming(value, block)
    return Typed(types.boolean, joined)


def _choice(w: _Walk, node: ast.IfExp) -> Typed:
    """``a if test else b``: only one of the two is computed."""
    b = w.builder
    then, orelse, after = (b.append_basic_block(name) for name in ("then", "else", "after"))
    b.cbranch(w.truth(node.test), then, orelse)
    made = []
    for block, each in ((then, node.body), (orelse, node.orelse)):
        b.position_at_end(block)
        made.append((w.value(each), b.block))
        b.branch(after)
    b.position_at_end(after)
    (first, _), (second, _) = made
    if first.kind != second.kind:
        raise Unsupported("kernel", f"{ast.unparse(node)} of two types")
    joined = b.phi(first.value.type)
    for typed, block in made:
        joined.add_incoming(typed.value, block)
    return Typed(first.kind, joined)


def _extreme(w: _Walk, sign: str, arguments: Sequence[Typed]) -> Typed:
    """``min`` or ``max`` of ints."""
    if any(each.kind != types.int64 for each in arguments):
        raise Unsupported("kernel", "the least or greatest of other numbers than int64")
    first, *others = (each.value for each in arguments)
    for other in others:
        first = w.builder.select(w.builder.icmp_signed(sign, other, first), other, first)
    return Typed(types.int64, first)


def _call(w: _Walk, node: ast.Call) -> Typed:
    if node.keywords or (isinstance(node.func, ast.Name) and node.func.id in w.scope):
        raise Unsupported("kernel", ast.unparse(node))
    if (sign := _EXTREMES.get(ast.unparse(node.func))) is not None:
        return _extreme(w, sign, [w.value(each) for each in node.args])
    kind = w.word(node.func)
    arguments = [w.value(each) for each in node.args]
    try:
        return w.call(kind, arguments)
    except (NumbaError, Unsupported):  # it may ask for the numbers themselves
        numbers = [_number(w, each) for each in node.args]
        if not any(type(number) is int for number in numbers):
            raise
        exact = (_literal(n) if type(n) is int else a.kind for n, a in zip(numbers, arguments, strict=True))
        return w.call(kind, [Typed(kind, a.value) for kind, a in zip(exact, arguments, strict=True)])


_EXTREMES = {"max": ">", "min": "<"}
_EXPRESSIONS: Mapping[type, Callable[[_Walk, Any], Typed]] = {
    ast.Attribute: _constant,
    ast.BinOp: _binary,
    ast.BoolOp: _logic,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.Name: _name,
    ast.UnaryOp: _unary,
}
