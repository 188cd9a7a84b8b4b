"""Takes statements, gives the names that they use, bind or delete in their own scope and below."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

__all__ = ["deleted_in", "names_in"]


def names_in(statements: Sequence[ast.stmt], *, stores_only: bool = False) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and (not stores_only or isinstance(node.ctx, ast.Store)):
                found.add(node.id)
            found |= _BINDERS.get(type(node), _no_names)(node)
    return found


def _no_names(node: Any) -> set[str]:
    return set()


def _alias_names(node: Any) -> set[str]:
    return {a.asname or a.name.partition(".")[0] for a in node.names}


_BINDERS: dict[type, Any] = {
    ast.FunctionDef: lambda n: {n.name},
    ast.AsyncFunctionDef: lambda n: {n.name},
    ast.ClassDef: lambda n: {n.name},
    ast.ExceptHandler: lambda n: {n.name} if n.name else set(),
    ast.Import: _alias_names,
    ast.ImportFrom: _alias_names,
    ast.MatchAs: lambda n: {n.name} if n.name else set(),
    ast.MatchStar: lambda n: {n.name} if n.name else set(),
    ast.MatchMapping: lambda n: {n.rest} if n.rest else set(),
}


def deleted_in(statements: Sequence[ast.stmt]) -> set[str]:
    nodes = (n for s in statements for n in ast.walk(s))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
