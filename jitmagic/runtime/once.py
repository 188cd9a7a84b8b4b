"""Takes a loop and the namespace that it runs in, runs it once as compiled code, leaves what plain Python would leave.

    for t in range(n):              the loop as a function of the numbers and arrays that it reads; its results,
        u[t] = u[t - 1] + dt        the loop's variables among them, go back into the namespace

Nothing has happened where the answer is that it cannot be done: the caller then runs the loop itself, so that whatever
goes wrong goes wrong there, at the user's line. Only Ctrl-C stops the loop halfway, between two rounds; the namespace
and the arrays then hold what they would hold in plain Python.
"""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.errors import JitMagicError, LoopStopped
from jitmagic.events import CompileEvent, emit
from jitmagic.graph.node import Node
from jitmagic.graph.printer import print_graph
from jitmagic.graph.region_call import RegionCall
from jitmagic.runtime.compiling import is_tracing, tracing
from jitmagic.runtime.engine import capture
from jitmagic.runtime.lowering import Lowered, lower
from jitmagic.runtime.stopping import OnlyLoop, only_loop
from jitmagic.tracer.capture import Capture, FrameState, Options
from jitmagic.tracer.frame import register, span_of
from jitmagic.tracer.guards.kinds import NAMES
from jitmagic.tracer.names import names_in
from jitmagic.tracer.program import make_program

__all__ = ["LONG_S", "estimated_seconds", "run_if_long", "run_once"]

Loop = ast.For | ast.While
LONG_S = 0.5  # plain Python's time above which the time of a compile is well spent
_STATEMENT_S = 60e-9  # what plain Python needs at least for a statement of a loop ...
_ELEMENT_S = 60e-9  # ... and for each element of an array in it
_SOME_ROUNDS = 8  # of an inner loop of which nothing is known
_NUMBERS = (int, float, bool, complex)
_SERIALS = itertools.count(1)  # of loops, which are told of like functions; their numbers are negative


def run_once(loop: Loop, namespace: dict[str, Any], filename: str) -> bool:
    """Run the loop as one kernel and update ``namespace``; False, and nothing has happened, if that cannot be.

    Raises LoopStopped if Ctrl-C has stopped it halfway.
    """
    if is_tracing():
        return False
    bound = sorted(names_in([loop], stores_only=True))
    given = {n: v for n in sorted(names_in([loop])) if _is_data(v := namespace.get(n))}
    function = _as_function(loop, tuple(given), bound, namespace, filename)
    begin = time.perf_counter_ns()
    try:
        compiled = _compiled(function, given, bound)
    except Exception:  # a fault of a backend must not reach the user's program: nothing has happened yet
        return False
    if compiled is None:
        return False
    elapsed_ns = time.perf_counter_ns() - begin
    try:
        results = compiled.program(*given.values())
    except (Bail, JitMagicError):
        return False
    except LoopStopped as stop:
        stopped = compiled.loop.bring(compiled.inputs, stop.error) if compiled.loop is not None else None
        if stopped is None:
            raise stop.error from None
        namespace.update(stopped.values)
        raise
    namespace.update(zip(bound, results, strict=True))
    emit(compiled.event(loop, filename, elapsed_ns))
    return True


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A loop that has a kernel; ``program`` runs it, with ``inputs`` as what the graph takes."""

    program: Any
    found: Capture
    lowered: Lowered
    inputs: list[Any]
    loop: OnlyLoop | None

    def event(self, loop: Loop, filename: str, elapsed_ns: int) -> CompileEvent:
        """What the card says of it."""
        return CompileEvent(
            f"the loop on line {loop.lineno}",
            -next(_SERIALS),
            span_of(filename, loop),
            entry=0,
            call=1,
            resume=0,
            node_count=sum(1 for _ in self.found.graph.calls()),
            kernel_count=self.lowered.kernel_count,
            extern_count=0,
            loop_count=sum(1 for _ in _regions(self.found)),
            elapsed_ns=elapsed_ns,
            graph_text=print_graph(self.found.graph),
            lines=tuple(self.lowered.lines),
        )


def _is_data(value: Any) -> bool:
    return type(value) in _NUMBERS or isinstance(value, np.generic) or type(value) is np.ndarray


def _as_function(
    loop: Loop, parameters: tuple[str, ...], bound: list[str], namespace: dict[str, Any], filename: str
) -> FunctionType:
    """The loop as a function that gives the values of the names that it binds."""
    give = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in bound], ast.Load()))
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    body: list[ast.stmt] = [copy.deepcopy(loop), ast.copy_location(give, loop)]
    definition = ast.FunctionDef("cell_loop", args, body, [], None, None)
    definition.type_params = []  # type: ignore[attr-defined]  # asked for from Python 3.12 on
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(definition, loop)], []))
    code = next(c for c in compile(module, filename, "exec", dont_inherit=True).co_consts if isinstance(c, CodeType))
    register(code, definition, code)
    return FunctionType(code, namespace, "cell_loop")


def _compiled(function: FunctionType, given: Mapping[str, Any], bound: list[str]) -> _Compiled | None:
    """The program of the function, if all of it is loops that have a kernel."""
    options = Options(shows_names=True)
    with tracing():
        found = capture(function, dict(given), options, FrameState())
        if found.plain_reason or found.continues or not any(_regions(found)):
            return None
        lowered = lower(found.graph, found.examples, options)
    if any(call.compiled is None for call in _regions(found)):
        return None
    names = {**NAMES, "G": function.__globals__, "B": vars(builtins)}
    inputs: list[Any] = []

    def run(arguments: list[Any]) -> list[Any]:
        inputs[:] = arguments
        return lowered.run(arguments)

    program = make_program(found, tuple(given), names, run, title="a loop", takes_cells=False, block=lambda body: body)
    return _Compiled(program, found, lowered, inputs, only_loop(found, bound))


def _regions(capture: Capture) -> Iterator[RegionCall]:
    return filter(None, map(_region_of, capture.graph.calls()))


def _region_of(node: Node) -> RegionCall | None:
    call = node.op.call if node.op is not None else None
    return call if isinstance(call, RegionCall) else None


def run_if_long(statement: ast.stmt, namespace: dict[str, Any], filename: str) -> bool:
    """``run_once`` for a statement of a cell, if it is a loop that plain Python would need long for."""
    if not isinstance(statement, ast.For | ast.While) or estimated_seconds(statement, namespace) < LONG_S:
        return False
    return run_once(statement, namespace, filename)


def estimated_seconds(loop: Loop, namespace: Mapping[str, Any]) -> float:
    """A low estimate of plain Python's time for a loop; 0 for one of which nothing is known."""
    if isinstance(loop, ast.While):
        return 0.0
    rounds = _rounds(loop.iter, namespace)
    return 0.0 if rounds is None else rounds * _body_seconds(loop.body, namespace)


def _body_seconds(body: list[ast.stmt], namespace: Mapping[str, Any]) -> float:
    total = 0.0
    for each in body:
        inner = [*getattr(each, "body", ()), *getattr(each, "orelse", ())]
        total += _STATEMENT_S if inner else _statement_seconds(each)
        if inner:
            rounds = _rounds(each.iter, namespace) if isinstance(each, ast.For) else 1
            total += (_SOME_ROUNDS if rounds is None else rounds) * _body_seconds(inner, namespace)
    return total


def _statement_seconds(statement: ast.stmt) -> float:
    return _STATEMENT_S + _ELEMENT_S * sum(isinstance(n, ast.Subscript) for n in ast.walk(statement))


def _rounds(node: ast.expr, namespace: Mapping[str, Any]) -> float | None:
    """The length of ``range(...)`` or of an array, if that can be told without running anything of the user's."""
    if isinstance(node, ast.Name):
        value = namespace.get(node.id)
        return len(value) if type(value) is np.ndarray and value.ndim else None
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        return None
    bounds = [_number(a, namespace) for a in node.args]
    if "range" in namespace or node.keywords or not all(isinstance(b, int) for b in bounds):
        return None
    try:
        return float(len(range(*bounds)))
    except (TypeError, ValueError, OverflowError):
        return None


def _number(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """The value of an expression of known numbers and sizes of arrays, or None."""
    names = {n.id: namespace.get(n.id) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id != "len"}
    if not all(map(_is_harmless, ast.walk(node))) or not all(map(_is_data, names.values())):
        return None
    expression = ast.fix_missing_locations(ast.Expression(copy.deepcopy(node)))
    try:
        return eval(compile(expression, "<bound>", "eval"), {"__builtins__": {"len": len}}, names)
    except Exception:  # the loop itself will say what is wrong
        return None


def _is_harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.right, ast.Constant) and node.right.value in range(64)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, _PLAIN) or (isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"))


_PLAIN = (
    *(ast.Constant, ast.Name, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.FloorDiv, ast.UnaryOp, ast.USub),
    *(ast.Subscript, ast.expr_context),
)
