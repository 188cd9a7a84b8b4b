"""Takes a ``while`` loop of a cell, runs it plainly in pieces; one that takes long goes on as one kernel.

    while test:                for _ in piece:                 a piece ends between two rounds, where the namespace
        body          =>           if not test:                holds all that the loop is: what is left of it is the
    else:                              after                   same loop, from there on
        after                          break
                                   body

How many rounds a ``while`` loop has, nobody can tell before it. Pieces are some milliseconds of rounds long.
"""

from __future__ import annotations

import ast
import copy
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from jitmagic.magic.rewrite import bind

__all__ = ["in_pieces", "may_be_kernel"]

PLAIN_S = 0.5  # plain running time after which a compile is well spent
PIECE_S = 0.01
FIRST_ROUNDS = 64
_MARK = "jitmagic:rounds"
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Pass)
_EXPRESSIONS = (ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.Dict, ast.Set, ast.JoinedStr)

Compile = Callable[[ast.AST], CodeType]


class _Piece:
    """What the code of a piece runs over and writes to; no name of it enters the namespace."""

    def __init__(self) -> None:
        self.rounds = FIRST_ROUNDS
        self.round: None = None
        self.more = False

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None, self.rounds)


def may_be_kernel(node: ast.stmt) -> bool:
    """Whether a statement is a ``while`` loop of statements that a kernel can hold, for what its syntax tells."""
    if not isinstance(node, ast.While):
        return False
    inside = list(ast.walk(node))
    statements = all(isinstance(n, _STATEMENTS) for n in inside if isinstance(n, ast.stmt))
    return statements and not any(isinstance(n, _EXPRESSIONS) for n in inside)


def in_pieces(
    node: ast.While,
    compile: Compile,
    namespace: dict[str, Any],
    rest: Callable[[], bool],
    table: Mapping[str, Any],
) -> bool:
    """Run the loop; ``rest()`` runs what is left of it after a while, and says whether it could.

    False if it could not: the caller then goes on with the loop as it is. Raises what the loop raises.
    """
    __tracebackhide__ = True
    piece = _Piece()
    code = bind(compile(ast.Module([_piece_of(node)], [])), {**table, _MARK: piece})
    begin = time.perf_counter()
    while True:
        piece.more = False
        before = time.perf_counter()
        exec(code, namespace)
        if not piece.more:
            return True
        now = time.perf_counter()
        if now - begin > PLAIN_S:
            return rest()
        piece.rounds = max(1, min(4 * piece.rounds, int(piece.rounds * PIECE_S / max(now - before, 1e-9))))


def _piece_of(node: ast.While) -> ast.stmt:
    copied = copy.deepcopy(node)
    ended = ast.If(ast.UnaryOp(ast.Not(), copied.test), [*copied.orelse, ast.Break()], [])
    mark = ast.Constant(_MARK)
    more = ast.Assign([ast.Attribute(mark, "more", ast.Store())], ast.Constant(True))
    made = ast.For(ast.Attribute(mark, "round", ast.Store()), mark, [_at(ended, node.test), *copied.body], [more])
    return _at(made, node)


def _at(made: Any, place: ast.AST) -> ast.stmt:
    found: ast.stmt = ast.fix_missing_locations(ast.copy_location(made, place))
    return found
