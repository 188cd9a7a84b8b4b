"""Takes the text of a region's kernel, gives LLVM assembly.

    def region(args, lo, hi):
        a0 = arg(args, 0)
        for i in range(0, n, 1):
            store_float64(a0, i * 8, load_float64(a0, i * 8) + 1.0)
        return OK

Registers hold int64, float64, float32 and truth values; the type of a variable is that of its first assignment.
Different arrays of a region never share memory that is written, which every load and store tells LLVM.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.interrupts import STATE, STOP_AT, close_state, take_off
from jitmagic.backends.regions.stopping import open_stop
from jitmagic.backends.regions.words import CALLS, I1, I64, UNLIKELY, Words
from jitmagic.errors import InternalError

__all__ = ["ENTRY", "translate"]

ENTRY = "jitmagic_kernel"
PROVEN = "_proven"  # how the test ends in whose ``else`` the loops check their indices


def translate(source: str) -> str:
    """Raises InternalError for text outside of the vocabulary."""
    module = ir.Module("region")
    parts: dict[str, ir.Function] = {}
    for definition in ast.parse(source).body:
        if not isinstance(definition, ast.FunctionDef):
            raise InternalError(f"no kernel: {source}")
        inner = _translated(module, definition, parts)
        is_part = definition.name != "region"
        outer = _enter(module, inner, definition.name if is_part else ENTRY, is_part=is_part)
        if is_part:
            outer.linkage = "internal"
            outer.attributes.add("noinline")  # what it reads of its block must not move to where that is written
            parts[definition.name] = outer
    return _COLD_LINE.sub(r"\1 = distinct !{ \1, \2 }", str(module))  # a loop is named by a node that names itself


def _translated(module: ir.Module, definition: ast.FunctionDef, parts: Mapping[str, ir.Function]) -> ir.Function:
    kind = ir.FunctionType(I64, [I64, I64, I64, I64.as_pointer()])
    function = ir.Function(module, kind, f"{definition.name}_body")
    function.linkage = "internal"
    function.attributes.add("nounwind")
    entry = function.append_basic_block("entry")
    builder = ir.IRBuilder(function.append_basic_block("start"))
    names = {**parts, **dict(zip((a.arg for a in definition.args.args), function.args, strict=False))}
    places = ir.IRBuilder(entry)
    words = Words(module, builder, places, _arrays(definition), function.args[0], function.args[3])
    made = _Translation(builder, words, places, names)
    made.block(definition.body)
    if not builder.block.is_terminated:
        builder.ret(I64(0))
    if words.stop is not None:
        words.stop.close(made.places.get("bad"))
    made.places_builder.branch(function.blocks[1])
    return function


def _enter(module: ir.Module, body: ir.Function, name: str, *, is_part: bool) -> ir.Function:
    """What the launcher or the pool calls: the body, with a place for the state of its interrupts.

    A part that fails tells the threads that run other pieces of it to stop.
    """
    entry = ir.Function(module, ir.FunctionType(I64, [I64, I64, I64]), name)
    entry.attributes.add("nounwind")
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    state = builder.alloca(STATE)
    builder.store(ir.Constant(STATE, None), state)
    words = builder.gep(state, [I64(0), I64(0)])
    if is_part:
        stop = builder.load(builder.inttoptr(builder.add(entry.args[0], I64(8)), I64.as_pointer()))
        builder.store(stop, builder.gep(words, [I64(STOP_AT)]))
    status = builder.call(body, [*entry.args, words])
    if is_part:
        with builder.if_then(builder.icmp_signed("!=", status, I64(0)), likely=False):
            builder.store_atomic(I64(1), builder.inttoptr(stop, I64.as_pointer()), ordering="monotonic", align=8)
    close_state(builder, words)
    if not is_part:
        with builder.if_then(builder.icmp_signed("==", status, I64(int(Status.INTERRUPTED))), likely=False):
            take_off(builder)
    builder.ret(status)
    return entry


def _arrays(definition: ast.FunctionDef) -> dict[str, bool]:
    """The arrays of the text, with whether it stores in them."""
    found: dict[str, bool] = {}
    for node in ast.walk(definition):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            word, array = ast.unparse(node.func), node.args[0].id
            if word.startswith(("load_", "store_")):
                found[array] = found.get(array, False) or word.startswith("store_")
    return found


@dataclass(slots=True)
class _Translation:
    """``fixed`` are the parameters; every other name has a place on the stack, which LLVM makes a register."""

    builder: ir.IRBuilder
    words: Words
    places_builder: ir.IRBuilder
    fixed: Mapping[str, Any]
    places: dict[str, Any] = field(default_factory=dict)
    loops: list[tuple[Any, Any]] = field(default_factory=list)  # (where continue goes, where break goes)
    is_cold: bool = False  # whether the loops here check their indices: such calls are rare

    # -- statements
    def block(self, statements: list[ast.stmt]) -> None:
        for each in statements:
            if self.builder.block.is_terminated:
                return
            handler = _STATEMENTS.get(type(each))
            if handler is None:
                raise InternalError(f"no statement of a kernel: {ast.unparse(each)}")
            handler(self, each)

    def set(self, name: str, value: Any) -> None:
        place = self.places.get(name)
        if place is None:
            place = self.places[name] = self.places_builder.alloca(value.type, name=name)
        if place.type.pointee != value.type:
            raise InternalError(f"{name} is {place.type.pointee} and {value.type}")
        self.builder.store(value, place)

    # -- expressions
    def value(self, node: ast.expr) -> Any:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise InternalError(f"no expression of a kernel: {ast.unparse(node)}")
        return handler(self, node)

    def truth(self, node: ast.expr) -> Any:
        made = self.value(node)
        return made if made.type == I1 else self.builder.icmp_signed("!=", made, I64(0))


def _assign(t: _Translation, node: ast.Assign) -> None:
    (target,) = node.targets
    assert isinstance(target, ast.Name)
    t.set(target.id, t.value(node.value))


def _augmented(t: _Translation, node: ast.AugAssign) -> None:
    assert isinstance(node.target, ast.Name)
    left = t.value(ast.Name(node.target.id, ast.Load()))
    t.set(node.target.id, t.words.binary(type(node.op), left, t.value(node.value)))


def _if(t: _Translation, node: ast.If) -> None:
    function = t.builder.function
    body, after = function.append_basic_block("then"), function.append_basic_block("after")
    orelse = function.append_basic_block("else") if node.orelse else after
    branch = t.builder.cbranch(t.truth(node.test), body, orelse)
    if isinstance(node.body[0], ast.Return):
        branch.set_weights(UNLIKELY)
    was_cold, is_proof = t.is_cold, isinstance(node.test, ast.Name) and node.test.id.endswith(PROVEN)
    for block, statements in ((body, node.body), (orelse, node.orelse)):
        if statements:
            t.builder.position_at_end(block)
            t.is_cold = was_cold or (is_proof and block is orelse)
            t.block(statements)
            t.is_cold = was_cold
            if not t.builder.block.is_terminated:
                t.builder.branch(after)
    t.builder.position_at_end(after)


def _for(t: _Translation, node: ast.For) -> None:
    """``range`` tests at the head of each round; ``up`` and ``down`` run in pieces that count as work."""
    assert isinstance(node.iter, ast.Call)
    assert isinstance(node.iter.func, ast.Name)
    assert isinstance(node.target, ast.Name)
    bounds = [t.value(a) for a in node.iter.args]
    counter = t.places_builder.alloca(I64)
    t.builder.store(bounds[0], counter)
    if node.iter.func.id == "range":
        _plain_rounds(t, node, counter, *bounds[1:])
    else:
        _pieces(t, node, counter, *bounds[1:])


def _plain_rounds(t: _Translation, node: ast.For, counter: Any, stop: Any, step: Any) -> None:
    head, body, more, after = (t.builder.function.append_basic_block(n) for n in ("head", "body", "more", "after"))
    t.builder.branch(head)
    t.builder.position_at_end(head)
    now = t.builder.load(counter)
    t.builder.cbranch(_goes_on(t, now, stop, step), body, after)
    t.builder.position_at_end(body)
    t.set(node.target.id, now)  # type: ignore[attr-defined]  # a name
    _rounds(t, node.body, more, after)
    t.builder.position_at_end(more)
    t.builder.store(t.builder.add(t.builder.load(counter), step, flags=("nsw",)), counter)
    t.builder.branch(head)
    t.builder.position_at_end(after)


def _pieces(t: _Translation, node: ast.For, counter: Any, stop: Any, step: Any) -> None:
    """Rounds that are counted before they run; in pieces where they are more than the rest of the budget.

    The rounds of ``whole_up`` and ``whole_down`` are one statement, and one piece.

    The sign of ``step`` is that of the loop's direction, and counts are distances: a large step only makes looks at
    the clock more frequent. A loop without rounds counts as one, so that loops around it need not count theirs.
    """
    b = t.builder
    word = node.iter.func.id  # type: ignore[attr-defined]  # a call of a name
    is_up, is_whole = word.endswith("up"), word.startswith("whole")
    function = b.function
    names = ("piece", "many", "some", "body", "more", "next", "none", "after")
    head, many, some, body, more, following, none, after = (function.append_basic_block(n) for n in names)
    goes_on = "<" if is_up else ">"
    b.cbranch(b.icmp_signed(goes_on, b.load(counter), stop), head, none)
    b.position_at_end(head)
    now = b.load(counter)
    rest = b.sub(stop, now) if is_up else b.sub(now, stop)
    left = b.sub(b.load(t.words.budget), rest)
    b.store(left, t.words.budget)
    if is_whole:
        left = I64(0)
    b.cbranch(b.icmp_signed("<", left, I64(0)), many, some).set_weights(UNLIKELY)
    b.position_at_end(many)
    part = b.select(b.icmp_signed(">", rest, t.words.whole), t.words.whole, rest)
    t.words.look()
    part_end = b.add(now, part) if is_up else b.sub(now, part)
    many_end = b.block
    b.branch(some)
    b.position_at_end(some)
    end = b.phi(I64)
    end.add_incoming(stop, head)
    end.add_incoming(part_end, many_end)
    b.branch(body)
    b.position_at_end(body)
    t.set(node.target.id, b.load(counter))  # type: ignore[attr-defined]  # a name
    _rounds(t, node.body, more, after)
    b.position_at_end(more)
    reached = b.add(b.load(counter), step, flags=("nsw",))
    b.store(reached, counter)
    again = b.cbranch(b.icmp_signed(goes_on, reached, end), body, following)
    if t.is_cold:
        name = f"{_COLD} {function.name} {len(function.blocks)}"
        again.set_metadata("llvm.loop", t.words.module.add_metadata([name, *_as_it_is(t)]))
    b.position_at_end(following)
    b.cbranch(b.icmp_signed(goes_on, reached, stop), head, after).set_weights(UNLIKELY)
    b.position_at_end(none)
    CALLS["count" if is_whole else "poll"](t.words, I64(1))
    b.branch(after)
    b.position_at_end(after)


_COLD = "cold loop"
_COLD_LINE = re.compile(rf'^(!\d+) = !{{ !"{_COLD} [^"]*", (.*) }}$', re.MULTILINE)


def _as_it_is(t: _Translation) -> list[Any]:
    """What keeps LLVM from writing rounds of a loop out."""
    module = t.words.module
    off = module.add_metadata(["llvm.loop.unroll.disable"])
    return [off, module.add_metadata(["llvm.loop.vectorize.enable", I1(0)])]


def _goes_on(t: _Translation, now: Any, stop: Any, step: Any) -> Any:
    """A step whose sign is known needs one comparison."""
    up = t.builder.icmp_signed("<", now, stop)
    known = step.constant if isinstance(step, ir.Constant) else None
    if known is not None and known > 0:
        return up
    down = t.builder.icmp_signed(">", now, stop)
    if known is not None:
        return down
    return t.builder.select(t.builder.icmp_signed(">", step, I64(0)), up, down)


def _rounds(t: _Translation, body: list[ast.stmt], more: Any, after: Any) -> None:
    t.loops.append((more, after))
    t.block(body)
    t.loops.pop()
    if not t.builder.block.is_terminated:
        t.builder.branch(more)


def _while(t: _Translation, node: ast.While) -> None:
    """Always ``while True``."""
    function = t.builder.function
    body, after = function.append_basic_block("body"), function.append_basic_block("after")
    t.builder.branch(body)
    t.builder.position_at_end(body)
    _rounds(t, node.body, body, after)
    t.builder.position_at_end(after)


def _return(t: _Translation, node: ast.Return) -> None:
    assert isinstance(node.value, ast.Name)
    name = node.value.id
    t.builder.ret(I64(int(Status[name])) if name in Status.__members__ else t.value(node.value))


def _call_statement(t: _Translation, node: ast.Expr) -> None:
    assert isinstance(node.value, ast.Call)
    if ast.unparse(node.value.func) == "hand_back":
        out, offset, *names = node.value.args
        start = t.builder.add(t.value(out), t.value(offset))
        places = [t.places[n.id] for n in names if isinstance(n, ast.Name)]
        t.words.stop = open_stop(t.builder, t.places_builder, start, places)
    else:
        t.value(node.value)


_STATEMENTS: Mapping[type, Callable[[_Translation, Any], None]] = {
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Return: _return,
    ast.Expr: _call_statement,
    ast.Pass: lambda t, node: None,
    ast.Break: lambda t, node: t.builder.branch(t.loops[-1][1]),
    ast.Continue: lambda t, node: t.builder.branch(t.loops[-1][0]),
}


def _constant(t: _Translation, node: ast.Constant) -> Any:
    return t.words.constant(node.value)


def _name(t: _Translation, node: ast.Name) -> Any:
    if node.id in t.fixed:
        return t.fixed[node.id]
    if node.id not in t.places:
        raise InternalError(f"{node.id} has no value in the kernel")
    return t.builder.load(t.places[node.id])


def _attribute(t: _Translation, node: ast.Attribute) -> Any:
    return t.words.constant({"inf": float("inf"), "nan": float("nan")}[node.attr])


def _call(t: _Translation, node: ast.Call) -> Any:
    made = CALLS.get(ast.unparse(node.func))
    if made is None:
        raise InternalError(f"no word of a kernel: {ast.unparse(node)}")
    first = node.args[0]
    t.words.array = first.id if isinstance(first, ast.Name) else ""
    return made(t.words, *(t.value(a) for a in node.args))


def _unary(t: _Translation, node: ast.UnaryOp) -> Any:
    if isinstance(node.op, ast.Not):
        return t.builder.not_(t.truth(node.operand))
    value = t.value(node.operand)
    if isinstance(node.op, ast.Invert):
        return t.builder.not_(value)
    return t.builder.neg(value) if value.type == I64 else t.builder.fneg(value)


def _compare(t: _Translation, node: ast.Compare) -> Any:
    left = t.value(node.left)
    (op,), (right,) = node.ops, node.comparators
    return t.words.compare(type(op), left, t.value(right))


def _logic(t: _Translation, node: ast.BoolOp) -> Any:
    """Operands have no effects here: all are evaluated."""
    join = t.builder.and_ if isinstance(node.op, ast.And) else t.builder.or_
    made = t.truth(node.values[0])
    for each in node.values[1:]:
        made = join(made, t.truth(each))
    return made


_EXPRESSIONS: Mapping[type, Callable[[_Translation, Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: lambda t, node: t.words.binary(type(node.op), t.value(node.left), t.value(node.right)),
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
}
