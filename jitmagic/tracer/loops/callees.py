"""Takes a call of a Python function in a loop, gives the statements of its body in the place of the call.

    y = clip(x[i], 0)      =>      v = x[i]; low = 0
                                   if v < low: result = low
                                   else: result = v
                                   y = result

Names of the callee get a prefix of their own. An array that is passed on is the caller's.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from jitmagic.tracer.frame import Frame, frame_of
from jitmagic.tracer.loops.leaving import without_returns
from jitmagic.tracer.loops.rules import refuse

__all__ = ["body_of"]

FAR = 1_000_000  # added to line numbers, so that places in two copies of one body differ


def body_of(
    node: ast.Call, function: FunctionType, result: str, serial: int, is_array: Callable[[ast.expr], bool]
) -> list[ast.stmt]:
    """Statements that bind ``result`` to what the call gives; without a value they leave it unbound.

    Raises Unsupported for callees that are more than positional parameters and statements.
    """
    frame = frame_of(function)
    definition: Any = frame.node
    _check(function, frame, node)
    prefix = f"{result}_"
    given = dict(zip(_parameters(definition), node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords if k.arg is not None}
    if sorted(given) != sorted(_parameters(definition)):
        raise refuse(f"the call {ast.unparse(node)}")
    stored = {n.id for s in frame.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    arrays = {p: value for p, value in given.items() if p not in stored and is_array(value)}
    first = [_set(prefix + p, value, node) for p, value in given.items() if p not in arrays]
    renamed = {name: prefix + name for name in frame.local_names if name not in arrays}
    body = [_Renamed(renamed, arrays).visit(copy.deepcopy(s)) for s in frame.body]
    made = [*first, *without_returns(body, result, node)]
    return [_moved(s, serial) for s in made]


def _check(function: FunctionType, frame: Frame, node: ast.Call) -> None:
    args = frame.node.args
    plain = not (args.vararg or args.kwarg or args.kwonlyargs) and not function.__code__.co_freevars
    if frame.is_generator or not plain or any(isinstance(a, ast.Starred) for a in node.args):
        raise refuse(f"the call {ast.unparse(node)}")
    if len(node.args) > len(_parameters(frame.node)):
        raise refuse(f"the call {ast.unparse(node)}")


def _parameters(definition: Any) -> list[str]:
    return [a.arg for a in (*definition.args.posonlyargs, *definition.args.args)]


def _set(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, place))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str], arrays: Mapping[str, ast.expr]) -> None:
        self.names = names
        self.arrays = arrays

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.arrays:
            return self.arrays[node.id]
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def _moved(tree: ast.stmt, serial: int) -> ast.stmt:
    made = copy.deepcopy(tree)
    for node in ast.walk(made):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno += FAR * serial
            node.end_lineno = node.lineno
    return made
