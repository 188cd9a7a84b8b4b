"""Takes expressions that are loops in disguise, gives them opened: the loops that are around one element.

    (f(v) for v in x if v > 0)         for v in x:            element f(v)
    map(f, x, y)                           if v > 0: ...

Names that a comprehension binds are its own: ``scoped`` gives them names that nothing else has.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["COMPREHENSIONS", "Opened", "bound_by", "opened", "renamed", "scoped"]

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
PREFIX = "_jm_c"


@dataclass(frozen=True, slots=True)
class Opened:
    """The loops around ``element``, outermost first, each with the conditions under which it goes on."""

    loops: tuple[ast.comprehension, ...]
    element: ast.expr

    def statements(self, body: Callable[[ast.expr], Sequence[ast.stmt]]) -> list[ast.stmt]:
        """The loops as statements around ``body(element)``; each has a place in the source of its own."""
        made = list(body(self.element))
        for each in reversed(self.loops):
            for test in reversed(each.ifs):
                made = [ast.copy_location(ast.If(test, made, []), test)]
            made = [ast.copy_location(ast.For(each.target, each.iter, made, []), each.target)]
        return made


def opened(node: ast.expr, is_map: Callable[[ast.expr], bool], prefix: str) -> Opened:
    """Any other expression than a comprehension or ``map`` is what one loop runs over."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return Opened(tuple(node.generators), node.elt)
    if isinstance(node, ast.Call) and len(node.args) > 1 and not node.keywords and is_map(node.func):
        names = [f"{prefix}_{i}" for i in range(len(node.args) - 1)]
        targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in names]
        target = ast.copy_location(targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store()), node)
        over = node.args[1] if len(names) == 1 else ast.Call(ast.Name("zip", ast.Load()), node.args[1:], [])
        element = ast.copy_location(ast.Call(node.args[0], [ast.Name(n, ast.Load()) for n in names], []), node.args[0])
        return Opened((ast.comprehension(target, over, [], 0),), element)
    target = ast.copy_location(ast.Name(f"{prefix}_0", ast.Store()), node)
    return Opened((ast.comprehension(target, node, [], 0),), ast.Name(target.id, ast.Load()))


def bound_by(node: Any) -> set[str]:
    """The names that the loops of a comprehension bind."""
    inner = (n for g in node.generators for n in ast.walk(g.target))
    return {n.id for n in inner if isinstance(n, ast.Name)}


def scoped(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements with names of their own for what comprehensions bind; the same ones if there are none."""
    if not any(isinstance(n, COMPREHENSIONS) for s in statements for n in ast.walk(s)):
        return list(statements)
    serial = iter(range(10_000))
    return [_Scoped(serial).visit(copy.deepcopy(s)) for s in statements]


def renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A copy with other names; those that an inner comprehension or lambda binds hide them."""
    return _Renamed(names).visit(copy.deepcopy(node))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        node.body = _Renamed(_without(self.names, own)).visit(node.body)
        return node

    def _comprehension(self, node: Any) -> ast.expr:
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        inner = _Renamed(_without(self.names, bound_by(node)))
        over = copy.deepcopy(first.iter)  # it is evaluated outside, and its parts are renamed in place
        inner.generic_visit(node)
        first.iter = over
        return node  # type: ignore[no-any-return]  # an expression

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension


def _without(names: Mapping[str, str], hidden: set[str]) -> dict[str, str]:
    return {k: v for k, v in names.items() if k not in hidden}


class _Scoped(ast.NodeTransformer):
    """Inner comprehensions first: then no name of theirs is left that an outer one could mean."""

    def __init__(self, serial: Iterator[int]) -> None:
        self.serial = serial

    def _comprehension(self, node: Any) -> ast.expr:
        self.generic_visit(node)
        number = next(self.serial)
        names = {n: f"{PREFIX}{number}_{n}" for n in sorted(bound_by(node))}
        own = _Renamed(names)
        over = copy.deepcopy(node.generators[0].iter)  # it is evaluated outside, and its parts are renamed in place
        own.generic_visit(node)
        node.generators[0].iter = over
        return node  # type: ignore[no-any-return]  # an expression

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension
