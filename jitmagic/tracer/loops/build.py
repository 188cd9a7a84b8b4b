"""Takes the syntax of a loop and the kinds of what it reads, gives typed statements.

Kinds are found by abstract evaluation in program order. At a loop head a variable may be all that it is before the
loop or at the end of a round; the body is evaluated until that settles.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.blocks import leaves, walk
from jitmagic.tracer.loops.callees import body_of
from jitmagic.tracer.loops.cases import Made, all_cases, bind
from jitmagic.tracer.loops.comprehended import COMPREHENSIONS, bound_by
from jitmagic.tracer.loops.elements import stores, tagged_load
from jitmagic.tracer.loops.expressions import Expressions, Outside, Turn, cast, row_of_ours
from jitmagic.tracer.loops.folds import COMPENSATES, compensated_sum, folded, is_fold
from jitmagic.tracer.loops.heads import head_of
from jitmagic.tracer.loops.integers import FUNCTIONS, operator_of
from jitmagic.tracer.loops.kinds import CODES, UNBOUND, Kinds, Types, coerce, join_all, tag, variable
from jitmagic.tracer.loops.leaving import part_name, without_else
from jitmagic.tracer.loops.named import has_named, named_in, spelled_names
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import TEMPORARY
from jitmagic.tracer.loops.slices import element_loop
from jitmagic.tracer.loops.turning import check_order, pairs, replaced, spelled_out
from jitmagic.tracer.names import names_in

__all__ = ["Builder"]

ATTEMPTS = 12  # to settle the kinds at a loop head; each only adds kinds
COPIES = 64  # bodies of callees in one region
TURNS = 40  # expressions of one statement that become statements

Block = tuple[ir.Stmt, ...]


@dataclass(slots=True)
class _Loop:
    head: Types
    continues: list[Types] = field(default_factory=list)
    breaks: list[Types] = field(default_factory=list)


@dataclass(slots=True)
class Builder:
    """``types`` has what the Python variables may be now; names that the loop does not bind are not in it."""

    outside: Outside
    types: Types = field(default_factory=dict)
    rebound: frozenset[str] = frozenset()
    written: set[str] = field(default_factory=set)
    loops: list[_Loop] = field(default_factory=list)
    counters: dict[str, ir.Var] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)  # of callees, by the place of the call
    places: dict[tuple[Any, ...], int] = field(default_factory=dict)
    around: ast.stmt | ast.expr | None = None  # what of the region's own text these statements were made of
    is_whole: bool = False  # whether they are one statement for NumPy

    def place(self, node: Any) -> int:
        """A number for a place in the source: names made of it are the same wherever the loop stands in its file."""
        key = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        return self.places.setdefault(key, len(self.places))

    # -- statements
    def block(self, statements: Sequence[ast.stmt]) -> Block:
        made: list[ir.Stmt] = []
        for statement in statements:
            made.extend(self.statement(statement))
            if leaves(made):
                break
        return tuple(made)

    def made_of(self, node: ast.stmt | ast.expr, statements: Sequence[ast.stmt], *, is_whole: bool = False) -> Block:
        """Statements that stand for ``node``, such as the body of a callee, which may be in another file."""
        before = self.around, self.is_whole
        self.around, self.is_whole = self.around or node, self.is_whole or is_whole
        try:
            return self.block(statements)
        finally:
            self.around, self.is_whole = before

    def line(self, node: ast.stmt) -> int:
        """The line of the region's own text that runs while the loop ``node`` does."""
        return (self.around or node).lineno

    def statement(self, node: ast.stmt) -> Block:
        if has_named(node):
            made = spelled_names(node, self.place(node))
            self.rebound |= names_in(made, stores_only=True)
            return self.block(made)
        handler = _STATEMENTS.get(type(node))
        if handler is None:
            raise refuse(f"the statement {ast.unparse(node).splitlines()[0]}")
        return handler(self, node)

    def simple(self, nodes: Sequence[ast.expr], make: Callable[[Expressions, Sequence[Any]], Made]) -> Block:
        """Statements that ``make`` gives from expressions, whatever the kinds of the variables in these."""
        before: Block = ()
        nodes = list(nodes)
        for _ in range(TURNS):
            try:
                made, self.types = all_cases(self._variables(nodes), self.types, self._maker(nodes, make))
            except Turn as turn:
                name = self._turned_name(turn.node)
                before = (*before, *self._given(turn.node, name, nodes))
                nodes = [replaced(n, turn.node, name) for n in nodes]
            else:
                return (*before, *made)
        raise refuse(f"the expression {ast.unparse(nodes[0])}")

    def _changed(self, statements: Sequence[ast.stmt]) -> set[str]:
        """The variables of the program that statements made of an expression give new values."""
        return {n for n in names_in(statements, stores_only=True) if not n.startswith(TEMPORARY)}

    def _given(self, node: ast.expr, name: ast.Name, nodes: Sequence[ast.expr]) -> Block:
        """What gives ``name`` the value of an expression, one of ``nodes`` or in them."""
        if isinstance(node, ast.Subscript):
            self.rebound |= {name.id}
            return self._tagged_element(node, name.id)
        turned = self._turned(node, name)
        check_order(nodes, node, named_in(node) | self._changed(turned))
        self.rebound |= names_in(turned, stores_only=True)
        return self.made_of(node, turned)

    def _tagged_element(self, node: ast.Subscript, name: str) -> Block:
        """An element of a list whose numbers are of several types."""
        at = f"{name}_at"
        array = self.outside.array(node.value)
        assert array is not None
        self.rebound |= {at}
        made = self.simple([node.slice], lambda e, nodes: bind(at, cast(e.index(nodes[0], array)[0], "pyint")))
        self.types.pop(at, None)
        index: ir.Expr = variable(at, "pyint")
        last = made[-2] if len(made) > 1 else None
        if isinstance(last, ir.Assign) and last.variable == index:
            made, index = made[:-2], last.value
        loads, self.types[name] = tagged_load(array, index, name)
        return (*made, *loads)

    def _turned_name(self, node: ast.expr) -> ast.Name:
        name = ast.Name(f"_jm{self.place(node)}", ast.Load())
        return ast.copy_location(name, node)

    def _turned(self, node: ast.expr, name: ast.Name) -> list[ast.stmt]:
        """Statements that bind ``name`` to the value of an expression."""
        if isinstance(node, ast.BinOp):
            return self._integers(node, [node.left, node.right], operator_of(node), name.id)
        if not isinstance(node, ast.Call):
            return spelled_out(node, name)
        function = self.outside.function(node.func)
        if function is not None and function in FUNCTIONS:
            return self._integers(node, node.args, FUNCTIONS[function], name.id)
        if is_fold(function, node):
            return self._folded(function or "", node, name.id)
        if function is not None:
            return spelled_out(node, name)
        made = self.inlined(node, name.id)
        if name.id not in names_in(made, stores_only=True):
            raise refuse(f"{ast.unparse(node)}, which gives no number")
        return made

    def _folded(self, function: str, node: ast.Call, name: str) -> list[ast.stmt]:
        """``sum`` of Python floats is another algorithm than that of other numbers, from Python 3.12 on."""
        made = folded(function, node, name, self._is_map)
        if not COMPENSATES or function != "builtins.sum":
            return made
        trial = replace(self, types=dict(self.types), written=set(self.written), loops=[], copies=dict(self.copies))
        trial.block(made)
        kinds = set(trial.types.get(f"{name}_element", UNBOUND).all) - {"unbound"}
        if "pyfloat" not in kinds:
            return made
        if kinds != {"pyfloat"}:
            raise refuse(f"the call {ast.unparse(node)} of floats and other numbers")
        return compensated_sum(node, name, self._is_map)

    def over_slices(self, node: ast.Assign | ast.AugAssign) -> Block | None:
        """The loop over its elements that an assignment to a slice is; None for any other assignment."""
        made = element_loop(node, self._array, f"_jm_slice{self.place(node)}")
        if made is None:
            return None
        self.rebound |= names_in(made, stores_only=True)
        return self.made_of(node, made, is_whole=True)

    def _array(self, node: ast.expr) -> ir.ArrayParameter | None:
        is_own = isinstance(node, ast.Name) and (node.id in self.types or node.id in self.rebound)
        return None if is_own else self.outside.array(node)

    def _is_map(self, node: ast.expr) -> bool:
        return self.outside.function(node) == "builtins.map"

    def _integers(
        self, node: ast.expr, args: Sequence[ast.expr], function: Callable[..., int], result: str
    ) -> list[ast.stmt]:
        """A function of Python ints; the operands may also be NumPy's."""
        as_python = (ast.Call(ast.Name("_jm_python", ast.Load()), [a], []) for a in args)
        call = ast.Call(ast.Name(function.__name__, ast.Load()), [*as_python], [])
        return self.inlined(ast.fix_missing_locations(ast.copy_location(call, node)), result, function)

    def inlined(self, node: ast.Call, result: str, function: Any = None) -> list[ast.stmt]:
        """The body of a function, by default of the one that is called by its name."""
        is_named = function is None and not isinstance(node.func, ast.Lambda)
        if function is None:
            function = self.outside.callee(node.func) if is_named else node.func
        if function is None or len(self.copies) >= COPIES:
            raise refuse(f"the call {ast.unparse(node)}")
        serial = self.copies.setdefault(self.place(node), len(self.copies) + 1)
        defaults = self.outside.defaults(node) if is_named else {}
        made = body_of(node, function, result, serial, self._is_array, defaults)
        own: list[ast.expr] = [ast.Name(n, ast.Del()) for n in sorted(names_in(made, stores_only=True))]
        return [ast.fix_missing_locations(ast.copy_location(ast.Delete(own), node)), *made] if own else made

    def _is_array(self, node: ast.expr) -> bool:
        """Also a row of an array of ours, named by the number that a round has."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id.startswith(TEMPORARY):
            whole = self.outside.array(node.value)
            return whole is not None and whole.ndim > 1 and isinstance(node.slice, ast.Name)
        is_own = isinstance(node, ast.Name) and node.id in self.types
        return not is_own and self.outside.array(node) is not None

    def expression(self, node: ast.expr) -> ir.Expr:
        """One over variables that are of one kind each."""
        kinds = {n: k.all[0] for n, k in self.types.items() if len(k.all) == 1}
        return Expressions(self.outside, kinds, self.counters).make(node)

    def row(self, node: ast.expr) -> tuple[ir.ArrayParameter, int] | None:
        """The array of which an expression is a row, and the axis along it, where a number of ours says which."""
        return row_of_ours(Expressions(self.outside, {}, {}), node)

    def _maker(
        self, nodes: Sequence[ast.expr], make: Callable[[Expressions, Sequence[Any]], Made]
    ) -> Callable[[Mapping[str, str]], Made]:
        return lambda kinds: make(Expressions(self.outside, kinds, self.counters), nodes)

    def _variables(self, nodes: Sequence[ast.expr]) -> list[str]:
        inside = [n for node in nodes for n in ast.walk(node)]
        own = set().union(*(bound_by(n) for n in inside if isinstance(n, COMPREHENSIONS)))
        found = (n.id for n in inside if isinstance(n, ast.Name) and n.id not in own)
        return [n for n in dict.fromkeys(found) if n in self.types or n in self.rebound]

    def condition(self, node: ast.expr) -> tuple[Block, ir.Expr]:
        """Statements to run first, and the truth of an expression."""
        name = f"_jm_test{self.place(node)}"
        made = self.simple([node], lambda e, nodes: bind(name, _python_truth(e.truth(nodes[0]))))
        self.types.pop(name, None)
        if leaves(made):
            return made, ir.Const(False, "pybool")
        last = ir.Assign(tag(name), ir.Const(CODES["pybool"], "pyint"))
        if len(made) >= 2 and made[-1] == last and isinstance(made[-2], ir.Assign):
            return made[:-2], made[-2].value
        return made, variable(name, "pybool")

    def store(self, target: ast.expr, value: ast.expr | None, operate: tuple[Any, ast.expr] | None = None) -> Block:
        """``target = value``, or ``target = target <operator> operand``."""
        if isinstance(target, ast.Name):
            return self._store_name(target, value, operate)
        if not isinstance(target, ast.Subscript):
            raise refuse(f"the target {ast.unparse(target)}")

        place = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        if operate is not None:
            value = ast.copy_location(ast.BinOp(copy.deepcopy(place), operate[0](), operate[1]), target)
        assert value is not None

        def make(e: Expressions, nodes: Sequence[Any]) -> Made:
            array, index = e.place(nodes[0])
            return Made(stores(array, index, e.make(nodes[1])), {})

        made = self.simple([place, value], make)
        self.written |= {s.array for s in walk(made) if isinstance(s, ir.Store)}
        return made

    def _store_name(self, target: ast.Name, value: ast.expr | None, operate: tuple[Any, ast.expr] | None) -> Block:
        if operate is None:
            assert value is not None
            return self.simple([value], lambda e, nodes: bind(target.id, e.value(nodes[0])))
        read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        return self.simple(
            [read, operate[1]], lambda e, nodes: bind(target.id, e.operate(operate[0], nodes[0], nodes[1]))
        )

    # -- loops
    def loop(
        self, node: ast.For | ast.While, enter: Callable[[], Block], *, leaves_by_itself: bool = True
    ) -> tuple[Block, Block, Block, Block]:
        """(what runs before, what ``enter`` gave, body, what runs after), settled.

        ``enter`` gives what begins a round; of a ``while`` it is part of the test, after which the loop may end, too.
        """
        before = dict(self.types)
        head = dict(before)
        for _ in range(ATTEMPTS):
            self.types = dict(head)
            loop = _Loop(head)
            self.loops.append(loop)
            entered = enter()
            normal = dict(self.types) if isinstance(node, ast.While) else head
            body = self.block(node.body)
            self.loops.pop()
            ends = loop.continues if leaves(body) else [*loop.continues, self.types]
            settled = join_all([head, *ends])
            if settled == head:
                break
            head = settled
        else:
            raise refuse("a loop whose variables do not settle")
        if not leaves(body):
            body = (*body, *coerce(self.types, head))
        exits = list(loop.breaks)
        if leaves_by_itself:
            exits.append(normal)
        if not exits:
            raise refuse("a loop without an end")
        self.types = join_all(exits)
        after = coerce({}, self._not_in_place(exits), by_tag=True)
        return tuple(coerce(before, head)), entered, body, tuple(after)

    def _not_in_place(self, exits: Sequence[Types]) -> Types:
        """The variables whose shared place does not hold the value on every way out."""
        return {
            name: kinds
            for name, kinds in self.types.items()
            if kinds.shared and any(e.get(name, UNBOUND).place != kinds.shared for e in exits)
        }


def _python_truth(value: ir.Expr) -> ir.Expr:
    return value if value.type == "pybool" else ir.Cast(value, "pybool")


def _assign(b: Builder, node: ast.Assign) -> Block:
    if (loop := b.over_slices(node)) is not None:
        return loop
    target = node.targets[0]
    if len(node.targets) == 1 and not isinstance(target, ast.Tuple | ast.List):
        return b.store(target, node.value)
    if len(node.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
        return b.made_of(node, _unpacked(b, target, node.value))
    made: Block = ()
    places = [(t, e) for t in node.targets for t, e in pairs(t, node.value)]
    held = []
    for position, (_, value) in enumerate(places):
        name = f"_jm_held{b.place(node)}_{position}"
        made = (*made, *b.store(ast.copy_location(ast.Name(name, ast.Store()), value), value))
        held.append(ast.copy_location(ast.Name(name, ast.Load()), value))
    for (each, _), value in zip(places, held, strict=True):
        made = (*made, *b.store(each, value))
    return made


def _unpacked(b: Builder, target: ast.Tuple, call: ast.Call) -> list[ast.stmt]:
    """Statements that give the elements of a tuple that a callee returns to targets."""
    if b.outside.callee(call.func) is None:
        raise refuse(f"unpacking {ast.unparse(call)}")
    result = f"_jm{b.place(call)}"
    made = b.inlined(call, result)
    if names_in(made, stores_only=True) & {result, part_name(result, len(target.elts))}:
        raise refuse(f"unpacking {ast.unparse(call)}")
    parts = [ast.Name(part_name(result, i), ast.Load()) for i in range(len(target.elts))]
    made += [ast.Assign([t], part) for t, part in zip(target.elts, parts, strict=True)]
    b.rebound |= names_in(made, stores_only=True)
    return [ast.fix_missing_locations(ast.copy_location(s, call)) for s in made]


def _annotated(b: Builder, node: ast.AnnAssign) -> Block:
    return b.store(node.target, node.value) if node.value is not None else ()


def _augmented(b: Builder, node: ast.AugAssign) -> Block:
    if (loop := b.over_slices(node)) is not None:
        return loop
    return b.store(node.target, None, (type(node.op), node.value))


def _if(b: Builder, node: ast.If) -> Block:
    first, test = b.condition(node.test)
    if leaves(first):
        return first
    if isinstance(test, ir.Const):
        return (*first, *b.block(node.body if test.value else node.orelse))
    before = dict(b.types)
    body = b.block(node.body)
    left = b.types
    b.types = before
    orelse = b.block(node.orelse)
    ways = [t for block, t in ((body, left), (orelse, b.types)) if not leaves(block)]
    if ways:
        b.types = join_all(ways)
        body = body if leaves(body) else (*body, *coerce(left, b.types))
        orelse = orelse if leaves(orelse) else (*orelse, *coerce(ways[-1], b.types))
    return (*first, ir.If(test, body, orelse))


def _for(b: Builder, node: ast.For) -> Block:
    if node.orelse:
        return b.block(without_else(node))
    first, bounds, binds = head_of(b, node)
    if leaves(first):
        return first
    counter = ir.Var(f"at{b.place(node)}", "pyint")
    own = counter.name if binds else node.target.id  # type: ignore[attr-defined]  # a name where nothing is bound
    if own not in names_in(node.body, stores_only=True):
        b.counters[own] = counter

    def enter() -> Block:
        b.types[own] = Kinds(("pyint",))
        kind = ir.Const(CODES["pyint"], "pyint")
        made: Block = (ir.Assign(variable(own, "pyint"), counter), ir.Assign(tag(own), kind))
        return (*made, *b.block(binds))

    casts, entered, body, after = b.loop(node, enter)
    b.counters.pop(own, None)
    made = ir.For(counter, *bounds, (*entered, *body), is_whole=b.is_whole, line=b.line(node))
    return (*first, *casts, made, *after)


def _while(b: Builder, node: ast.While) -> Block:
    if node.orelse:
        return b.block(without_else(node))
    tests: list[ir.Expr] = []

    def enter() -> Block:
        first, test = b.condition(node.test)
        tests.append(test)
        return first

    forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
    casts, first, body, after = b.loop(node, enter, leaves_by_itself=not forever)
    if not first:
        return (*casts, ir.While(tests[-1], body, line=b.line(node)), *after)
    stop = ir.If(ir.Not(tests[-1]), (ir.Break(),))
    return (*casts, ir.While(ir.Const(True, "pybool"), (*first, stop, *body), line=b.line(node)), *after)


def _forget(b: Builder, node: ast.Delete) -> Block:
    """A callee's variables have no value when it is called, whatever the last call has left in them."""
    names = [t.id for t in node.targets if isinstance(t, ast.Name) and t.id.startswith("_jm")]
    if len(names) < len(node.targets):
        raise refuse(f"the statement {ast.unparse(node)}")
    for name in names:
        b.types.pop(name, None)
    return tuple(ir.Assign(tag(name), ir.Const(CODES["unbound"], "pyint")) for name in names)


def _break(b: Builder, node: ast.stmt) -> Block:
    b.loops[-1].breaks.append(dict(b.types))
    return (ir.Break(),)


def _continue(b: Builder, node: ast.stmt) -> Block:
    loop = b.loops[-1]
    loop.continues.append(dict(b.types))
    return (*coerce(b.types, loop.head), ir.Continue())


def _raise(b: Builder, node: ast.Raise) -> Block:
    return (ir.Leave(),)


def _assert(b: Builder, node: ast.Assert) -> Block:
    first, test = b.condition(node.test)
    return (*first, ir.If(ir.Not(test), (ir.Leave(),)))


def _expression_statement(b: Builder, node: ast.Expr) -> Block:
    if isinstance(node.value, ast.Constant):
        return ()
    call = node.value
    if isinstance(call, ast.Call) and b.outside.callee(call.func) is not None:
        return b.made_of(node, b.inlined(call, f"_jm{b.place(call)}"))
    raise refuse(f"the statement {ast.unparse(node)}")


_STATEMENTS: Mapping[type[ast.stmt], Callable[[Builder, Any], Block]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Raise: _raise,
    ast.Delete: _forget,
    ast.Assert: _assert,
    **dict.fromkeys((ast.Pass, ast.Nonlocal), lambda b, node: ()),  # names of an inner function are those of this one
    ast.Expr: _expression_statement,
}
