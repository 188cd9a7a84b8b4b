"""Takes a function, gives its syntax tree with the positions of the user's file, or says why there is none.

The tree is trusted only after it was compiled again and its code, constants and names were found equal to the
function's ``__code__``: a file edited since it was imported is a graph break, never a wrong answer.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from jitmagic.errors import Span, Unsupported
from jitmagic.ops.quiet import Quiet

__all__ = ["Frame", "FunctionNode", "frame_of", "is_piece", "register", "span_of", "whole_of"]

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
GENERATOR = 0x20
NOT_PLAIN = 0x20 | 0x80 | 0x100 | 0x200  # generator, coroutine, iterable coroutine, async generator


@dataclass(frozen=True, slots=True)
class Frame:
    """One function body: its code, its syntax, and which names live where."""

    code: CodeType
    node: FunctionNode
    local_names: frozenset[str] = field(init=False, compare=False)  # all that assignment binds here, cells included

    def __post_init__(self) -> None:
        object.__setattr__(self, "local_names", frozenset((*self.code.co_varnames, *self.code.co_cellvars)))

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's expression counts as one ``return``."""
        if isinstance(self.node, ast.Lambda):
            value = self.node.body
            return [ast.copy_location(ast.Return(value), value)]
        return self.node.body

    @property
    def is_generator(self) -> bool:
        return bool(self.code.co_flags & NOT_PLAIN)

    @property
    def is_plain_generator(self) -> bool:
        return self.code.co_flags & NOT_PLAIN == GENERATOR

    def span(self, node: ast.AST) -> Span:
        return span_of(self.filename, node)

    def inner_code(self, node: ast.AST) -> CodeType:
        """The code object of a function or lambda that this body defines."""
        line = min([n.lineno for n in getattr(node, "decorator_list", [])] + [node.lineno])  # type: ignore[attr-defined]  # every definition has a line
        name = getattr(node, "name", "<lambda>")
        found = [c for c in _defined_in(self.code) if c.co_name == name and c.co_firstlineno == line]
        if len(found) > 1:
            found = [c for c in found if _lies_in(c, node)]
        if not found:
            raise Unsupported("no-source", name)
        return found[0]


def span_of(filename: str, node: ast.AST) -> Span:
    return Span(
        filename,
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", 0) or 0,
        getattr(node, "end_col_offset", 0) or 0,
    )


def frame_of(function: FunctionType) -> Frame:
    """The frame of a Python function. Raises Unsupported (``no-source``, ``edited-source``)."""
    return _frame_of_code(function.__code__)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Where a generated function comes from: its syntax, and the code of the user's function that it is a part of."""

    node: FunctionNode
    whole: CodeType


# By identity: codes that are equal come and go apart, and the death of one must not take the entry of another along
_pieces: dict[int, tuple[weakref.ref[CodeType], _Piece]] = {}


def register(code: CodeType, node: FunctionNode, of: CodeType) -> None:
    """Say what a generated function (a resume function, an outlined body) was compiled from: a part ``of`` this."""
    number, pieces = id(code), _pieces  # at the end of the process the module has no names any more

    def forget(_: object) -> None:
        pieces.pop(number, None)

    _pieces[number] = weakref.ref(code, forget), _Piece(node, whole_of(of))


def is_piece(code: CodeType) -> bool:
    """Whether ``register`` was told of this code: it is a part of a function, not one that the user wrote."""
    return _piece_of(code) is not None


def _piece_of(code: CodeType) -> _Piece | None:
    held, piece = _pieces.get(id(code), (None, None))
    return piece if held is not None and held() is code else None


def whole_of(code: CodeType) -> CodeType:
    """The code of the user's function that this piece is a part of; any other code is whole itself.

    Codes are equal whatever their file is called, so that of a cell that was run twice is put right here.
    """
    piece = _piece_of(code)
    if piece is None:
        return code
    same = piece.whole.co_filename == code.co_filename
    return piece.whole if same else piece.whole.replace(co_filename=code.co_filename)


def _frame_of_code(code: CodeType) -> Frame:
    piece = _piece_of(code)
    return Frame(code, piece.node if piece else _found(code))


_nodes: weakref.WeakKeyDictionary[CodeType, FunctionNode] = weakref.WeakKeyDictionary()


def _found(code: CodeType) -> FunctionNode:
    node = _nodes.get(code)
    if node is None:
        node = _nodes[code] = _find(code)
    return node


def _find(code: CodeType) -> FunctionNode:
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise Unsupported("no-source", code.co_qualname)
    text = "".join(lines)
    flags = code.co_flags & FUTURES
    parsed = _parse(code.co_filename, text, flags)
    if parsed is None:
        raise Unsupported("edited-source", code.co_qualname)
    tree, module_code = parsed
    if not _holds(module_code, code) and not _holds(_alone(tree, code, flags), code):
        raise Unsupported("edited-source", code.co_qualname)
    return _node_for(code, tree)


def _holds(whole: CodeType | None, code: CodeType) -> bool:
    """Whether the same function is compiled in ``whole``, at the same line."""
    return whole is not None and any(
        c.co_name == code.co_name and c.co_firstlineno == code.co_firstlineno and _same(c, code)
        for c in _all_codes(whole)
    )


def _alone(tree: ast.Module, code: CodeType, flags: int) -> CodeType | None:
    """The top-level statement around ``code`` compiled on its own, as IPython does with each one of a cell.

    It matters: a call of ``np.sqrt`` is compiled in another way if ``np`` is imported in the same module text.
    """
    for statement in tree.body:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        if first <= code.co_firstlineno <= (statement.end_lineno or first):
            module = ast.Module([statement], [])
            mode = flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            with Quiet():
                found: CodeType = compile(module, code.co_filename, "exec", mode, dont_inherit=True)
            return found
    return None


@functools.lru_cache(maxsize=64)
def _parse(filename: str, text: str, flags: int) -> tuple[ast.Module, CodeType] | None:
    mode = flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with Quiet():  # Python has warned of this text when it was run
            tree: Any = compile(text, filename, "exec", mode | ast.PyCF_ONLY_AST, dont_inherit=True)
            return tree, compile(tree, filename, "exec", mode, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _node_for(code: CodeType, tree: ast.Module) -> FunctionNode:
    found: list[FunctionNode] = []
    for node in _around(tree, code.co_firstlineno):
        if isinstance(node, ast.Lambda):
            if code.co_name == "<lambda>" and node.lineno <= code.co_firstlineno and _lies_in(code, node):
                found.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                found.append(node)
    if not found:
        raise Unsupported("no-source", code.co_qualname)
    return min(found, key=_extent)


def _around(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """The nodes whose lines, decorators included, have ``line`` among them: a long module is not walked through."""
    stack = [tree]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            start = getattr(node, "lineno", None)
            if start is not None:
                decorators = [d.lineno for d in getattr(node, "decorator_list", ())]
                if not min([start, *decorators]) <= line <= (getattr(node, "end_lineno", None) or start):
                    continue
                yield node
            stack.append(node)


def _extent(node: FunctionNode) -> tuple[int, int]:
    """Small for inner functions: of two lambdas around one place the inner one is meant."""
    lines = (node.end_lineno or 0) - node.lineno
    return lines, (node.end_col_offset or 0) - node.col_offset


def _lies_in(code: CodeType, node: Any) -> bool:
    """True if every instruction of ``code`` was compiled from inside ``node``."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    spans = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    if not spans and isinstance(node, ast.Lambda):  # Python 3.12 has no columns for a body that is a constant
        return node.lineno == code.co_firstlineno and _is_compiled(node, code)
    return all(first <= (p[0], p[2]) and (p[1], p[3]) <= last for p in spans)


def _is_compiled(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the lambda, compiled on its own, is this code."""
    with Quiet():
        whole = compile(ast.Expression(node), code.co_filename, "eval", code.co_flags & FUTURES, dont_inherit=True)
    return any(_same(inner, code) for inner in _nested(whole))


COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def _nested(code: CodeType) -> Iterator[CodeType]:
    return (c for c in code.co_consts if isinstance(c, CodeType))


def _defined_in(code: CodeType) -> Iterator[CodeType]:
    """The functions that a body defines, those in its comprehensions (functions of their own) included."""
    for inner in _nested(code):
        yield inner
        if inner.co_name in COMPREHENSIONS:
            yield from _defined_in(inner)


def _all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in _nested(code):
        yield from _all_codes(inner)


def _same(a: CodeType, b: CodeType) -> bool:
    if (a.co_code, a.co_names, a.co_varnames) != (b.co_code, b.co_names, b.co_varnames):
        return False
    if (a.co_freevars, a.co_cellvars) != (b.co_freevars, b.co_cellvars) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(_same_constant(x, y) for x, y in zip(a.co_consts, b.co_consts, strict=True))


def _same_constant(x: Any, y: Any) -> bool:
    if isinstance(x, CodeType) and isinstance(y, CodeType):
        return x.co_name == y.co_name and _same(x, y)
    if isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
        return all(_same_constant(p, q) for p, q in zip(x, y, strict=True))
    return type(x) is type(y) and repr(x) == repr(y)
