"""Graph breaks: the statement that stopped the capture runs as plain Python, the rest becomes a resume function.

The rest is made by rewriting the user's source, so it can be shown, its lines are the user's lines, and it shares the
original closure cells. Two functions come out of a break before statement S with rest R::

    def f(<live names>): S; return <go on>(locals())      # plain: runs S, then asks for the rest
    def f(<names bound after S>): R                        # the resume function, compiled as a frame of its own
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

from jitmagic.errors import Unsupported
from jitmagic.tracer.capture import Resume, Tail
from jitmagic.tracer.frame import Frame, register
from jitmagic.tracer.signals import Signal

__all__ = ["BreakHere", "Continuation", "continue_after", "split_test"]

Definition = TypeVar("Definition", ast.FunctionDef, ast.ClassDef)
NEXT, LOCALS = "__jm_next", "__jm_locals"


class BreakHere(Signal):
    """Capture ends before ``statement``; ``rest`` is what follows it, up to the end of the function."""

    def __init__(self, statement: ast.stmt, cause: Unsupported) -> None:
        super().__init__(cause)
        self.statement = statement
        self.cause = cause
        self.rest: list[ast.stmt] = []


@dataclass(frozen=True, slots=True)
class Continuation:
    """How to go on: call ``code`` with the live names by keyword, the cells in order, and ``next`` as ``__jm_next``."""

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
        code = compile_piece(self.frame, rest, bound, self.cell_names)
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
    used = _names_in([stop.statement, *stop.rest])
    live = tuple(n for n in _in_order(frame, bound) if n in used)
    assigned = _names_in([stop.statement], stores_only=True)
    needed = _names_in(stop.rest)
    names = tuple(n for n in _in_order(frame, {*live, *assigned}) if n in needed and n not in cells)
    follow = Next(frame, place, stop.rest, names, cells, globals_)
    tail = ast.parse(f"return {NEXT}({LOCALS}())").body[0]
    statements = [stop.statement, ast.copy_location(tail, stop.statement)]
    code = compile_piece(frame, statements, (*live, NEXT, LOCALS), cells)
    return Continuation(code, live, cells, follow, ast.unparse(stop.statement))


def _in_order(frame: Frame, names: Any) -> list[str]:
    """As in the original function, so that the first parameter stays first (``super()`` looks there)."""
    wanted = set(names)
    order = [n for n in frame.code.co_varnames if n in wanted]
    return order + sorted(wanted - set(order))


def _names_in(statements: Sequence[ast.stmt], *, stores_only: bool = False) -> set[str]:
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


def compile_piece(
    frame: Frame, statements: list[ast.stmt], parameters: Sequence[str], cells: Sequence[str]
) -> CodeType:
    """Compile statements of ``frame`` as a function of ``parameters`` with ``cells`` as free variables."""
    declared = _declarations(frame)
    free = [n for n in cells if n not in parameters]
    head: list[ast.stmt] = []
    if declared:
        head.append(ast.Global(sorted(declared)))
    assigned = _names_in(statements, stores_only=True)
    if nonlocals := [n for n in free if n != "__class__" and n in assigned | _deleted(statements)]:
        head.append(ast.Nonlocal(nonlocals))
    local = frame.local_names - set(free) - set(parameters) - declared - assigned
    head += [_never_assigned(n) for n in sorted(local & _names_in(statements))]
    name = frame.code.co_name if frame.code.co_name.isidentifier() else "__jm_piece"
    inner = _function(name, parameters, [*head, *statements])
    outer = _function("__jm_cells", free, [inner])
    body: list[ast.stmt] = [outer]
    for owner in _owners(frame.code.co_qualname):
        body = [_class(owner, body)]
    module = ast.Module(body, [])
    for node in (inner, outer, *head, *(b for b in body if isinstance(b, ast.ClassDef))):
        ast.copy_location(node, statements[0])
    ast.fix_missing_locations(module)
    flags = frame.code.co_flags & 0x1FE0000
    compiled = compile(module, frame.filename, "exec", flags, dont_inherit=True)
    code = _innermost(compiled, name)
    code = code.replace(co_name=frame.code.co_name, co_qualname=frame.code.co_qualname)
    register(code, inner)
    return code


def _declarations(frame: Frame) -> set[str]:
    if isinstance(frame.node, ast.Lambda):
        return set()
    found = [n for n in ast.walk(frame.node) if isinstance(n, ast.Global)]
    return {name for node in found for name in node.names if name not in frame.local_names}


def _deleted(statements: Sequence[ast.stmt]) -> set[str]:
    nodes = (n for s in statements for n in ast.walk(s))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}


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


def split_test(statement: ast.If, cause: Unsupported) -> list[ast.stmt]:
    """``if test: ...`` whose test only the data decide: the test stays in the graph, its outcome is a break::

    __jm_test = test
    __jm_test = bool(__jm_test)      # plain Python
    if __jm_test: ...
    """
    name = f"__jm_test_{statement.lineno}_{statement.col_offset}"
    evaluate = ast.Assign([ast.Name(name, ast.Store())], statement.test)
    decide = ast.Assign([ast.Name(name, ast.Store())], _bool_of(name))
    branch = ast.If(ast.Name(name, ast.Load()), statement.body, statement.orelse)
    ast.copy_location(evaluate, statement.test)
    ast.copy_location(decide, statement.test)
    ast.copy_location(branch, statement)
    made: list[ast.stmt] = [evaluate, decide, branch]
    for node in made:
        ast.fix_missing_locations(node)
    decide.jm_break = cause  # type: ignore[attr-defined]
    return made


def _bool_of(name: str) -> ast.expr:
    """``True if name else False``: the language's own truth test, whatever the globals call ``bool``."""
    return ast.IfExp(ast.Name(name, ast.Load()), ast.Constant(True), ast.Constant(False))
