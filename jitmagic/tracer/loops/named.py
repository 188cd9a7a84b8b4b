"""Takes a statement in which ``:=`` binds names, gives statements that bind them in Python's order.

    while (d := step(x)) > tol:        while True:
        body                               d = step(x)
                                           if not d > tol: break
                                           body

    s += u if (u := x[i]) > 0 else 0       u = x[i]; s = s + (u if u > 0 else 0)

What is evaluated before a binding is held in a name of ours: it may read what the binding changes. What Python
evaluates only under a condition stands in an ``if``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitmagic.tracer.loops.comprehended import COMPREHENSIONS
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import TEMPORARY

__all__ = ["has_named", "named_in", "spelled_names"]

_OWN_SCOPES = (*COMPREHENSIONS, ast.Lambda)
_STATEMENTS = (ast.stmt, ast.ExceptHandler)


def has_named(node: ast.AST) -> bool:
    """Whether the expressions of a statement, or an expression, bind names; not those of statements inside."""
    if isinstance(node, ast.NamedExpr):
        return True
    inner = (n for n in ast.iter_child_nodes(node) if not isinstance(n, (*_STATEMENTS, *_OWN_SCOPES)))
    return any(map(has_named, inner))


def named_in(tree: ast.AST) -> set[str]:
    """All names that ``:=`` binds in a tree; a comprehension binds them for the function around it."""
    return {n.target.id for n in ast.walk(tree) if isinstance(n, ast.NamedExpr)}


def spelled_names(node: ast.stmt, place: int) -> list[ast.stmt]:
    """The statements; ``place`` is the statement's number. Raises Unsupported where the order cannot be kept."""
    handler = _SPELLED.get(type(node))
    if handler is None:
        raise refuse(f":= in {ast.unparse(node).splitlines()[0]}")
    speller = _Speller(place)
    last = handler(speller, node)
    return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in (*speller.made, *last)]


class _Speller:
    """``made`` are the statements so far; ``value`` gives what is left of an expression after them."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.serial = 0
        self.made: list[ast.stmt] = []

    def set(self, name: str, value: ast.expr) -> ast.expr:
        self.made.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value))
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    def name(self) -> str:
        self.serial += 1
        return f"{TEMPORARY}_named{self.place}_{self.serial}"

    def hold(self, value: ast.expr) -> ast.expr:
        return value if isinstance(value, ast.Constant) else self.set(self.name(), value)

    def value(self, node: ast.expr) -> ast.expr:
        if not has_named(node):
            return node
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise refuse(f":= in {ast.unparse(node)}")
        return ast.copy_location(handler(self, node), node)

    def values(self, nodes: Sequence[ast.expr]) -> list[ast.expr]:
        """Expressions that are evaluated one after the other; those before the last binding are held."""
        last = max((k for k, n in enumerate(nodes) if has_named(n)), default=0)
        made = []
        for k, node in enumerate(nodes):
            value = self.value(node)
            made.append(self.hold(value) if k < last else value)
        return made

    def inside(self, make: Callable[[], object]) -> list[ast.stmt]:
        """The statements that ``make`` adds, to stand under a condition."""
        around, self.made = self.made, []
        make()
        found, self.made = self.made, around
        return found


# -- expressions
def _named(s: _Speller, node: ast.NamedExpr) -> ast.expr:
    return s.set(node.target.id, s.value(node.value))


def _binary(s: _Speller, node: ast.BinOp) -> ast.expr:
    left, right = s.values([node.left, node.right])
    return ast.BinOp(left, node.op, right)


def _compare(s: _Speller, node: ast.Compare) -> ast.expr:
    """``a < b < c`` evaluates ``c`` only if ``a < b``, and ``b`` once."""
    first, *others = node.comparators
    if not others:
        left, right = s.values([node.left, first])
        return ast.Compare(left, node.ops, [right])
    held = ast.Name(s.name(), ast.Store())
    middle = ast.copy_location(ast.NamedExpr(held, first), first)
    start = ast.Compare(node.left, node.ops[:1], [middle])
    rest = ast.Compare(ast.copy_location(ast.Name(held.id, ast.Load()), first), node.ops[1:], others)
    both = [ast.copy_location(each, node) for each in (start, rest)]
    return s.value(ast.copy_location(ast.BoolOp(ast.And(), [*both]), node))


def _logic(s: _Speller, node: ast.BoolOp) -> ast.expr:
    first, *others = node.values
    value = s.value(first)
    if not any(map(has_named, others)):
        return ast.BoolOp(node.op, [value, *others])
    name = s.name()
    found = s.set(name, value)
    rest = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(node.op, others), others[0])
    test = found if isinstance(node.op, ast.And) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
    s.made.append(ast.copy_location(ast.If(test, s.inside(lambda: s.set(name, s.value(rest))), []), node))
    return found


def _conditional(s: _Speller, node: ast.IfExp) -> ast.expr:
    test = s.value(node.test)
    if not has_named(node.body) and not has_named(node.orelse):
        return ast.IfExp(test, node.body, node.orelse)
    name = s.name()
    ways = [s.inside(lambda n=n: s.set(name, s.value(n))) for n in (node.body, node.orelse)]  # type: ignore[misc]  # mypy sees no default
    s.made.append(ast.copy_location(ast.If(test, *ways), node))
    return ast.Name(name, ast.Load())


def _call(s: _Speller, node: ast.Call) -> ast.expr:
    given = s.values([*node.args, *(k.value for k in node.keywords)])
    count = len(node.args)
    keywords = [ast.keyword(k.arg, v) for k, v in zip(node.keywords, given[count:], strict=True)]
    return ast.Call(node.func, given[:count], keywords)


def _subscript(s: _Speller, node: ast.Subscript) -> ast.expr:
    return ast.Subscript(node.value, s.value(node.slice), node.ctx)


_EXPRESSIONS: Mapping[type, Callable[[_Speller, Any], ast.expr]] = {
    ast.NamedExpr: _named,
    ast.BinOp: _binary,
    ast.UnaryOp: lambda s, node: ast.UnaryOp(node.op, s.value(node.operand)),
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Tuple: lambda s, node: ast.Tuple(s.values(node.elts), node.ctx),
    ast.Attribute: lambda s, node: ast.Attribute(s.value(node.value), node.attr, node.ctx),
}


# -- statements
def _assign(s: _Speller, node: ast.Assign) -> list[ast.stmt]:
    """The value comes before the targets."""
    value = s.value(node.value)
    if any(map(has_named, node.targets)):
        value = s.hold(value)
    return [ast.Assign([_target(s, t) for t in node.targets], value)]


def _target(s: _Speller, target: ast.expr) -> ast.expr:
    if not has_named(target):
        return target
    if not isinstance(target, ast.Subscript):
        raise refuse(f":= in {ast.unparse(target)}")
    return ast.copy_location(ast.Subscript(target.value, s.hold(s.value(target.slice)), ast.Store()), target)


def _augmented(s: _Speller, node: ast.AugAssign) -> list[ast.stmt]:
    """The target is read before the value is evaluated."""
    if isinstance(node.target, ast.Name):
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        left, right = s.values([read, node.value])
        return [ast.Assign([node.target], ast.copy_location(ast.BinOp(left, node.op, right), node))]
    assert isinstance(node.target, ast.Subscript)
    index = s.value(node.target.slice)
    index = index if isinstance(index, ast.Tuple) else s.hold(index)
    if isinstance(index, ast.Tuple):
        index = ast.copy_location(ast.Tuple([s.hold(p) for p in index.elts], ast.Load()), index)
    owner = node.target.value
    element = ast.copy_location(ast.Subscript(owner, index, ast.Load()), node.target)
    left, right = s.values([element, node.value])
    place = ast.copy_location(ast.Subscript(owner, index, ast.Store()), node.target)
    return [ast.Assign([place], ast.copy_location(ast.BinOp(left, node.op, right), node))]


def _expression(s: _Speller, node: ast.Expr) -> list[ast.stmt]:
    value = s.value(node.value)
    return [] if isinstance(value, ast.Name | ast.Constant) else [ast.Expr(value)]


def _while(s: _Speller, node: ast.While) -> list[ast.stmt]:
    if node.orelse:
        raise refuse("else after a loop whose test binds a name")
    stop = ast.If(ast.copy_location(ast.UnaryOp(ast.Not(), s.value(node.test)), node.test), [ast.Break()], [])
    before, s.made = s.made, []
    first = [ast.copy_location(each, node.test) for each in (*before, stop)]
    return [ast.While(ast.copy_location(ast.Constant(True), node.test), [*first, *node.body], [])]


_SPELLED: Mapping[type, Callable[[_Speller, Any], list[ast.stmt]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: lambda s, node: [ast.AnnAssign(node.target, node.annotation, s.value(node.value), node.simple)],
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: lambda s, node: [ast.If(s.value(node.test), node.body, node.orelse)],
    ast.Assert: lambda s, node: [ast.Assert(s.value(node.test), node.msg)],
    ast.For: lambda s, node: [ast.For(node.target, s.value(node.iter), node.body, node.orelse)],
    ast.While: _while,
}
