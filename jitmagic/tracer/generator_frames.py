"""Evaluates the body of a generator function between its yields.

The handlers here are Python generators themselves: they stop where the traced function yields. Only statements that
contain a ``yield`` need them; all others are evaluated by the ordinary handlers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from jitmagic.errors import Unsupported
from jitmagic.tracer.contexts import enter_context, leave_context
from jitmagic.tracer.generators import GeneratorTracker
from jitmagic.tracer.patterns import choose_case
from jitmagic.tracer.rounds import count_rounds
from jitmagic.tracer.signals import Raised, Returned
from jitmagic.tracer.statements import assign, run_statement
from jitmagic.tracer.try_statements import matches
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.exceptions import raised_value

__all__ = ["run_generator"]

Flow: TypeAlias = Returned | None
Body: TypeAlias = Generator[VariableTracker, None, Flow]
OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


def run_generator(generator: GeneratorTracker) -> Generator[VariableTracker, None, None]:
    """The items that the function yields; its return value becomes ``generator.result``."""
    flow = yield from _block(generator, generator.frame.frame.body)
    if flow is not None and flow.value is not None:
        generator.result = flow.value


def _yields(node: ast.AST) -> bool:
    if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
        return True
    return any(_yields(n) for n in ast.iter_child_nodes(node) if not isinstance(n, OWN_SCOPE))


def _block(generator: GeneratorTracker, statements: Sequence[ast.stmt]) -> Body:
    for statement in statements:
        if not isinstance(statement, OWN_SCOPE) and _yields(statement):
            flow = yield from _statement(generator, statement)
        else:
            flow = run_statement(generator.frame, statement)
        if flow is not None:
            return flow
    return None


def _statement(generator: GeneratorTracker, node: ast.stmt) -> Body:
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise Unsupported("generator-use", f"yield inside {ast.unparse(node).splitlines()[0]!r}")
    generator.frame.node = node
    return (yield from handler(generator, node))


def _value(generator: GeneratorTracker, node: ast.expr) -> Generator[VariableTracker, None, VariableTracker]:
    """An expression that is a ``yield``, or has none inside."""
    tx = generator.frame
    if isinstance(node, ast.Yield):
        yield Constant(None) if node.value is None else tx.eval(node.value)
        return _received(generator)
    if isinstance(node, ast.YieldFrom):
        return (yield from _delegate(generator, tx.eval(node.value)))
    if _yields(node):
        raise Unsupported("generator-use", f"yield inside {ast.unparse(node)}")
    return tx.eval(node)


def _received(generator: GeneratorTracker) -> VariableTracker:
    """What ``yield`` gives: the value that was sent, or the exception that was thrown in."""
    received, generator.received = generator.received, Constant(None)
    if isinstance(received, Raised):
        raise received
    return received


def _delegate(
    generator: GeneratorTracker, source: VariableTracker
) -> Generator[VariableTracker, None, VariableTracker]:
    tx = generator.frame
    inner = source.iterate(tx)
    if not isinstance(inner, GeneratorTracker):
        while (item := inner.next_item(tx)) is not None:
            yield item
            sent = _received(generator)
            if not (isinstance(sent, Constant) and sent.value is None):
                raise Unsupported("generator-use", "send() to an iterator that is no generator")
        return Constant(None)
    answer: VariableTracker | Raised = Constant(None)
    while True:
        try:
            item = inner.send(tx, answer)
        except Raised as raised:
            if isinstance(answer, Raised) and issubclass(raised_value(answer).cls, GeneratorExit):
                raise Unsupported("generator-use", "close() through yield from") from None
            raise raised from None
        if item is None:
            result, inner.result = inner.result, Constant(None)
            return result
        yield item
        answer, generator.received = generator.received, Constant(None)


# -- simple statements
def _expression(generator: GeneratorTracker, node: ast.Expr) -> Body:
    yield from _value(generator, node.value)
    return None


def _assign(generator: GeneratorTracker, node: ast.Assign) -> Body:
    value = yield from _value(generator, node.value)
    for target in node.targets:
        assign(generator.frame, target, value)
    return None


def _return(generator: GeneratorTracker, node: ast.Return) -> Body:
    assert node.value is not None
    return Returned("return", (yield from _value(generator, node.value)))


# -- blocks
def _if(generator: GeneratorTracker, node: ast.If) -> Body:
    test = yield from _value(generator, node.test)
    return (yield from _block(generator, node.body if generator.frame.truth(test) else node.orelse))


def _for(generator: GeneratorTracker, node: ast.For) -> Body:
    tx = generator.frame
    source = yield from _value(generator, node.iter)
    iterator = source.iterate(tx)
    rounds = count_rounds(tx, ast.unparse(node.iter))
    while (item := iterator.next_item(tx)) is not None:
        rounds()
        assign(tx, node.target, item)
        flow = yield from _block(generator, node.body)
        if flow is not None and flow.kind != "continue":
            return None if flow.kind == "break" else flow
    return (yield from _block(generator, node.orelse))


def _while(generator: GeneratorTracker, node: ast.While) -> Body:
    tx = generator.frame
    rounds = count_rounds(tx, ast.unparse(node.test))
    while tx.truth((yield from _value(generator, node.test))):
        rounds()
        flow = yield from _block(generator, node.body)
        if flow is not None and flow.kind != "continue":
            return None if flow.kind == "break" else flow
    return (yield from _block(generator, node.orelse))


def _match(generator: GeneratorTracker, node: ast.Match) -> Body:
    chosen = choose_case(generator.frame, node)
    return None if chosen is None else (yield from _block(generator, chosen.body))


def _with(generator: GeneratorTracker, node: ast.With) -> Body:
    return (yield from _nested(generator, node.items, node.body))


def _nested(generator: GeneratorTracker, items: Sequence[ast.withitem], body: Sequence[ast.stmt]) -> Body:
    if not items:
        return (yield from _block(generator, body))
    tx = generator.frame
    manager = tx.eval(items[0].context_expr)
    entered = enter_context(tx, manager)
    if tx.output.ignored:
        raise Unsupported("generator-use", "yield inside np.errstate")
    generator.open_blocks += 1
    try:
        if items[0].optional_vars is not None:
            assign(tx, items[0].optional_vars, entered)
        flow = yield from _nested(generator, items[1:], body)
    except Raised as raised:
        generator.open_blocks -= 1
        if not leave_context(tx, manager, raised):
            raise
        return None
    generator.open_blocks -= 1
    leave_context(tx, manager, None)
    return flow


def _try(generator: GeneratorTracker, node: ast.Try) -> Body:
    generator.open_blocks += 1
    try:
        return (yield from _try_and_finally(generator, node))
    finally:
        generator.open_blocks -= 1


def _try_and_finally(generator: GeneratorTracker, node: ast.Try) -> Body:
    try:
        flow = yield from _try_body(generator, node)
    except Raised as raised:
        flow = yield from _block(generator, node.finalbody)
        if flow is None:
            raise raised from None
        return flow
    after = yield from _block(generator, node.finalbody)
    return after or flow


def _try_body(generator: GeneratorTracker, node: ast.Try) -> Body:
    tx = generator.frame
    try:
        flow = yield from _block(generator, node.body)
    except Raised as raised:
        for handler in node.handlers:
            if handler.type is None or matches(tx, handler.type, raised):
                return (yield from _handle(generator, handler, raised))
        raise
    return flow if flow is not None else (yield from _block(generator, node.orelse))


def _handle(generator: GeneratorTracker, handler: ast.ExceptHandler, raised: Raised) -> Body:
    """A bare ``raise`` after a ``yield`` in the handler is not followed: the caller may handle another by then."""
    tx = generator.frame
    if any(isinstance(n, ast.Raise) for s in handler.body for n in ast.walk(s)) and any(map(_yields, handler.body)):
        raise Unsupported("generator-use", "raise in a handler that yields")
    if handler.name is not None:
        tx.store_name(handler.name, raised_value(raised))
    tx.handling.append(raised)
    try:
        return (yield from _block(generator, handler.body))
    finally:
        tx.handling.remove(raised)
        if handler.name is not None:
            tx.forget_name(handler.name)


_HANDLERS: dict[type[ast.stmt], Callable[[GeneratorTracker, Any], Body]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Match: _match,
    ast.With: _with,
    ast.Try: _try,
}
