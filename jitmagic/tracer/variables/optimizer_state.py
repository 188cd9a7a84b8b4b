"""``optimizer.state``: a dict for each parameter, found by identity (rows B42, B61)."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.optim.state import State
from jitmagic.tracer.effects import ItemEffect
from jitmagic.tracer.guards import ConstantSource, Source
from jitmagic.tracer.guards.kinds import expression_guard, identity_guard, length_guard
from jitmagic.tracer.guards.source import StateSource
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.mappings import DictTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Finder", "StateTracker", "wrap_state"]


def wrap_state(builder: Builder, value: State, source: Source) -> VariableTracker:
    """The tracker of the state of an optimiser of the caller."""
    known = builder.output.known(value, source)
    if known is not None:
        return known
    builder.output.guards.add(identity_guard(source, value))
    tracker = StateTracker(builder, value, source)
    builder.output.track(value, tracker)
    return tracker


MADE_AT_FIRST = "nothing: the optimiser makes its state in the first step, and the second finds it"


class Finder:
    """Gives what ``state`` holds for ``key``, None if it holds nothing any more; keeps neither alive."""

    __slots__ = ("key", "state")

    def __init__(self, state: State, key: Tensor) -> None:
        self.state = weakref.ref(state)
        self.key = weakref.ref(key)

    def __call__(self) -> dict[str, Any] | None:
        state, key = self.state(), self.key()
        return None if state is None or key is None else state.get(key)


class StateTracker(VariableTracker):
    """Entries are guarded one by one, when they are asked for; keys are held weakly: parameters can be freed."""

    immutable = False

    def __init__(self, builder: Builder, value: State, source: Source) -> None:
        self.builder = builder
        self.value = value
        self.source: Source = source
        self.pending: dict[int, tuple[Tensor, VariableTracker]] = {}
        self.finders: dict[int, Source] = {}

    def python_type(self) -> type:
        return State

    def real_object(self) -> Any:
        return self.value

    def _parameter(self, key: VariableTracker) -> Tensor:
        real = key.real_object()
        if type(real) is not Tensor:
            raise Unsupported("subscript", f"{self.describe()} by {key.describe()}")
        return real

    def find(self, key: VariableTracker) -> VariableTracker | None:
        """The entry of a parameter, or None; either is guarded."""
        real = self._parameter(key)
        if id(real) in self.pending:
            return self.pending[id(real)][1]
        output = self.builder.output
        assert key.source is not None
        if not isinstance(key.source, ConstantSource):
            output.guards.add(identity_guard(key.source, real))
        if real in self.value:
            if id(real) not in self.finders:
                self.finders[id(real)] = output.constant_source(Finder(self.value, real))
            label = f"{self.describe()}[{key.describe()}]"
            place = StateSource(self.finders[id(real)], self.source, key.source, label)
            return self.builder.wrap(None, self.value[real], place)
        about = f"an entry of {self.describe()} for {key.describe()}"
        held = weakref.ref(real)
        output.guards.add(
            expression_guard(
                "DICT_KEYS",
                self.source,
                "{k}() not in {v}",
                "absent",
                "'present'",
                constant=held,
                about=about,
                remedy=MADE_AT_FIRST,
            )
        )
        return None

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        found = self.find(key)
        if found is None:
            found = DictTracker({})
            self.set_item(tx, key, found)
        return tx.realize(found)

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        real = self._parameter(key)
        self.pending[id(real)] = (real, value)
        tx.output.add_effect(ItemEffect(self, key, value, span=tx.span))

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(self.find(value) is not None)

    def length(self, tx: Evaluator) -> VariableTracker:
        tx.output.guards.add(length_guard(self.source, State, len(self.value)))
        return Constant(len(self.value) + sum(real not in self.value for real, _ in self.pending.values()))

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.length(tx).constant())

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "get":
            return _Get(self)
        raise Unsupported("attribute", f"{self.describe()}.{name}")


class _Get(VariableTracker):
    """``state.get``, not called yet."""

    def __init__(self, owner: StateTracker) -> None:
        self.owner = owner

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) not in (1, 2) or kwargs:
            raise Unsupported("call", f"{self.owner.describe()}.get")
        found = self.owner.find(tx.realize(args[0]))
        if found is not None:
            return tx.realize(found)
        return args[1] if len(args) == 2 else Constant(None)
