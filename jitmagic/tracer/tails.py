"""Takes a call whose callee branches on data in a way that no join holds, lets the callee record what follows the call.

The statement is taken apart, so that the call stands alone and the rest of the function is a list of statements; the
callee then runs these on each of its ways, with what it returns there::

    y = g(x) + 1                _jm_0 = g(x)            # on every way of g: bind what it returns, then
    print(y)                    y = _jm_0 + 1
                                print(y)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.signals import Finished, Returned
from jitmagic.tracer.split import ALONE, alone
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import BoundMethod

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Tail", "after_call", "note_callee", "run_alone", "run_to_the_end", "stands_alone", "tail_of"]

LEFT = "left"  # how a block ended whose end has been recorded already


@dataclass(slots=True)
class Tail:
    """A call that stands alone: its result goes to ``target``, then ``rest`` follows to the end of the function."""

    call: ast.expr
    target: str
    rest: Sequence[ast.stmt]
    callee: VariableTracker | None = None


# -- which calls
def stands_alone(tx: Evaluator, error: Unsupported) -> bool:
    """Whether the call that ``tx`` evaluates, in which ``error`` came up, is to stand alone from now on."""
    cause, policy = _innermost(error), tx.output.policy
    if cause.code != "data-branch" or not isinstance(getattr(cause, "around", None), ast.If) or not tx.active:
        return False
    statement = tx.active[-1]
    stood_alone = getattr(statement, ALONE, None)
    if stood_alone is not None:
        policy.tails[stood_alone] = None  # which was no help
    place = tx.place(statement)
    if stood_alone is not None or place in policy.tails or not may_go_on(tx):
        return False
    pieces = alone(statement, tx.node, tx.frame.code, tx.globals, place)
    policy.tails[place] = pieces
    policy.no_inline.clear()  # its callees may have been refused because nothing could follow them
    return pieces is not None


def _innermost(error: Unsupported) -> Unsupported:
    while error.inner is not None:
        error = error.inner
    return error


def may_go_on(tx: Evaluator) -> bool:
    """Whether all that follows the statement is known, to the end of the call that is traced."""
    is_reached = tx.parent is None or tx.after_call is not None
    return is_reached and tx.following is not None and not tx.output.differentiating and tx.output.tensors is None


def tail_of(tx: Evaluator, place: tuple[Any, ...]) -> list[ast.stmt] | None:
    """The pieces of a statement with such a call."""
    pieces = tx.output.policy.tails.get(place)
    return pieces if pieces is not None and may_go_on(tx) else None


# -- their evaluation
def run_alone(tx: Evaluator, node: ast.Assign) -> Returned | None:
    """Evaluate the piece that is the call."""
    target = node.targets[0]
    assert isinstance(target, ast.Name)
    if tx.following is not None:
        tx.tail = Tail(node.value, target.id, tx.following)
    try:
        tx.store_name(target.id, tx.eval(node.value))
    except Finished as finished:
        if tx.after_call is not None:  # what follows in the callers of this function has been recorded too
            raise
        return finished.flow
    finally:
        tx.tail = None
    return None


def note_callee(tx: Evaluator, node: ast.Call, function: VariableTracker) -> None:
    """The arguments of a call are known: if it stands alone, what it calls is the callee."""
    if tx.tail is not None and tx.tail.call is node:
        while isinstance(function, BoundMethod):
            function = function.function
        tx.tail.callee = function


def after_call(
    tx: Evaluator, child: Evaluator, callee: VariableTracker
) -> Callable[[VariableTracker], VariableTracker | None] | None:
    """What evaluates the rest, given what ``child`` returns; None if that is not the value of a call that stands alone.

    It gives what the function that is traced returns, or None if its end has been recorded by then.
    """
    tail = tx.tail
    if tail is None or tail.callee is not callee:
        return None
    tx.tail = None

    def go_on(value: VariableTracker) -> VariableTracker | None:
        evaluating, node = tx.output.evaluating, tx.node
        tx.output.evaluating = [each for each in evaluating if each is not child]
        try:
            tx.store_name(tail.target, value)
            return run_to_the_end(tx, tail.rest)
        finally:
            tx.output.evaluating, tx.node = evaluating, node

    return go_on


def run_to_the_end(tx: Evaluator, statements: Sequence[ast.stmt]) -> VariableTracker | None:
    """Evaluate what follows in ``tx`` and in its callers: what the traced function returns.

    None if the end has been recorded by then.
    """
    tx.whole_rests.append((statements, ()))
    try:
        flow = tx.language.run_block(tx, statements)
    except Finished:
        return None
    finally:
        tx.whole_rests.pop()
    if flow is not None and flow.kind == LEFT:
        return None
    value = Constant(None) if flow is None or flow.value is None else flow.value
    return value if tx.after_call is None else tx.after_call(value)
