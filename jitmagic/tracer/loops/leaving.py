"""Takes statements that leave loops by ``return``, or have an ``else`` after a loop, gives the same without either.

for i in range(n):                              for i in range(n):
    if x[i] == v:                                   if x[i] == v:
        return i                     =>                 result = i
return -1                                               returned = True
                                                        break
                                                if not returned:
                                                    result = -1
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from jitmagic.tracer.loops.rules import refuse

__all__ = ["has_return", "may_end_without", "noting_breaks", "part_name", "without_else", "without_returns"]

Loop = ast.For | ast.While


def has_return(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(statement))


def may_end_without(body: Sequence[ast.stmt]) -> bool:
    """Whether a function, as its syntax tells, may return single values, and also end without one."""
    returns = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Return)]
    single = [n for n in returns if n.value is not None and not isinstance(n.value, ast.Tuple)]
    return bool(single) and (len(single) < len(returns) or not _always_ends(body))


def _returns_in_else(statement: ast.stmt) -> bool:
    """Whether a loop has an ``else`` that may return."""
    return isinstance(statement, ast.For | ast.While) and any(map(has_return, statement.orelse))


def _always_ends(body: Sequence[ast.stmt]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_ends(last.body) and _always_ends(last.orelse)
    if isinstance(last, ast.While):
        forever = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return forever and not any(isinstance(n, ast.Break) for n in ast.walk(last))
    return isinstance(last, ast.Return | ast.Raise)


def without_returns(body: Sequence[ast.stmt], result: str, place: Any) -> list[ast.stmt]:
    """``body`` with assignments to ``result`` for its returns; without a value they leave it as it is.

    Tuples go to one variable for each element (``part_name``).
    What follows an ``if`` that may return goes into its branches.
    """
    made: list[ast.stmt] = []
    for position, statement in enumerate(body):
        if isinstance(statement, ast.Return):
            return [*made, *_given(statement, result)]
        if _returns_in_else(statement):
            opened = [*without_else(statement), *body[position + 1 :]]  # type: ignore[arg-type]  # a loop
            return [*made, *without_returns(opened, result, place)]
        if has_return(statement):
            rest = without_returns(body[position + 1 :], result, place)
            return [*made, *_split(statement, list(body[position + 1 :]), rest, result, place)]
        made.append(statement)
    return made


def _split(
    statement: ast.stmt, following: list[ast.stmt], rest: list[ast.stmt], result: str, place: Any
) -> list[ast.stmt]:
    if isinstance(statement, ast.For | ast.While):
        flag = f"{result}_returned"
        loop = _copied(statement, body=_leaving(statement.body, result, flag))
        after = [_at(ast.If(_not(flag, statement), rest, []), statement)] if rest else []
        return [_flag(flag, False, statement), *without_else(loop), *after]
    if not isinstance(statement, ast.If):
        raise refuse(f"a return from within {ast.unparse(statement).splitlines()[0]}")
    orelse = without_returns([*statement.orelse, *following], result, place) or [ast.Pass()]
    branches = without_returns([*statement.body, *following], result, place) or [ast.Pass()]
    return [_at(ast.If(statement.test, branches, orelse), statement)]


def _leaving(body: Sequence[ast.stmt], result: str, flag: str) -> list[ast.stmt]:
    """The body of a loop whose returns end the loop instead, and set ``flag``."""
    made: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Return):
            return [*made, *_given(statement, result), _flag(flag, True, statement), _at(ast.Break(), statement)]
        if not has_return(statement):
            made.append(statement)
        elif _returns_in_else(statement):
            made += _leaving(without_else(statement), result, flag)  # type: ignore[arg-type]  # a loop
        elif isinstance(statement, ast.For | ast.While):
            made += without_else(_copied(statement, body=_leaving(statement.body, result, flag)))
            made.append(_at(ast.If(_at(ast.Name(flag, ast.Load()), statement), [ast.Break()], []), statement))
        elif isinstance(statement, ast.If):
            orelse = _leaving(statement.orelse, result, flag)
            made.append(_at(ast.If(statement.test, _leaving(statement.body, result, flag), orelse), statement))
        else:
            raise refuse(f"a return from within {ast.unparse(statement).splitlines()[0]}")
    return made


def without_else(loop: Loop) -> list[ast.stmt]:
    """A loop with ``else`` as one that notes whether it was broken off."""
    if not loop.orelse:
        return [loop]
    flag = f"_jm_broken{loop.lineno}_{loop.col_offset}"
    body = noting_breaks(loop.body, flag)
    after = _at(ast.If(_not(flag, loop), list(loop.orelse), []), loop)
    return [_flag(flag, False, loop), _copied(loop, body=body, orelse=[]), after]


def noting_breaks(body: Sequence[ast.stmt], flag: str) -> list[ast.stmt]:
    """The body of a loop that sets ``flag`` before it breaks the loop off."""
    made: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Break):
            made.append(_flag(flag, True, statement))
        if isinstance(statement, ast.If):
            branches = (noting_breaks(statement.body, flag), noting_breaks(statement.orelse, flag))
            made.append(_at(ast.If(statement.test, *branches), statement))
        elif isinstance(statement, ast.For | ast.While) and statement.orelse:
            made.append(_copied(statement, orelse=noting_breaks(statement.orelse, flag)))
        else:
            made.append(statement)
    return made


def part_name(result: str, position: int) -> str:
    """The variable of one element where ``result`` is a tuple."""
    return f"{result}_{position}"


def _given(node: ast.Return, result: str) -> list[ast.stmt]:
    if node.value is None:
        return []
    if not isinstance(node.value, ast.Tuple):
        return [_at(ast.Assign([ast.Name(result, ast.Store())], node.value), node)]
    names = [ast.Name(part_name(result, i), ast.Store()) for i in range(len(node.value.elts))]
    return [_at(ast.Assign([n], e), node) for n, e in zip(names, node.value.elts, strict=True)]


def _flag(name: str, value: bool, place: ast.AST) -> ast.stmt:
    made: ast.stmt = _at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)
    return made


def _not(name: str, place: ast.AST) -> ast.expr:
    made: ast.expr = _at(ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load())), place)
    return made


def _copied(node: Any, **changes: Any) -> Any:
    fields = dict(ast.iter_fields(node))
    return ast.copy_location(type(node)(**{**fields, **changes}), node)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))
