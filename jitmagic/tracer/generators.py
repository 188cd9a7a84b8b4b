"""Generators made during the trace: expressions and functions, evaluated step by step as their items are asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.rounds import bind_in_scope
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.exceptions import ExceptionTracker, make_exception, raised_value
from jitmagic.tracer.variables.iterators import IteratorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.scopes import Scope

__all__ = ["GeneratorExpression", "GeneratorTracker"]

Steps = Iterator[VariableTracker]


class GeneratorExpression(IteratorTracker):
    """The first iterable is evaluated at once, everything else in steps: one stack entry per loop level."""

    def __init__(
        self, tx: Evaluator, node: ast.GeneratorExp, scope: Scope, first: VariableTracker | None = None
    ) -> None:
        self.owner = tx
        self.node = node
        self.scope = scope
        self.iterators: list[VariableTracker] = [(first or tx.eval(node.generators[0].iter)).iterate(tx)]
        self.outer = list(tx.scopes)

    def python_type(self) -> type:
        return type(_ for _ in ())

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        owner = self.owner
        before, owner.scopes = owner.scopes, [*self.outer, self.scope]
        try:
            return self._advance(owner)
        finally:
            owner.scopes = before

    def _advance(self, tx: Evaluator) -> VariableTracker | None:
        generators = self.node.generators
        while self.iterators:
            level = len(self.iterators) - 1
            item = self.iterators[-1].next_item(tx)
            if item is None:
                self.iterators.pop()
                continue
            bind_in_scope(tx, generators[level].target, item)
            if not all(tx.truth(tx.eval(test)) for test in generators[level].ifs):
                continue
            if level + 1 == len(generators):
                return tx.eval(self.node.elt)
            self.iterators.append(tx.eval(generators[level + 1].iter).iterate(tx))
        return None

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return contains_by_iterating(tx, self, value)

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("generator-use", "a generator expression that leaves the function")


def contains_by_iterating(tx: Evaluator, iterator: VariableTracker, value: VariableTracker) -> VariableTracker:
    """``value in iterator``: uses the iterator up to the first hit."""
    while (item := iterator.next_item(tx)) is not None:
        if tx.same_or_equal(item, value):
            return Constant(True)
    return Constant(False)


class GeneratorTracker(IteratorTracker):
    """What a call of a generator function gives: the frame of the function, evaluated between its yields.

    ``steps`` runs the body; each item that it gives is one that the function yields, and ``received`` is what the
    next ``yield`` gives back.
    """

    def __init__(
        self,
        frame: Evaluator,
        name: str,
        call: tuple[VariableTracker, Sequence[VariableTracker], dict[str, VariableTracker]],
    ) -> None:
        self.frame = frame
        self.maker = frame.parent
        self.name = name
        self.made_by = call
        self.received: VariableTracker | Raised = Constant(None)
        self.result: VariableTracker = Constant(None)
        self.open_blocks = 0
        self.is_started = self.is_running = self.is_finished = False
        self.steps: Steps = frame.language.run_generator(self)

    def python_type(self) -> type:
        return type(_ for _ in ())

    def describe(self) -> str:
        return f"the generator {self.name}"

    # -- the protocol
    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        return self.send(tx, Constant(None))

    def send(self, tx: Evaluator, value: VariableTracker | Raised) -> VariableTracker | None:
        """Run to the next ``yield``; None if the function has returned."""
        if self.is_running:
            raise python_error(ValueError, "generator already executing")
        if self.is_finished:
            if isinstance(value, Raised):
                raise value
            return None
        if isinstance(value, Raised) and not self.is_started:
            self.is_finished = True
            raise value
        self.received, self.is_started, self.is_running = value, True, True
        try:
            return self._step(tx)
        finally:
            self.is_running = False

    def _step(self, tx: Evaluator) -> VariableTracker | None:
        self.frame.parent = tx
        self.frame.depth = tx.depth + 1
        try:
            return next(self.steps)
        except StopIteration:
            self.is_finished = True
            return None
        except Raised as raised:
            self.is_finished = True
            if isinstance(raised.error, StopIteration):
                later = ExceptionTracker(RuntimeError, [Constant("generator raised StopIteration")])
                later.set_cause(raised_value(raised))
                later.chain["__context__"] = raised_value(raised)
                raise Raised(later.stand_in(), later, is_chained=True) from None
            raise
        except Unsupported as error:
            cause = Unsupported("callee-break", f"{self.name}()", tx.span)
            cause.inner = error
            raise cause from None

    def throw(self, tx: Evaluator, raised: Raised) -> VariableTracker | None:
        return self.send(tx, raised)

    def close(self, tx: Evaluator) -> None:
        if self.is_finished or not self.is_started:
            self.is_finished = True
            return
        leaving = ExceptionTracker(GeneratorExit, [])
        try:
            item = self.throw(tx, Raised(leaving.stand_in(), leaving, is_chained=True))
        except Raised as raised:
            if raised_value(raised) is leaving or isinstance(raised.error, StopIteration):
                return
            raise
        if item is not None:
            raise python_error(RuntimeError, "generator ignored GeneratorExit")

    @property
    def needs_closing(self) -> bool:
        """Whether Python would run code of the function when the generator is dropped."""
        return self.is_started and not self.is_finished and self.open_blocks > 0

    # -- as the program sees it
    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _METHODS:
            return GeneratorMethod(self, name)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return contains_by_iterating(tx, self, value)

    def stopped(self) -> Raised:
        """The StopIteration of a generator that has returned; its value is there only once."""
        value, self.result = self.result, Constant(None)
        plain = isinstance(value, Constant) and value.value is None
        stop = ExceptionTracker(StopIteration, [] if plain else [value])
        return Raised(stop.stand_in(), stop)

    def reconstruct(self, emit: Emitter) -> str:
        """A generator that has not begun is made again: nothing of its function has run yet."""
        if self.is_started or self.is_finished:
            raise Unsupported("generator-use", f"{self.describe()} that leaves the function")
        function, args, kwargs = self.made_by
        parts = [*(emit.value(a) for a in args), *(f"{k}={emit.value(v)}" for k, v in kwargs.items())]
        return f"{emit.value(function)}({', '.join(parts)})"


class GeneratorMethod(VariableTracker):
    """``send``, ``throw``, ``close`` or ``__next__``, not called yet."""

    def __init__(self, generator: GeneratorTracker, name: str) -> None:
        self.generator = generator
        self.name = name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        made: VariableTracker = _METHODS[self.name](tx, self.generator, *args, **kwargs)
        return made


def _send(tx: Evaluator, generator: GeneratorTracker, value: VariableTracker) -> VariableTracker:
    is_none = isinstance(value, Constant) and value.value is None
    if not generator.is_started and not is_none and not generator.is_finished:
        raise python_error(TypeError, "can't send non-None value to a just-started generator")
    item = generator.send(tx, value)
    if item is None:
        raise generator.stopped()
    return item


def _throw(tx: Evaluator, generator: GeneratorTracker, value: VariableTracker) -> VariableTracker:
    thrown = make_exception(tx, value)
    item = generator.throw(tx, Raised(thrown.stand_in(), thrown, is_chained=True))
    if item is None:
        raise generator.stopped()
    return item


def _close(tx: Evaluator, generator: GeneratorTracker) -> VariableTracker:
    generator.close(tx)
    return Constant(None)


_METHODS: dict[str, Callable[..., Any]] = {
    "send": _send,
    "throw": _throw,
    "close": _close,
    "__next__": lambda tx, generator: _send(tx, generator, Constant(None)),
}
