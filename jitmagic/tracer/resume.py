"""Graph breaks: the statement that stopped the capture runs as plain Python, the rest becomes a resume function.

The rest is made by rewriting the user's source, so it can be shown, its lines are the user's lines, and it shares the
original closure cells. Two functions come out of a break before statement S with rest R::

    def f(<live names>): S; return <go on>(locals())      # plain: runs S, then asks for the rest
    def f(<names bound after S>): R                        # the resume function, compiled as a frame of its own
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

from jitmagic.errors import Unsupported
from jitmagic.ops.quiet import Quiet
from jitmagic.tracer.capture import Resume, Tail
from jitmagic.tracer.frame import Frame, register
from jitmagic.tracer.names import deleted_in, names_in
from jitmagic.tracer.outline import BLOCK, BODY, outline
from jitmagic.tracer.signals import Signal

__all__ = ["BreakHere", "Continuation", "continue_after"]

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)
NEXT, LOCALS = "_jm_next", "_jm_locals"
PIECE_NAME = "_jm_piece"
DRAWN = "jm_drawn"  # attribute of a function's syntax: parameters that are new random numbers at every call


class BreakHere(Signal):
    """Capture ends before ``statement``; ``rest`` is what follows it, up to the end of the function."""

    def __init__(self, statement: ast.stmt, cause: Unsupported) -> None:
        super().__init__(cause)
        self.statement = statement
        self.cause = cause
        self.rest: list[ast.stmt] = []


@dataclass(frozen=True, slots=True)
class Continuation:
    """How to go on: call ``code`` with the live names by keyword, the cells in order, and ``next`` as ``_jm_next``."""

    code: CodeType
    live: tuple[str, ...]
    cells: tuple[str, ...]
    next: Next
    text: str


@dataclass(slots=True)
class Next:
    """Makes the Tail after a plain statement: which names are bound then decides which resume function it is."""

    frame: Frame
    place: tuple[Any, ...]
    rest: list[ast.stmt]
    names: tuple[str, ...]
    cell_names: tuple[str, ...]
    globals: dict[str, Any]
    drawn: frozenset[str]
    made: dict[frozenset[str], Resume] = field(default_factory=dict)

    def bind(self, cells: tuple[CellType, ...]) -> Any:
        """The function that the plain statement calls last."""

        def go_on(local: Mapping[str, Any]) -> Tail:
            bound = tuple(n for n in self.names if n in local)
            return Tail(self._resume(bound), tuple(local[n] for n in bound), cells)

        return go_on

    def _resume(self, bound: tuple[str, ...]) -> Resume:
        key = frozenset(bound)
        known = self.made.get(key)
        if known is None:
            known = self.made[key] = self._make(bound)
        return known

    def _make(self, bound: tuple[str, ...]) -> Resume:
        rest = self.rest or [ast.copy_location(ast.Pass(), self.frame.node)]
        code = compile_piece(self.frame, rest, bound, self.cell_names, self.drawn)
        name, globals_ = code.co_name, self.globals
        order = code.co_freevars

        def make(closure: tuple[CellType, ...]) -> FunctionType:
            by_name = dict(zip(self.cell_names, closure, strict=True))
            return FunctionType(code, globals_, name, None, tuple(by_name[n] for n in order))

        return Resume((*self.place, bound), make, "\n".join(map(ast.unparse, rest)), _line_of(rest, self.frame))


def _line_of(rest: Sequence[ast.stmt], frame: Frame) -> int:
    return rest[0].lineno if rest else frame.code.co_firstlineno


def continue_after(
    frame: Frame, stop: BreakHere, bound: Sequence[str], place: tuple[Any, ...], globals_: dict[str, Any]
) -> Continuation:
    """The functions for a break; ``bound`` are the local names (not cells) that have a value now."""
    cells = (*frame.code.co_cellvars, *frame.code.co_freevars)
    used = _names_read(frame, [stop.statement, *stop.rest])
    live = tuple(n for n in _in_order(frame, bound) if n in used)
    assigned = names_in([stop.statement], stores_only=True)
    needed = _names_read(frame, stop.rest)
    names = tuple(n for n in _in_order(frame, {*live, *assigned}) if n in needed and n not in cells)
    drawn = frozenset(assigned) if _innermost_code(stop.cause) == "random" else frozenset()
    follow = Next(frame, place, stop.rest, names, cells, globals_, drawn)
    tail = ast.parse(f"return {NEXT}({LOCALS}())").body[0]
    moved = outline(stop.statement, frame.local_names) if stop.cause.outline else None
    statements = [*(moved or [stop.statement]), ast.copy_location(tail, stop.statement)]
    code = compile_piece(frame, statements, (*live, NEXT, LOCALS, BLOCK), cells)
    return Continuation(code, live, cells, follow, _shown(frame, stop, live, names))


def _names_read(frame: Frame, statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements use; ``super()`` uses the first argument without naming it."""
    names = names_in(statements)
    return names | set(frame.code.co_varnames[:1]) if "super" in names else names


def _shown(frame: Frame, stop: BreakHere, live: Sequence[str], names: Sequence[str]) -> str:
    """The two functions as Python, for people: the plain statement, and the rest that is compiled on its own."""
    name = frame.code.co_name if frame.code.co_name.isidentifier() else "function"
    rest = f"rest_of_{name}_from_line_{_line_of(stop.rest, frame)}"
    follow = f"return {rest}({', '.join(names)})" if stop.rest else "return None"
    plain = _function(f"plain_line_{stop.statement.lineno}", live, [stop.statement, *ast.parse(follow).body])
    pieces = [plain, _function(rest, names, stop.rest)] if stop.rest else [plain]
    return "\n\n".join(ast.unparse(ast.fix_missing_locations(piece)) for piece in pieces)


def _innermost_code(cause: Unsupported) -> str:
    return cause.code if cause.inner is None else _innermost_code(cause.inner)


def _in_order(frame: Frame, names: Any) -> list[str]:
    """As in the original function, so that the first parameter stays first (``super()`` looks there)."""
    wanted = set(names)
    order = [n for n in frame.code.co_varnames if n in wanted]
    return order + sorted(wanted - set(order))


def compile_piece(
    frame: Frame,
    statements: list[ast.stmt],
    parameters: Sequence[str],
    cells: Sequence[str],
    drawn: frozenset[str] = frozenset(),
) -> CodeType:
    """Compile statements of ``frame`` as a function of ``parameters`` with ``cells`` as free variables."""
    declared = _declarations(frame)
    free = [n for n in cells if n not in parameters]
    head: list[ast.stmt] = []
    if declared:
        head.append(ast.Global(sorted(declared)))
    assigned = names_in(statements, stores_only=True)
    if nonlocals := [n for n in free if n != "__class__" and n in assigned | deleted_in(statements)]:
        head.append(ast.Nonlocal(nonlocals))
    local = frame.local_names - set(free) - set(parameters) - declared - assigned
    head += [_never_assigned(n) for n in sorted(local & names_in(statements))]
    name = PIECE_NAME  # not the function's own name, which its body may use
    inner = _function(name, parameters, [*head, *statements])
    setattr(inner, DRAWN, drawn)
    outer = _function("_jm_cells", free, [inner])
    body: list[ast.stmt] = [outer]
    for owner in _owners(frame.code.co_qualname):
        body = [_class(owner, body)]
    module = ast.Module(body, [])
    for node in (inner, outer, *head, *(b for b in body if isinstance(b, ast.ClassDef))):
        ast.copy_location(node, statements[0])
    ast.fix_missing_locations(module)
    flags = frame.code.co_flags & 0x1FE0000
    with Quiet():  # Python has warned of these statements when the user's text was run
        compiled = compile(module, frame.filename, "exec", flags, dont_inherit=True)
    code = _innermost(compiled, name)
    renamed: CodeType = _renamed(code, frame.code)
    register(renamed, inner, frame.code)
    bodies = {n.name: n for n in statements if isinstance(n, ast.FunctionDef) and n.name.startswith(BODY)}
    for before, after in zip(code.co_consts, renamed.co_consts, strict=True):
        if isinstance(before, CodeType) and before.co_name in bodies:
            register(after, bodies[before.co_name], frame.code)
    return renamed


_OURS = re.compile(rf"^.*\b{PIECE_NAME}(\.<locals>\.{BODY}\w+)*(?=$|\.)")


def _renamed(constant: Any, original: CodeType) -> Any:
    """The code under the name of the user's function, for tracebacks; so is all that it defines.

    The qualified name of a class is a text among the constants of its body.
    """
    if isinstance(constant, str):
        return _OURS.sub(lambda found: original.co_qualname, constant)
    if not isinstance(constant, CodeType):
        return constant
    named = constant.co_name == PIECE_NAME or constant.co_name.startswith(BODY)
    return constant.replace(
        co_name=original.co_name if named else constant.co_name,
        co_qualname=_OURS.sub(lambda found: original.co_qualname, constant.co_qualname),
        co_consts=tuple(_renamed(each, original) for each in constant.co_consts),
    )


def _declarations(frame: Frame) -> set[str]:
    if isinstance(frame.node, ast.Lambda):
        return set()
    found = [n for n in ast.walk(frame.node) if isinstance(n, ast.Global)]
    return {name for node in found for name in node.names if name not in frame.local_names}


def _never_assigned(name: str) -> ast.stmt:
    """Keeps an unbound local a local: reading it raises UnboundLocalError, as in the whole function."""
    return ast.parse(f"if 0: {name} = None").body[0]


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    node = ast.FunctionDef(name, args, body, [], None, None)
    return _with_type_params(node)


def _class(name: str, body: list[ast.stmt]) -> ast.ClassDef:
    return _with_type_params(ast.ClassDef(name, [], [], body, []))


def _with_type_params(node: Definition) -> Definition:
    node.type_params = []  # type: ignore[attr-defined] # asked for from Python 3.12 on
    return node


def _owners(qualname: str) -> list[str]:
    """The class whose private names the body spells short, if it is in one."""
    parts = qualname.split(".")
    return [parts[-2]] if len(parts) > 1 and parts[-2] != "<locals>" else []


def _innermost(code: CodeType, name: str) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            return constant if constant.co_name == name else _innermost(constant, name)
    raise Unsupported("internal", "the rest of the function was not compiled")
