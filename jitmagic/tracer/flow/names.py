"""Takes a statement of a function, gives the names that it binds, and those that somebody reads later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jitmagic.tracer.loops.unfolding import OWN
from jitmagic.tracer.names import names_in

__all__ = ["TEMPORARY", "leaves_function", "needed_after", "rebound_in"]

TEMPORARY = "_jm"  # names that rewritten statements use: whoever rewrote them reads them

_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.FunctionDef, ast.ClassDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


def rebound_in(node: ast.AST) -> frozenset[str]:
    """The names that the statement binds in its function; those of comprehensions are their own."""
    return frozenset(_bound(node))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    if isinstance(node, _SCOPES):
        yield from (
            n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr) and isinstance(n.target, ast.Name)
        )
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(
        node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping | ast.Import | ast.ImportFrom
    ):
        yield from names_in([node], stores_only=True)  # type: ignore[list-item]  # it walks any syntax
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def needed_after(function: ast.AST, node: ast.AST, names: frozenset[str]) -> list[str]:
    """Which of ``names`` may be read after ``node``, by ``node`` itself too if a loop is around it."""
    of = getattr(node, "jm_of", node)  # the statement of the function, if ``node`` was made of another one
    read = set(_reads(function, of))
    if any(isinstance(n, _LOOPS) and n is not of and _holds(n, of) for n in ast.walk(function)):
        read |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    made = (n for n in names if n.startswith(TEMPORARY) and not n.startswith(OWN))
    return sorted({*made, *(read & names)} - {n for n in names if n.startswith(OWN)})


def _reads(tree: ast.AST, without: ast.AST) -> Iterator[str]:
    if tree is without:
        return
    if isinstance(tree, ast.Name) and not isinstance(tree.ctx, ast.Store):
        yield tree.id
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        yield tree.target.id
    for child in ast.iter_child_nodes(tree):
        yield from _reads(child, without)


def _holds(tree: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(tree))


def leaves_function(body: list[ast.stmt]) -> bool:
    """Whether the statements hold a ``return`` or ``yield`` of their own function."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return False
