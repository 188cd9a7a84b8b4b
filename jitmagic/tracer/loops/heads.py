"""Takes the head of a ``for``, gives the bounds of its counter and what binds the targets in each round.

for i, (a, b) in enumerate(zip(x, y), 1):       for at in range(len(x)):
                                                    i = at + 1; a = x[at]; b = y[at]
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.cases import bind
from jitmagic.tracer.loops.expressions import cast
from jitmagic.tracer.loops.kinds import variable
from jitmagic.tracer.loops.rules import is_integer, refuse

if TYPE_CHECKING:
    from jitmagic.tracer.loops.build import Block, Builder

__all__ = ["head_of", "positional"]

Bounds = tuple[ir.Expr, ir.Expr, ir.Expr]
Bindings = list[tuple[ast.expr, ast.expr]]  # (target, value)


def head_of(b: Builder, node: ast.For) -> tuple[Block, Bounds, list[ast.stmt]]:
    """(what runs before the loop, the bounds of its counter, what binds the targets in each round)."""
    name, args = _called(b, node.iter)
    if name == "builtins.range" and isinstance(node.target, ast.Name):
        return (*_range(b, args), [])
    if name == "builtins.reversed" and len(args) == 1 and isinstance(node.target, ast.Name):
        inner, bounds = _called(b, args[0])
        if inner == "builtins.range":
            return (*_range(b, _backwards(bounds)), [])
    rounds = _Rounds(b, node, ast.copy_location(ast.Name(f"at{b.place(node)}", ast.Load()), node))
    bindings = rounds.over(node.target, node.iter)
    sizes = rounds.sizes
    differ = (ir.If(ir.Compare("ne", sizes[0], size), (ir.Leave(),)) for size in sizes[1:])
    bounds_of_counter = (ir.Const(0, "pyint"), sizes[0], ir.Const(1, "pyint"))
    return (*rounds.first, *differ), bounds_of_counter, [_binding(t, v, node) for t, v in bindings]


def _called(b: Builder, node: ast.expr) -> tuple[str, list[ast.expr]]:
    """The function that an expression calls, and with what; an empty name for anything else."""
    if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return "", []
    name = b.outside.function(node.func) or ""
    args = positional(node, name)
    return ("", []) if args is None else (name, args)


def positional(node: ast.Call, function: str) -> list[ast.expr] | None:
    """The arguments of a call, ``start`` of ``enumerate`` among them; None if others have names."""
    if not node.keywords:
        return node.args
    (first, *more) = node.keywords
    is_start = function == "builtins.enumerate" and first.arg == "start" and not more and len(node.args) == 1
    return [*node.args, first.value] if is_start else None


class _Rounds:
    """The iterables of a head, from the outermost in; arrays of different lengths are left to plain Python."""

    def __init__(self, b: Builder, node: ast.For, counter: ast.Name) -> None:
        self.b = b
        self.node = node
        self.counter = counter
        self.sizes: list[ir.Expr] = []
        self.first: list[ir.Stmt] = []

    def hold(self, value: ast.expr) -> ast.expr:
        """A name for an int that is computed before the loop."""
        if isinstance(value, ast.Constant) and type(value.value) is int:
            return value
        name = ast.copy_location(ast.Name(f"_jm_start{self.b.place(value)}", ast.Load()), value)
        self.b.rebound |= {name.id}
        self.first += self.b.simple([value], lambda e, nodes: bind(name.id, _bound(e.make(nodes[0]))))
        return name

    def over(self, target: ast.expr, value: ast.expr) -> Bindings:
        name, args = _called(self.b, value)
        parts = target.elts if isinstance(target, ast.Tuple) else []
        found = _OVER.get(name)
        if found is not None:
            return found(self, parts, args, target)
        known = self.b.outside.constants(value)
        if known:
            self.sizes.append(ir.Const(len(known), "pyint"))
            return self.choices(target, known)
        return self.element(target, value, self.counter)

    def choices(self, target: ast.expr, known: Sequence[Any]) -> Bindings:
        """``target`` is the number in ``known`` that the round selects, and its parts where those are tuples."""
        if isinstance(target, ast.Tuple):
            if any(not isinstance(each, tuple) or len(each) != len(target.elts) for each in known):
                raise self.refusal()
            columns = zip(target.elts, zip(*known, strict=True), strict=True)
            return [binding for part, column in columns for binding in self.choices(part, column)]
        if any(isinstance(each, tuple) for each in known) or not isinstance(target, ast.Name):
            raise self.refusal()
        *rest, chosen = [ast.Constant(each) for each in known]
        for position in reversed(range(len(rest))):
            test = ast.Compare(self.counter, [ast.Eq()], [ast.Constant(position)])
            chosen = ast.IfExp(test, rest[position], chosen)  # type: ignore[assignment]  # an expression
        return [(target, ast.fix_missing_locations(ast.copy_location(chosen, self.node)))]

    def element(self, target: ast.expr, value: ast.expr, index: ast.expr) -> Bindings:
        array = self.b.outside.array(value)
        axis = 0
        if array is None and (row := self.b.row(value)) is not None:
            array, axis = row
        if array is None or array.ndim != axis + 1 or not isinstance(target, ast.Name):
            raise self.refusal()
        self.sizes.append(ir.Size(array.name, axis))
        element = ast.Subscript(value, index, ast.Load())
        return [(target, ast.copy_location(element, self.node))]

    def refusal(self) -> BaseException:
        return refuse(f"a loop over {ast.unparse(self.node.iter)}")


def _zipped(rounds: _Rounds, parts: list[ast.expr], args: list[ast.expr], target: ast.expr) -> Bindings:
    if len(parts) != len(args) or not args:
        raise rounds.refusal()
    return [made for part, arg in zip(parts, args, strict=True) for made in rounds.over(part, arg)]


def _enumerated(rounds: _Rounds, parts: list[ast.expr], args: list[ast.expr], target: ast.expr) -> Bindings:
    if len(parts) != 2 or not 1 <= len(args) <= 2 or not isinstance(parts[0], ast.Name):
        raise rounds.refusal()
    number: ast.expr = rounds.counter
    if args[1:]:
        number = ast.copy_location(ast.BinOp(rounds.counter, ast.Add(), rounds.hold(args[1])), rounds.node)
    return [(parts[0], number), *rounds.over(parts[1], args[0])]


def _reversed(rounds: _Rounds, parts: list[ast.expr], args: list[ast.expr], target: ast.expr) -> Bindings:
    if len(args) != 1:
        raise rounds.refusal()
    return rounds.element(target, args[0], ast.BinOp(ast.Constant(-1), ast.Sub(), rounds.counter))


def _ranged(rounds: _Rounds, parts: list[ast.expr], args: list[ast.expr], target: ast.expr) -> Bindings:
    """``range(start, stop)`` beside arrays."""
    if not 1 <= len(args) <= 2 or not isinstance(target, ast.Name):
        raise rounds.refusal()
    start = rounds.hold(args[0]) if args[1:] else ast.copy_location(ast.Constant(0), args[0])
    before, (_, stop, _) = _range(rounds.b, [args[-1]])
    rounds.first += before
    first = rounds.b.expression(start)
    count: ir.Expr = stop if first == _ZERO else ir.Binary("sub", stop, first, "pyint")
    if not isinstance(count, ir.Size):
        count = ir.Logic("max", (count, _ZERO), "pyint")
    rounds.sizes.append(count)
    number = rounds.counter if first == _ZERO else ast.BinOp(rounds.counter, ast.Add(), start)
    return [(target, ast.copy_location(number, rounds.node))]


_ZERO = ir.Const(0, "pyint")
_OVER: Mapping[str, Callable[[_Rounds, list[ast.expr], list[ast.expr], ast.expr], Bindings]] = {
    "builtins.zip": _zipped,
    "builtins.enumerate": _enumerated,
    "builtins.reversed": _reversed,
    "builtins.range": _ranged,
}


def _binding(target: ast.expr, value: ast.expr, place: ast.AST) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], value), place))


def _backwards(args: Sequence[ast.expr]) -> list[ast.expr]:
    """``range(a, b, s)`` from its end: the last of ``n = (b - a + s - 1) // s`` rounds has ``a + (n - 1) * s``."""
    start, stop = (ast.Constant(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else ast.Constant(1)
    try:
        by = ast.literal_eval(step)
    except ValueError:
        by = 0
    if by == 0 or len(args) > 3 or type(by) is not int:
        raise refuse("a range from its end whose step is no constant")
    if by in (1, -1):
        last: ast.expr = ast.BinOp(stop, ast.Sub(), ast.Constant(by))
    else:
        length = ast.BinOp(ast.BinOp(stop, ast.Sub(), start), ast.Add(), ast.Constant(by - (1 if by > 0 else -1)))
        rounds = ast.BinOp(ast.BinOp(length, ast.FloorDiv(), ast.Constant(by)), ast.Sub(), ast.Constant(1))
        last = ast.BinOp(start, ast.Add(), ast.BinOp(rounds, ast.Mult(), ast.Constant(by)))
    made = [last, ast.BinOp(start, ast.Sub(), ast.Constant(by)), ast.Constant(-by)]
    return [ast.fix_missing_locations(ast.copy_location(copy.deepcopy(m), args[0])) for m in made]


def _range(b: Builder, args: Sequence[ast.expr]) -> tuple[Block, Bounds]:
    if not 1 <= len(args) <= 3 or any(isinstance(a, ast.Starred) for a in args):
        raise refuse("a range of what is no int")
    first: Block = ()
    values: list[ir.Expr] = []
    for position, arg in enumerate(args):
        name = f"_jm_bound{b.place(arg)}_{position}"
        made = b.simple([arg], lambda e, nodes, name=name: bind(name, _bound(e.make(nodes[0]))))  # type: ignore[misc]  # a default in a lambda
        b.types.pop(name, None)
        if len(made) == 2 and isinstance(made[0], ir.Assign):
            values.append(made[0].value)
        else:
            first = (*first, *made)
            values.append(variable(name, "pyint"))
    if len(values) == 1:
        return first, (ir.Const(0, "pyint"), values[0], ir.Const(1, "pyint"))
    return first, (values[0], values[1], values[2] if len(values) == 3 else ir.Const(1, "pyint"))


def _bound(value: ir.Expr) -> ir.Expr:
    if not is_integer(value.type):
        raise refuse("a range of what is no int")
    return cast(value, "pyint")
