"""Takes an expression whose kind depends on a condition, gives statements that leave its value in a variable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitmagic.tracer.loops.rules import refuse

__all__ = ["check_order", "pairs", "replaced", "spelled_out"]


def replaced(tree: Any, target: ast.expr, by: ast.expr) -> Any:
    """A copy of ``tree`` with ``by`` in the place of ``target``."""
    if tree is target:
        return by
    if isinstance(tree, list):
        return [replaced(each, target, by) for each in tree]
    if not isinstance(tree, ast.AST):
        return tree
    made = type(tree)(**{name: replaced(value, target, by) for name, value in ast.iter_fields(tree)})
    return ast.copy_location(made, tree)


def spelled_out(node: ast.expr, name: ast.Name) -> list[ast.stmt]:
    """Statements that bind ``name`` to the value of ``node``, in Python's order."""
    made = _WAYS[type(node)](node, name)
    return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in made]


def _set(name: ast.Name, value: ast.expr) -> ast.stmt:
    target = ast.copy_location(ast.Name(name.id, ast.Store()), value)
    return ast.copy_location(ast.Assign([target], value), value)


def _conditional(node: ast.IfExp, name: ast.Name) -> list[ast.stmt]:
    return [ast.If(node.test, [_set(name, node.body)], [_set(name, node.orelse)])]


def _bool(node: ast.BoolOp, name: ast.Name) -> list[ast.stmt]:
    """``x and y`` is ``x`` if that is false, else ``y``."""
    first, *rest = node.values
    made = [_set(name, first)]
    if rest:
        more = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(node.op, rest), node)
        test = name if isinstance(node.op, ast.And) else ast.copy_location(ast.UnaryOp(ast.Not(), name), node)
        made.append(ast.If(test, [_set(name, more)], []))
    return made


def _extreme(node: ast.Call, name: ast.Name) -> list[ast.stmt]:
    """``max(a, b)``: ``a``, unless ``b > a``."""
    other = ast.copy_location(ast.Name(f"{name.id}_other", ast.Load()), node)
    word = ast.Gt() if isinstance(node.func, ast.Name) and node.func.id == "max" else ast.Lt()
    made = [_set(name, node.args[0])]
    for arg in node.args[1:]:
        made.append(_set(other, arg))
        test = ast.copy_location(ast.Compare(other, [word], [name]), node)
        made.append(ast.If(test, [_set(name, other)], []))
    return made


_WAYS: Mapping[type, Callable[[Any, ast.Name], list[ast.stmt]]] = {
    ast.IfExp: _conditional,
    ast.BoolOp: _bool,
    ast.Call: _extreme,
}


def check_order(nodes: Sequence[ast.expr], first: ast.expr, bound: set[str]) -> None:
    """Refuse that ``first``, which binds names, runs before the rest, if that reads them, or decides about it."""
    if not bound:
        return
    for each in (n for node in nodes for n in ast.walk(replaced(node, first, ast.Constant(0)))):
        if isinstance(each, ast.BoolOp | ast.IfExp) or (isinstance(each, ast.Name) and each.id in bound):
            raise refuse(f"{', '.join(sorted(bound))}, which {ast.unparse(first)} changes")


def pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Targets with their values; a value that several targets take is evaluated for each, which changes nothing."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [(target, value)]
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(target.elts):
        raise refuse(f"unpacking {ast.unparse(value)}")
    if any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts)):
        raise refuse(f"unpacking {ast.unparse(value)}")
    return [pair for t, v in zip(target.elts, value.elts, strict=True) for pair in pairs(t, v)]
