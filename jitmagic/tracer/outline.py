"""Rewrites a loop, ``with`` or ``try`` that must run as plain Python so that its body is compiled on its own.

The header stays as it is, so that iterators, context managers and handlers do exactly what Python does; the body
becomes an inner function over the same variables::

    for i in items:                     def body():
        x = x + i                           nonlocal x
        plot(x)                             x = x + i
                                            plot(x)
                                        for i in items:
                                            flow = body()
                                            if flow is not None: ...
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from jitmagic.tracer.names import deleted_in, names_in

__all__ = ["BLOCK", "BODY", "outline"]

BLOCK = "_jm_block"
BODY = "_jm_body_"  # what the inner functions are called until they get the name of the user's function
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)


def outline(statement: ast.stmt, local_names: frozenset[str]) -> list[ast.stmt] | None:
    """The statements to run instead of ``statement``, or None if its body has to stay where it is.

    They use ``_jm_block``, which takes the inner function and gives its compiled form.
    """
    if not isinstance(statement, ast.For | ast.While | ast.With | ast.Try) or not _may_move(statement.body):
        return None
    in_loop = isinstance(statement, _LOOPS)
    place = f"{statement.lineno}_{statement.col_offset}"
    name, flow = f"{BODY}{place}", f"_jm_flow_{place}"
    body = [_leave(copy.deepcopy(s), 0) for s in statement.body]
    assigned = sorted(_assigned(statement.body) & local_names)
    head: list[ast.stmt] = [ast.Nonlocal(assigned)] if assigned else []
    inner = ast.FunctionDef(name, _no_arguments(), [*head, *body], [], None, None)
    inner.type_params = []  # type: ignore[attr-defined] # asked for from Python 3.12 on
    bind = ast.parse(f"{name} = {BLOCK}({name})").body[0]
    never = [ast.parse(f"if 0: {each} = None").body[0] for each in assigned]
    made = copy.copy(statement)
    made.body = _call_body(name, flow, in_loop=in_loop)
    first = statement.body[0]
    for node in (bind, *never, *made.body, *head):
        for each in ast.walk(node):
            if "lineno" in each._attributes:
                ast.copy_location(each, first)
    ast.fix_missing_locations(ast.copy_location(inner, first))
    return [*never, inner, bind, made]


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _may_move(body: Sequence[ast.stmt]) -> bool:
    """Bodies that suspend the function, or that break out of a loop around the statement, stay."""
    stuck = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Import, ast.ImportFrom)
    nodes = [n for s in body for n in ast.walk(s)]
    return not any(isinstance(n, (*stuck, ast.Global, ast.Nonlocal)) for n in nodes)


def _assigned(body: Sequence[ast.stmt]) -> set[str]:
    return names_in(body, stores_only=True) | deleted_in(body)


def _leave(node: Any, depth: int) -> Any:
    """Turn the ways of leaving the body into values: ``return v`` into ``return ("return", v)``, and so on."""
    if isinstance(node, ast.Return):
        value = node.value or ast.Constant(None)
        pair = ast.Tuple([ast.Constant("return"), value], ast.Load())
        return ast.copy_location(ast.Return(pair), node)
    if isinstance(node, ast.Break | ast.Continue) and depth == 0:
        word = "break" if isinstance(node, ast.Break) else "continue"
        pair = ast.Tuple([ast.Constant(word), ast.Constant(None)], ast.Load())
        return ast.copy_location(ast.Return(pair), node)
    if isinstance(node, _OWN_SCOPE):
        return node
    for name, value in ast.iter_fields(node):
        inner = depth + (1 if isinstance(node, _LOOPS) and name == "body" else 0)
        if isinstance(value, list):
            setattr(node, name, [_leave(v, inner) if _is_block(v) else v for v in value])
    return node


def _is_block(value: Any) -> bool:
    return isinstance(value, ast.stmt | ast.ExceptHandler | ast.match_case)


_AFTER_LOOP_BODY = """
while 1:
    {flow} = {name}()
    if {flow} is not None:
        if {flow}[0] == 'return': return {flow}[1]
        if {flow}[0] == 'break': break
        continue
"""
_AFTER_BODY = """
def f():
    {flow} = {name}()
    if {flow} is not None:
        return {flow}[1]
"""


def _call_body(name: str, flow: str, *, in_loop: bool) -> list[ast.stmt]:
    template = _AFTER_LOOP_BODY if in_loop else _AFTER_BODY
    wrapper: Any = ast.parse(template.format(flow=flow, name=name)).body[0]
    made: list[ast.stmt] = wrapper.body
    return made
