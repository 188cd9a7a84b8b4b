"""What ``try``, ``raise`` and ``assert`` mean over trackers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.expressions import evaluate_test
from jitmagic.tracer.flow import capture_check
from jitmagic.tracer.signals import Raised, Returned
from jitmagic.tracer.statements import run_block
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.exceptions import ExceptionTracker, is_exception_class, make_exception, raised_value
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS", "handling", "matches", "raise_value", "run_handler"]

Flow = Returned | None


@contextmanager
def handling(tx: Evaluator, raised: Raised) -> Iterator[None]:
    """While an exception is being handled it is the context of those raised meanwhile."""
    tx.handling.append(raised)
    try:
        yield
    except Raised as later:
        _chain(later, raised)
        raise
    finally:
        tx.handling.pop()


def _chain(later: Raised, earlier: Raised) -> None:
    if later.is_chained:
        return
    later.is_chained = True
    value, context = raised_value(later), raised_value(earlier)
    if value is not context:
        value.chain["__context__"] = context


def _raise(tx: Evaluator, node: ast.Raise) -> Flow:
    if node.exc is None:
        raise _again(tx)
    value = make_exception(tx, tx.eval(node.exc))
    if node.cause is not None:
        cause = tx.eval(node.cause)
        known = isinstance(cause, Constant) and cause.value is None
        value.set_cause(cause if known else make_exception(tx, cause))
    raise raise_value(value)


def raise_value(value: ExceptionTracker) -> Raised:
    """The signal for raising this very exception."""
    return Raised(value.stand_in(), value)


def _again(tx: Evaluator) -> Raised:
    """What a bare ``raise`` raises: the exception in handling, in this frame or in one that called it."""
    frame: Evaluator | None = tx
    while frame is not None:
        if frame.handling:
            current = frame.handling[-1]
            return Raised(current.error, raised_value(current), is_chained=True)
        frame = frame.parent
    return Raised(RuntimeError("No active exception to reraise"))


def _assert(tx: Evaluator, node: ast.Assert) -> Flow:
    test = evaluate_test(tx, node.test)
    try:
        holds = tx.truth(test)
    except Unsupported as error:
        if error.code == "data-branch" and capture_check(tx, node, test):
            return None
        raise
    if not holds:
        message = [] if node.msg is None else [tx.eval(node.msg)]
        raise raise_value(ExceptionTracker(AssertionError, message))
    return None


def _try(tx: Evaluator, node: ast.Try) -> Flow:
    """``else`` runs after a body without exception, ``finally`` once, whatever happened."""
    try:
        flow = _try_body(tx, node)
    except Raised as raised:
        flow = _finally_after(tx, node, raised)
        if flow is None:
            raise
        return flow
    return run_block(tx, node.finalbody) or flow


def _finally_after(tx: Evaluator, node: ast.Try, raised: Raised) -> Flow:
    if not node.finalbody:
        return None
    with handling(tx, raised):
        return run_block(tx, node.finalbody)


def _try_body(tx: Evaluator, node: ast.Try) -> Flow:
    try:
        flow = run_block(tx, node.body)
    except Raised as raised:
        handler = _matching_handler(tx, node.handlers, raised)
        if handler is None:
            raise
        return run_handler(tx, handler, raised)
    return flow if flow is not None else run_block(tx, node.orelse)


def _matching_handler(tx: Evaluator, handlers: Sequence[ast.ExceptHandler], raised: Raised) -> ast.ExceptHandler | None:
    for handler in handlers:
        if handler.type is None or matches(tx, handler.type, raised):
            return handler
    return None


def matches(tx: Evaluator, type_node: ast.expr, raised: Raised) -> bool:
    """Whether ``except <type_node>`` catches what was raised."""
    with handling(tx, raised):
        kinds = tx.eval(type_node)
    classes = [k.real_object() for k in (map(tx.realize, kinds.items) if isinstance(kinds, TupleTracker) else [kinds])]
    if not all(is_exception_class(c) for c in classes):
        raise Unsupported("statement", f"except {ast.unparse(type_node)}")
    cls = raised_value(raised).cls
    if cls not in classes:
        tx.output.builder.guard_bases(cls)
    return any(each in cls.__mro__ for each in classes)  # whatever a metaclass says


def run_handler(tx: Evaluator, handler: ast.ExceptHandler, raised: Raised) -> Flow:
    """Run the body of a handler with the exception bound to its name; the name is unbound afterwards."""
    name = handler.name
    if name is not None:
        tx.store_name(name, raised_value(raised))
    try:
        with handling(tx, raised):
            return run_block(tx, handler.body)
    finally:
        if name is not None:
            tx.forget_name(name)


ROWS: dict[type[ast.stmt], Callable[[Evaluator, Any], Flow]] = {
    ast.Try: _try,
    ast.Raise: _raise,
    ast.Assert: _assert,
}
