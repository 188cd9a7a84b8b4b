"""Takes one round of a loop, gives its target bound: counting rounds, unpacking, the scope of a comprehension."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitmagic.config import current
from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.sequences import ListTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["SHORT_LOOP", "bind_in_scope", "count_rounds", "unpack_into"]

Bind = Callable[["Evaluator", ast.expr, VariableTracker], None]
SHORT_LOOP = 8  # rounds that are always written out one by one
UNROLLED_NODES = 256  # size of the graph that one longer loop may grow to before it is left a loop
DIFFERENTIATED_NODES = 8192  # the same where the loop is differentiated: a tape in Python is the other way


def unpack_into(tx: Evaluator, target: Any, value: VariableTracker, bind: Bind) -> None:
    """``a, *b, c = value``."""
    items = _items_to_unpack(tx, value)
    targets = target.elts
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if star is None:
        if len(items) != len(targets):
            raise _count_error(len(targets), len(items))
        for each, item in zip(targets, items, strict=True):
            bind(tx, each, item)
        return
    tail = len(targets) - star - 1
    if len(items) < star + tail:
        text = f"not enough values to unpack (expected at least {star + tail}, got {len(items)})"
        raise python_error(ValueError, text)
    middle = len(items) - tail
    for each, item in zip(targets[:star], items[:star], strict=True):
        bind(tx, each, item)
    bind(tx, targets[star].value, ListTracker(items[star:middle]))
    for each, item in zip(targets[star + 1 :], items[middle:], strict=True):
        bind(tx, each, item)


def _items_to_unpack(tx: Evaluator, value: VariableTracker) -> list[VariableTracker]:
    return tx.unpack(value, "cannot unpack non-iterable {} object")


def _count_error(expected: int, got: int) -> BaseException:
    if got < expected:
        return python_error(ValueError, f"not enough values to unpack (expected {expected}, got {got})")
    return python_error(ValueError, f"too many values to unpack (expected {expected})")


def count_rounds(tx: Evaluator, what: str, line: int = 0) -> Callable[[], None]:
    """A counter of the rounds of one loop that refuses to go on above the limit.

    ``line`` is where the loop starts: if it was to be kept as a loop, the refusal says why that could not be.
    """
    limit = current().unroll_limit
    tensors = tx.output.tensors
    is_recorded = tx.output.differentiating or (tensors is not None and bool(tensors.inputs))
    most = DIFFERENTIATED_NODES if is_recorded else UNROLLED_NODES
    start = _nodes(tx)
    rounds = 0

    def count() -> None:
        nonlocal rounds
        rounds += 1
        grown = _nodes(tx) - start
        if rounds > limit or (rounds > SHORT_LOOP and grown > most):
            reason = tx.output.refusals.get(line)
            if reason is not None and reason != f"a loop over {what}":
                raise Unsupported("plain-loop", f"{what} runs as plain Python because it holds {reason}")
            raise Unsupported("long-loop", what)

    return count


def _nodes(tx: Evaluator) -> int:
    """How much the trace has recorded; in a flow the pieces count too, which branches make short ones of."""
    flow = tx.output.flow
    if flow is None:
        return len(tx.output.graph.nodes)
    return len(flow.pieces) + sum(len(piece.nodes) for piece in flow.pieces)


def bind_in_scope(tx: Evaluator, target: ast.expr, value: VariableTracker) -> None:
    if isinstance(target, ast.Name):
        tx.scopes[-1].store(target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        unpack_into(tx, target, value, bind_in_scope)
    else:
        raise Unsupported("statement", f"the loop target {ast.unparse(target)}")
