"""Rewrites one statement into simpler ones around the expression that stopped the capture.

What Python would have evaluated before it stays in the graph, the expression alone runs as plain Python, and the rest
of the statement goes on compiled::

    z = g(a + b) + h(x * 2)[0]          # h cannot be looked into

    _jm_0 = g(a + b)
    _jm_1 = x * 2
    _jm_2 = h(_jm_1)                  # plain Python
    z = _jm_0 + _jm_2[0]
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.outline import BLOCK
from jitmagic.tracer.part_names import part_name
from jitmagic.tracer.steady import is_steady

__all__ = ["ALONE", "PIECE", "alone", "split"]

PIECE = "jm_piece"  # attribute that tells a rewritten statement from the one it came from
BREAK = "jm_break"  # of the piece that runs as plain Python: why
ALONE = "jm_alone"  # of the piece that is one call, whose callee may record what follows: where the statement stood
_SPLITTABLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return, ast.If, ast.AugAssign)
_LAZY = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp, ast.JoinedStr)


def split(
    statement: ast.stmt, failing: ast.AST | None, cause: Unsupported, function: FunctionType
) -> list[ast.stmt] | None:
    """The pieces, or None if the statement cannot be taken apart there without changing its meaning.

    ``failing`` is None if every expression of the statement was evaluated: then it is the outcome of a test.
    """
    splitter = _Splitter(statement, (BREAK, cause), function.__code__, function.__globals__)
    if failing is None:
        return _split_test(splitter, statement) if isinstance(statement, ast.If) else None
    return _split_at(splitter, statement, failing)


def alone(
    statement: ast.stmt, call: ast.AST, code: CodeType, space: dict[str, Any], place: Any
) -> list[ast.stmt] | None:
    """The same pieces with nothing that breaks: in one of them, which has the mark ``place``, the call stands alone."""
    return _split_at(_Splitter(statement, (ALONE, place), code, space), statement, call)


def _split_at(splitter: _Splitter, statement: ast.stmt, failing: ast.AST) -> list[ast.stmt] | None:
    root = _evaluated_first(statement, splitter)
    if root is None or any(isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom) for n in _inside(root)):
        return None
    path = _path(root, failing)
    if path is None or any(isinstance(n, _LAZY) for n in path[:-1]):
        return None
    if any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in path[:-1]):
        return None
    return splitter.split(path)


def _evaluated_first(statement: ast.stmt, splitter: _Splitter) -> ast.expr | None:
    """The expression that the statement evaluates before it does anything else."""
    if not isinstance(statement, _SPLITTABLE):
        return None
    if isinstance(statement, ast.AugAssign) and not splitter.is_steady(statement.target):
        return None
    return statement.test if isinstance(statement, ast.If) else statement.value


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    return ast.walk(node)


def _path(root: ast.AST, target: ast.AST) -> list[ast.AST] | None:
    """From ``root`` down to ``target``, both included."""
    if root is target:
        return [root]
    for child in ast.iter_child_nodes(root):
        below = _path(child, target)
        if below is not None:
            return [root, *below]
    return None


class _Splitter:
    """Names and marks follow from the place alone, so that every entry of a frame is split into the same pieces."""

    def __init__(self, statement: ast.stmt, mark: tuple[str, Any], code: CodeType, space: dict[str, Any]) -> None:
        self.statement = statement
        self.mark = mark  # of the piece that the statement is taken apart for
        self.is_steady = functools.partial(is_steady, code, space)
        self.pieces: list[ast.stmt] = []
        self.place = f"{getattr(statement, PIECE, '')}_{statement.lineno}_{statement.col_offset}"

    def split(self, path: list[ast.AST]) -> list[ast.stmt] | None:
        """Hoist what comes before each node of the path, then the node at its end; put the rest together."""
        failing = path[-1]
        if not isinstance(failing, ast.expr):
            return None
        replaced: dict[int, ast.expr] = {}
        for parent, child in itertools.pairwise(path):
            for sibling in _before(parent, child):
                is_called = isinstance(parent, ast.Call) and sibling is parent.func
                replaced[id(sibling)] = self._hoist_function(sibling) if is_called else self._hoist(sibling)
        operands = {id(each): self._hoist(each) for each in _operands(failing)}
        bare = _replace(failing, operands)
        kind, cause = self.mark
        if kind == BREAK:
            if cause.code == "callee-break" and isinstance(bare, ast.Call):
                bare = _compiled_callee(bare)
            elif not self.pieces and self._is_whole(failing):
                return None
        result = self.assign(bare, failing, is_marked=True)
        replaced[id(failing)] = result
        self.pieces.append(self.marked(_replace(self.statement, replaced)))
        return self.pieces

    def _is_whole(self, failing: ast.expr) -> bool:
        return isinstance(self.statement, ast.Assign | ast.Expr | ast.AnnAssign) and self.statement.value is failing

    def marked(self, node: Any) -> Any:
        setattr(node, PIECE, f"{self.place}_{len(self.pieces)}")
        return node

    def _hoist(self, node: ast.expr) -> ast.expr:
        """A name for the value of an expression that is evaluated before; what no call changes stands for itself."""
        if isinstance(node, ast.Starred):
            return ast.copy_location(ast.Starred(self._hoist(node.value), node.ctx), node)
        if isinstance(node, ast.Slice):
            bounds = [None if each is None else self._hoist(each) for each in (node.lower, node.upper, node.step)]
            return ast.copy_location(ast.Slice(*bounds), node)
        if isinstance(node, ast.Constant | ast.Lambda) or self.is_steady(node):
            return node
        return self.assign(node, node)

    def _hoist_function(self, node: ast.expr) -> ast.expr:
        """The same for what is called: a method is looked up again in the object, a function under its name."""
        if isinstance(node, ast.Attribute):
            return ast.copy_location(ast.Attribute(self._hoist(node.value), node.attr, node.ctx), node)
        return node if isinstance(node, ast.Name) else self._hoist(node)

    def assign(self, value: ast.expr, written: ast.expr, *, is_marked: bool = False) -> ast.expr:
        """A variable that holds ``value``, which is evaluated where ``written`` stood."""
        name = part_name(self.place, len(self.pieces), written)
        made = ast.Assign([ast.Name(name, ast.Store())], value)
        ast.copy_location(made, written)
        ast.fix_missing_locations(made)
        if is_marked:
            setattr(made, *self.mark)
        self.pieces.append(self.marked(made))
        return ast.copy_location(ast.Name(name, ast.Load()), written)


def _compiled_callee(call: ast.Call) -> ast.Call:
    """The callee cannot be inlined, but it can have cache entries of its own."""
    made = copy.copy(call)
    made.func = ast.Call(ast.Name(BLOCK, ast.Load()), [call.func], [])
    return ast.fix_missing_locations(ast.copy_location(made, call))


def _before(parent: ast.AST, child: ast.AST) -> list[ast.expr]:
    """The operands of ``parent`` that Python evaluates before ``child``."""
    found: list[ast.expr] = []
    for each in _in_order(parent):
        if each is child:
            return found
        if isinstance(each, ast.expr):
            found.append(each)
        elif isinstance(each, ast.keyword):
            found.append(each.value)
    return found


def _in_order(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Dict):
        return [each for pair in zip(node.keys, node.values, strict=True) for each in pair if each is not None]
    return list(ast.iter_child_nodes(node))


def _call_operands(node: ast.Call) -> list[ast.expr]:
    function = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [*function, *node.args, *(k.value for k in node.keywords)]


_OPERANDS: dict[type[ast.AST], Callable[[Any], list[ast.expr]]] = {
    ast.Call: _call_operands,
    ast.BinOp: lambda n: [n.left, n.right],
    ast.UnaryOp: lambda n: [n.operand],
    ast.Subscript: lambda n: [n.value, n.slice],
    ast.Attribute: lambda n: [n.value],
    ast.Compare: lambda n: [n.left, *n.comparators] if len(n.ops) == 1 else [],
}


def _operands(node: ast.expr) -> list[ast.expr]:
    return _OPERANDS.get(type(node), lambda n: [])(node)


def _replace(node: Any, by: dict[int, ast.expr]) -> Any:
    """A copy of ``node`` in which some descendants are replaced; untouched parts are shared."""
    if id(node) in by:
        return by[id(node)]
    if not isinstance(node, ast.AST):
        return [_replace(each, by) for each in node] if isinstance(node, list) else node
    if not any(id(each) in by for each in ast.walk(node)):
        return node
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        setattr(made, name, _replace(value, by))
    return made


def _split_test(splitter: _Splitter, statement: ast.If) -> list[ast.stmt]:
    """``if test: ...`` whose outcome only the data decide: the test stays in the graph, its outcome is a break::

    _jm_0 = test
    _jm_1 = True if _jm_0 else False      # plain Python
    if _jm_1: ...
    """
    value = splitter.assign(statement.test, statement.test)
    outcome = ast.IfExp(value, ast.Constant(True), ast.Constant(False))
    decided = splitter.assign(ast.copy_location(outcome, statement.test), statement.test, is_marked=True)
    branch = copy.copy(statement)
    branch.test = decided
    return [*splitter.pieces, splitter.marked(branch)]
