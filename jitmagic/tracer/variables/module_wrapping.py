"""Takes a module that existed before the call and its source, gives its tracker, with the guards that tie it down.

A lazy module that was not called yet is asleep: nothing is known of it, and nothing guarded, until the trace either
calls it (then its parameters are made, rows N53 and N54) or looks at it in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported, UserError
from jitmagic.nn.containers import Sequential
from jitmagic.nn.dynamic import is_dynamic_class, mark_dynamic_class
from jitmagic.nn.managed import MARK, is_managed, keeps_parameters
from jitmagic.nn.module import Module
from jitmagic.tracer.guards import DictSource, Source
from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.lazy_modules import INIT_HOOK, initialize, is_asleep
from jitmagic.tracer.variables.modules import HOOKS, NNModuleTracker, is_builtin_class
from jitmagic.tracer.variables.objects import OpaqueTracker, find_in_class

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["wrap_module"]


def wrap_module(builder: Builder, value: Module, source: Source) -> VariableTracker:
    cls, output = type(value), builder.output
    known = output.known(value, source)
    if known is not None:
        return known
    builder.guard_held_class(cls, "__getattribute__")
    if find_in_class(cls, "__getattribute__") is not object.__getattribute__:
        output.guards.add(guard.type_guard(source, cls))
        return OpaqueTracker(value, source, "attribute", f"{source.text}, whose class has its own __getattribute__")
    if is_asleep(value):
        tracker: NNModuleTracker = SleepingModule(builder, value, source)
    else:
        tracker = NNModuleTracker(cls, value, source)
        _tie(builder, tracker, source)
    output.track(value, tracker)
    return tracker


def _tie(builder: Builder, tracker: NNModuleTracker, source: Source) -> None:
    """Guard which module it is, as far as its category asks for that."""
    value, guards = tracker.value, builder.output.guards
    own, cls = value.__dict__, type(value)
    if any(set(own.get(name) or ()) - _init_hooks(own) for name in HOOKS):
        mark_dynamic_class(cls)
    guards.add(guard.type_guard(source, cls))
    tracker.category = _category(builder, value, source)
    tracker.is_specialised = not tracker.category
    if tracker.category in ("", "managed"):
        guards.add(guard.identity_guard(source, value))
    if is_managed(value):
        guards.add(guard.constant_guard(DictSource(source, MARK), True))
    else:
        guards.add(guard.missing_key_guard(source, MARK))


def _init_hooks(own: dict[str, Any]) -> set[int]:
    """The number of the hook that makes the parameters of a lazy module."""
    return {own[INIT_HOOK].id} if INIT_HOOK in own else set()


def _category(builder: Builder, value: Module, source: Source) -> str:
    """What its contents count as, see ``InsideSource``; empty for a module that the entry may be tied to."""
    if source.category == "managed" or is_managed(value):
        if is_managed(value) and not keeps_parameters(value):
            raise UserError(
                f"{source.text} is managed, but its owner does not say that parameters stay under their own names: "
                "call jm.nn.manage(module, use_orig_params=True), or leave the function plain"
            )
        return "managed"
    cls = type(value)
    if is_dynamic_class(cls) or not builder.output.ties_to(value, source):
        return "builtin" if is_builtin_class(cls) else "unspecialised"
    return ""


class SleepingModule(NNModuleTracker):
    """A lazy module before its first call. Whoever asks for its class or contents sees it as it is: then it is tied."""

    def __init__(self, builder: Builder, value: Module, source: Source) -> None:
        self._builder = builder
        self._is_tied = True  # while the base class looks at it
        super().__init__(type(value), value, source)
        self._is_tied = False

    @property
    def cls(self) -> type:
        if not self._is_tied:
            self._tie()
        return self._cls

    @cls.setter
    def cls(self, value: type) -> None:
        self._cls = value

    def _tie(self) -> None:
        self._is_tied = True
        assert self.source is not None
        _tie(self._builder, self, self.source)

    def own(self, tx: Evaluator, name: str) -> VariableTracker | None:
        return super().own(tx, name) if self.cls else None

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if is_asleep(self.value):
            self._wake(tx, args, kwargs)
        return super().call(tx, args, kwargs)

    def _wake(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]) -> None:
        cls = type(self.value)
        if issubclass(cls, Sequential) and find_in_class(cls, "forward") is Sequential.__dict__["forward"]:
            raise Unsupported("call", f"{self.describe()}, a lazy {cls.__name__} with the forward of Sequential,")
        if self._is_tied:
            raise Unsupported("lazy-module", f"{self.describe()} was looked at before")
        initialize(tx, self.value, self.describe(), args, kwargs)
        self._cls = type(self.value)
        self._tie()
