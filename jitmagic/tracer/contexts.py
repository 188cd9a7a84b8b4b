"""What ``with`` means over trackers: own context managers, those of ``contextlib``, and ``np.errstate``."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jitmagic.autograd.modes import enable_grad, is_grad_enabled, no_grad
from jitmagic.errors import Unsupported
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.generators import GeneratorTracker
from jitmagic.tracer.signals import Raised, Returned
from jitmagic.tracer.statements import assign, run_block
from jitmagic.tracer.try_statements import handling
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.exceptions import TracebackTracker, raised_value
from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["CALLS", "ROWS", "enter_context", "leave_context"]

Flow = Returned | None
Args = Sequence[VariableTracker]


class Manager(VariableTracker):
    """A context manager whose entering and leaving the tracer knows."""

    immutable = False

    def enter(self, tx: Evaluator) -> VariableTracker:
        raise NotImplementedError

    def leave(self, tx: Evaluator, raised: Raised | None) -> bool:
        """True if the exception is swallowed."""
        raise NotImplementedError


class GeneratorContext(Manager):
    """What a function decorated with ``contextlib.contextmanager`` gives."""

    def __init__(self, generator: GeneratorTracker) -> None:
        self.generator = generator

    def python_type(self) -> type:
        return contextlib._GeneratorContextManager

    def enter(self, tx: Evaluator) -> VariableTracker:
        item = self.generator.next_item(tx)
        if item is None:
            raise self._empty()
        return item

    def _empty(self) -> Raised:
        """``contextlib`` asks for an item, and raises this without saying that there was none."""
        raised = python_error(RuntimeError, "generator didn't yield")
        error = raised_value(raised)
        error.set_cause(Constant(None))
        error.chain["__context__"] = raised_value(self.generator.stopped())
        raised.is_chained = True
        return raised

    def leave(self, tx: Evaluator, raised: Raised | None) -> bool:
        if raised is None:
            if self.generator.next_item(tx) is not None:
                raise Unsupported("generator-use", "a context manager that yields twice")
            return False
        value = raised_value(raised)
        if issubclass(value.cls, StopIteration | RuntimeError):
            raise Unsupported("generator-use", f"a {value.cls.__name__} inside a generator's context")
        try:
            item = self.generator.throw(tx, Raised(raised.error, value, is_chained=True))
        except Raised as later:
            if raised_value(later) is value:
                return False
            raise
        if item is not None:
            raise Unsupported("generator-use", "a context manager that yields twice")
        return True


class Quiet(Manager):
    """``np.errstate(...=\"ignore\")``: operations inside report nothing."""

    def __init__(self, ignored: frozenset[str]) -> None:
        self.ignored = ignored
        self.before: frozenset[str] | None = None

    def python_type(self) -> type:
        return np.errstate

    def enter(self, tx: Evaluator) -> VariableTracker:
        if self.before is not None:
            raise python_error(TypeError, "Cannot enter `np.errstate` twice.")
        self.before = tx.output.ignored
        tx.output.ignored = self.before | self.ignored
        return Constant(None)

    def leave(self, tx: Evaluator, raised: Raised | None) -> bool:
        assert self.before is not None
        tx.output.ignored = self.before
        return False


class GradMode(Manager):
    """``jm.no_grad()`` and ``jm.enable_grad()``: what is computed inside counts as constant, or not any more."""

    def __init__(self, off: int) -> None:
        self.off = off
        self.before: list[int] = []

    def python_type(self) -> type:
        return no_grad if self.off else enable_grad

    def enter(self, tx: Evaluator) -> VariableTracker:
        if not self.off and not is_grad_enabled():  # the caller's Tensors count as constants already
            raise Unsupported("tensor", "recording inside jm.no_grad()")
        self.before.append(tx.output.grad_off)
        tx.output.grad_off = self.off
        return Constant(None)

    def leave(self, tx: Evaluator, raised: Raised | None) -> bool:
        tx.output.grad_off = self.before.pop()
        return False


CONDITIONS = ("divide", "over", "under", "invalid")


def _errstate(tx: Evaluator, **settings: VariableTracker) -> VariableTracker:
    ignored: set[str] = set()
    for name, value in settings.items():
        if name not in (*CONDITIONS, "all"):
            raise Unsupported("statement", f"np.errstate({name}=...)")
        known = value.constant()
        meant = CONDITIONS if name == "all" else (name,)
        if known == "ignore":
            ignored.update(meant)
        elif known is not None and not (known in ("warn", "raise") and _is_heard(tx, meant)):
            raise Unsupported("statement", f"np.errstate({name}={known!r})")
    return Quiet(frozenset(ignored))


def _is_heard(tx: Evaluator, conditions: Iterable[str]) -> bool:
    """Whether the caller hears of these conditions (which is guarded): where one is met, the call is made plainly."""
    return tx.output.heard.issuperset(conditions) and tx.output.ignored.isdisjoint(conditions)


def _generator_context(
    tx: Evaluator, function: VariableTracker, args: VariableTracker, named: VariableTracker
) -> VariableTracker:
    made = function.call(tx, tx.unpack(args), dict(named.items))  # type: ignore[attr-defined] # a DictTracker
    if not isinstance(made, GeneratorTracker):
        raise Unsupported("generator", function.describe())
    return GeneratorContext(made)


CALLS: dict[Any, Callable[..., VariableTracker]] = {
    contextlib._GeneratorContextManager: _generator_context,
    np.errstate: _errstate,
    no_grad: lambda tx: GradMode(1),
    enable_grad: lambda tx: GradMode(0),
}


def enter_context(tx: Evaluator, manager: VariableTracker) -> VariableTracker:
    """``__enter__``, after ``__exit__`` was looked up too, as Python does."""
    if isinstance(manager, Manager):
        return manager.enter(tx)
    if not isinstance(manager, ObjectTracker):
        raise Unsupported("statement", f"with {manager.describe()}")
    methods = [manager.class_attribute(tx, name) for name in ("__enter__", "__exit__")]
    if methods[0] is None or methods[1] is None:
        missing = "" if methods[0] is None else " (missed __exit__ method)"
        text = f"{manager.cls.__name__!r} object does not support the context manager protocol{missing}"
        raise python_error(TypeError, text)
    return tx.realize(methods[0].call(tx, [manager], {}))


def leave_context(tx: Evaluator, manager: VariableTracker, raised: Raised | None) -> bool:
    """``__exit__``; True if it swallows the exception."""
    if isinstance(manager, Manager):
        return manager.leave(tx, raised)
    assert isinstance(manager, ObjectTracker)
    method = manager.class_attribute(tx, "__exit__")
    if method is None:
        raise Unsupported("statement", f"with {manager.describe()}")
    info: Args = [Constant(None)] * 3
    if raised is not None:
        value = raised_value(raised)
        info = [tx.output.builder.constant_object(tx, value.cls), value, TracebackTracker()]
    answer = tx.realize(method.call(tx, [manager, *info], {}))
    return raised is not None and tx.truth(answer)


def _with(tx: Evaluator, node: ast.With) -> Flow:
    return _nested(tx, node.items, node.body)


def _nested(tx: Evaluator, items: Sequence[ast.withitem], body: Sequence[ast.stmt]) -> Flow:
    if not items:
        return run_block(tx, body)
    manager = tx.eval(items[0].context_expr)
    entered = enter_context(tx, manager)
    try:
        if items[0].optional_vars is not None:
            assign(tx, items[0].optional_vars, entered)
        flow = _nested(tx, items[1:], body)
    except Raised as raised:
        with handling(tx, raised):
            swallowed = leave_context(tx, manager, raised)
        if not swallowed:
            raise
        return None
    leave_context(tx, manager, None)
    return flow


ROWS: dict[type[ast.stmt], Callable[[Evaluator, Any], Flow]] = {ast.With: _with}
