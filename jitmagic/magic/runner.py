"""Takes the source of a cell and a way to compile its functions, runs it as IPython runs a plain cell.

Statement by statement, as ``InteractiveShell.run_ast_nodes`` does: a statement that does not compile is only
found when the ones above it have run, and ``from __future__`` holds for what follows. The value of the last
expression is given back, so that the display hook, ``_``, ``Out[n]`` and a final ``;`` work as they do below
any other magic.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jitmagic.errors import LoopStopped
from jitmagic.magic.failure import out_of_coroutine
from jitmagic.magic.rewrite import bind
from jitmagic.magic.rounds import in_pieces, may_be_kernel
from jitmagic.magic.source import CellSource

__all__ = ["CellProgram", "Outcome", "parse", "run", "run_async"]

_INTERRUPT = "jitmagic:interrupt"


@dataclass(frozen=True, slots=True)
class CellProgram:
    """What is run: the statements, their file name, and what the markers in them stand for."""

    tree: ast.Module
    filename: str
    table: Mapping[str, Any]
    run_loop: Callable[[ast.stmt, dict[str, Any], str, bool], bool] | None = None  # for loops at top level
    ran_plain: Callable[[ast.stmt, float], None] = lambda node, seconds: None  # told how long a statement took


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a cell ended: its last value, or the exception that stopped it."""

    value: Any = None
    error: BaseException | None = None

    def result(self) -> Any:
        """The value; raises the error instead if there is one."""
        if self.error is not None:
            raise self.error
        return self.value


def parse(shell: Any, source: CellSource) -> ast.Module:
    """The AST of the cell, after the user's own AST transformers. Warns and raises as for the plain cell."""
    transformed: ast.Module = shell.transform_ast(shell.compile.ast_parse(source.text, source.filename))
    return transformed


def run(shell: Any, program: CellProgram) -> Outcome:
    """Run a cell that awaits nothing."""
    __tracebackhide__ = True
    return _finish(_steps(shell, program))


async def run_async(shell: Any, program: CellProgram) -> Outcome:
    """Run a cell with ``await`` at top level, in the event loop of the notebook."""
    __tracebackhide__ = True
    outcome = await _steps(shell, program)
    if outcome.error is None:
        return outcome
    return Outcome(error=out_of_coroutine(shell, outcome.error))


def _finish(steps: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Drive a coroutine that never waits."""
    __tracebackhide__ = True
    try:
        steps.send(None)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    steps.close()
    raise RuntimeError("a cell without await at top level waited; please report this cell")


async def _steps(shell: Any, program: CellProgram) -> Outcome:
    """Compile and run one statement after the other; never raises what the cell raises (see ``Outcome``)."""
    __tracebackhide__ = True
    value = None
    try:
        for node, code in _codes(shell, program):
            if _ran_compiled(shell, program, node):
                value = None
                continue
            begin = time.perf_counter()
            value = eval(code, shell.user_global_ns, shell.user_ns)
            if code.co_flags & inspect.CO_COROUTINE:
                value = await value
            program.ran_plain(node, time.perf_counter() - begin)
    except BaseException as error:
        return Outcome(error=error)
    return Outcome(value)


def _codes(shell: Any, program: CellProgram) -> Iterator[tuple[ast.stmt, CodeType]]:
    for node, mode in _modes(program.tree.body, shell.ast_node_interactivity):
        try:
            code = _compile(shell, _WRAP[mode](node), program.filename, mode)
        except SyntaxError as error:
            raise error.with_traceback(None) from None
        yield node, bind(code, program.table)


def _ran_compiled(shell: Any, program: CellProgram, node: ast.stmt) -> bool:
    """Whether a loop at top level was run as one kernel, with all that it leaves in the namespace."""
    __tracebackhide__ = True
    run_loop = program.run_loop
    if run_loop is None or shell.user_ns is not shell.user_global_ns:
        return False

    def compiled(tree: ast.AST) -> CodeType:
        return _compile(shell, tree, program.filename, "exec")

    def as_kernel(is_long: bool) -> bool:
        __tracebackhide__ = True
        try:
            return run_loop(node, shell.user_ns, program.filename, is_long)
        except LoopStopped as stop:
            interrupted, place = stop.error, _loop_on(stop.line, node)
        except KeyboardInterrupt as error:
            interrupted, place = error, node
        raising = bind(compiled(_raised_at(place)), {_INTERRUPT: interrupted.with_traceback(None)})
        exec(raising, shell.user_ns)
        return True

    if not may_be_kernel(node):
        return as_kernel(False)

    def rest() -> bool:
        __tracebackhide__ = True
        return as_kernel(True)

    return in_pieces(node, compiled, shell.user_ns, rest, program.table)  # type: ignore[arg-type]  # a while loop


def _compile(shell: Any, tree: ast.AST, filename: str, mode: str) -> CodeType:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if shell.autoawait else 0
    with shell.compile.extra_flags(flags) if flags else contextlib.nullcontext():
        code: CodeType = shell.compile(tree, filename, mode)
    return code


_WRAP: dict[str, Callable[[Any], ast.AST]] = {
    "exec": lambda node: ast.Module([node], []),
    "single": lambda node: ast.Interactive([node]),
    "eval": lambda node: ast.Expression(node.value),
}


def _modes(body: Sequence[ast.stmt], interactivity: str) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement with the mode to compile it in, for every ``InteractiveShell.ast_node_interactivity``.

    The last expression gives its value to the caller where a plain cell would display it.
    """
    if interactivity == "last_expr_or_assign":
        body = [*body, *_target_of_last(body)]
        interactivity = "last_expr"
    last = len(body) - 1
    for i, node in enumerate(body):
        shown = interactivity == "all" or (i == last and interactivity in ("last", "last_expr"))
        if not shown or (interactivity == "last_expr" and not isinstance(node, ast.Expr)):
            yield node, "exec"
        else:
            yield node, "eval" if i == last and isinstance(node, ast.Expr) else "single"


def _target_of_last(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The variable that the last statement sets, as an expression, if it sets exactly one."""
    match body[-1] if body else None:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case ast.AugAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
            pass
        case _:
            return []
    return [ast.fix_missing_locations(ast.Expr(ast.Name(name, ast.Load())))]


def _loop_on(line: int, node: ast.stmt) -> ast.stmt:
    """The statement in a loop that begins on a line; else the loop."""
    inside = (n for n in ast.walk(node) if isinstance(n, ast.stmt))
    return next((n for n in inside if n.lineno == line), node)


def _raised_at(node: ast.stmt) -> ast.Module:
    """A module that raises what stopped a loop, at the loop's line: nobody is to see where the compiler was."""
    raising = ast.copy_location(ast.Raise(ast.Constant(_INTERRUPT)), node)
    return ast.Module([ast.fix_missing_locations(raising)], [])
