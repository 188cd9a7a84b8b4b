"""Takes a loop with ``return`` in it or ``else`` after it, gives one that is left by ``break`` only, and what follows.

for i in range(n):                      left = False
    ...                                 for i in range(n):
    if done(x): return x, f(i)              ...
                                  =>        if done(x): value = f(i); left = True; break
                                        if left: return x, value
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.tracer.flow.names import TEMPORARY, leaves_function
from jitmagic.tracer.names import names_in

__all__ = ["WithoutReturns", "without_returns"]

Loop = ast.For | ast.While
KEPT = (ast.Name, ast.Constant)  # what means the same after the loop, as lists do that the loop appends to


class _NoForm(Exception):
    """The loop is left in a way that no flag can tell."""


@dataclass(slots=True)
class WithoutReturns:
    """``before``, then ``loop``, then ``after`` are the loop; ``returns`` says whether it may return."""

    loop: Any
    before: list[ast.stmt] = field(default_factory=list)
    after: list[ast.stmt] = field(default_factory=list)

    @property
    def returns(self) -> bool:
        return leaves_function(self.after)


def without_returns(loop: Loop) -> WithoutReturns | None:
    """The same loop in three parts; None if it has neither ``return`` nor ``else``, or there is no form for it."""
    if not loop.orelse and not leaves_function(loop.body):
        return None
    made = WithoutReturns(None)
    broken = _name(loop, "broken") if loop.orelse else ""
    try:
        body = _leaving(made, loop, loop.body, broken)
    except _NoForm:
        return None
    made.loop = ast.copy_location(type(loop)(**{**dict(ast.iter_fields(loop)), "body": body, "orelse": []}), loop)
    if broken:
        made.before.append(_store(broken, ast.Constant(False), loop))
        test = ast.UnaryOp(ast.Not(), ast.Name(broken, ast.Load()))
        made.after.append(_at(ast.If(test, loop.orelse, []), loop))
    return made


def _leaving(made: WithoutReturns, loop: Loop, body: Sequence[ast.stmt], broken: str) -> list[ast.stmt]:
    """The statements with a flag set where they leave the loop."""
    changed: list[ast.stmt] = []
    note = [_store(broken, ast.Constant(True), loop)] if broken else []
    for statement in body:
        if isinstance(statement, ast.If):
            ways = (_leaving(made, loop, way, broken) for way in (statement.body, statement.orelse))
            changed.append(ast.copy_location(ast.If(statement.test, *ways), statement))
        elif isinstance(statement, ast.Return):
            changed += [*_returned(made, loop, statement), *note, _at(ast.Break(), statement)]
        elif isinstance(statement, ast.Break):
            changed += [*note, statement]
        elif leaves_function([statement]) or (broken and _breaks(statement)):
            raise _NoForm
        else:
            changed.append(statement)
    return changed


def _returned(made: WithoutReturns, loop: Loop, node: ast.Return) -> list[ast.stmt]:
    """What stands for a ``return`` in the loop: its flag, and the parts of its value that are computed there."""
    number = len(made.before)
    flag = _name(loop, f"left{number}")
    stores: list[ast.stmt] = []

    def part(value: ast.expr) -> ast.expr:
        if isinstance(value, KEPT) or not _appended_to(loop).isdisjoint(names_in([ast.Expr(value)])):
            return value
        name = _name(loop, f"value{number}_{len(stores)}")
        stores.append(_store(name, value, node))
        return ast.Name(name, ast.Load())

    value = node.value
    if isinstance(value, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
        value = ast.Tuple([part(e) for e in value.elts], ast.Load())
    elif value is not None:
        value = part(value)
    made.before.append(_store(flag, ast.Constant(False), loop))
    made.after.append(_at(ast.If(ast.Name(flag, ast.Load()), [ast.Return(value)], []), node))
    return [*stores, _store(flag, ast.Constant(True), node)]


def _appended_to(loop: Loop) -> set[str]:
    """The names of what the loop calls ``append`` of."""
    methods = (n.func for n in ast.walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
    return {m.value.id for m in methods if m.attr == "append" and isinstance(m.value, ast.Name)}


def _breaks(statement: ast.AST) -> bool:
    """Whether there is a ``break`` of a loop around the statement."""
    if isinstance(statement, ast.Break):
        return True
    if isinstance(statement, ast.For | ast.While):
        return any(map(_breaks, statement.orelse))
    return any(map(_breaks, ast.iter_child_nodes(statement)))


def _name(loop: Loop, role: str) -> str:
    return f"{TEMPORARY}_{role}_{loop.lineno}_{loop.col_offset}"


def _store(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    made: ast.stmt = _at(ast.Assign([ast.Name(name, ast.Store())], value), place)
    return made


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))
