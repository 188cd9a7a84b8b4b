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
from jitmagic.tracer.loops.comprehended import renamed, scoped
from jitmagic.tracer.loops.leaving import may_end_without, without_returns
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.variables.functions import NestedFunction

__all__ = ["body_of"]

FAR = 1_000_000  # added to line numbers, so that places in two copies of one body differ


def body_of(
    node: ast.Call,
    function: FunctionType | NestedFunction | ast.Lambda,
    result: str,
    serial: int,
    is_array: Callable[[ast.expr], bool],
    defaults: Mapping[str, ast.expr],
) -> list[ast.stmt]:
    """Statements that bind ``result`` to what the call gives; ``defaults`` are those of the parameters.

    Raises Unsupported for callees that are more than parameters with names and statements.
    """
    if isinstance(function, ast.Lambda):
        return _expression_of(node, function, result, serial, is_array)
    frame = Frame(function.code, function.node) if isinstance(function, NestedFunction) else frame_of(function)
    definition: Any = frame.node
    _check(frame, node, is_nested=isinstance(function, NestedFunction))
    prefix = f"{result}_"
    given = _given(node, definition, defaults)
    stored = {n.id for s in frame.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    arrays = {p: value for p, value in given.items() if p not in stored and is_array(value)}
    first = [_set(prefix + p, value, node) for p, value in given.items() if p not in arrays]
    names = {name: prefix + name for name in frame.local_names if name not in arrays}
    body = [_Renamed(names, arrays).visit(copy.deepcopy(s)) for s in scoped(frame.body)]
    nothing = [_set(result, ast.Constant(None), node)] if may_end_without(frame.body) else []
    made = [*first, *nothing, *without_returns(body, result, node)]
    return [_moved(s, serial) for s in made]


def _expression_of(
    node: ast.Call, function: ast.Lambda, result: str, serial: int, is_array: Callable[[ast.expr], bool]
) -> list[ast.stmt]:
    """The same for a lambda that stands in the place of the call: other names than its own are those around it."""
    args = function.args
    if args.vararg or args.kwarg or args.kwonlyargs or any(isinstance(a, ast.Starred) for a in node.args):
        raise refuse(f"the call {ast.unparse(node)}")
    given = _given(node, function, {})
    arrays = {p: value for p, value in given.items() if is_array(value)}
    first = [_set(f"{result}_{p}", value, node) for p, value in given.items() if p not in arrays]
    value = renamed(function.body, {p: f"{result}_{p}" for p in given if p not in arrays})
    return [_moved(s, serial) for s in (*first, _set(result, _Renamed({}, arrays).visit(value), node))]


def _given(node: ast.Call, definition: Any, defaults: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
    """The arguments by parameter, in the order in which they are evaluated."""
    wanted = [*_parameters(definition), *(a.arg for a in definition.args.kwonlyargs)]
    given = dict(zip(_parameters(definition), node.args, strict=False))
    by_name = {k.arg: k.value for k in node.keywords if k.arg is not None}
    if len(by_name) < len(node.keywords) or given.keys() & by_name:
        raise refuse(f"the call {ast.unparse(node)}")
    given |= by_name
    given |= {name: value for name, value in defaults.items() if name not in given}
    if sorted(given) != sorted(wanted):
        raise refuse(f"the call {ast.unparse(node)}")
    return given


def _check(frame: Frame, node: ast.Call, *, is_nested: bool) -> None:
    args = frame.node.args
    plain = not (args.vararg or args.kwarg) and (is_nested or not frame.code.co_freevars)
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
