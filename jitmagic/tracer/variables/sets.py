"""Sets of values that are known while tracing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import ContentsEffect
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, wrap_constant
from jitmagic.tracer.variables.iterators import WatchedIterator
from jitmagic.tracer.variables.mappings import DictView, key_of

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["SetTracker", "known_set", "set_operation"]


class SetTracker(VariableTracker):
    """A set or frozenset of known values.

    The order of a set depends on how it came about. It is known for a set of the caller, and for one that has grown
    value by value (``is_grown``); looping over any other set is left to Python.
    """

    immutable = False
    refill = "set"

    def __init__(
        self, values: Iterable[Any], source: Source | None = None, cls: type = set, *, grown: bool = False
    ) -> None:
        self.values = dict.fromkeys(values)
        self.source = source
        self.cls = cls
        self.is_changed = False
        self.is_grown = grown
        self.order_read: Callable[[], None] | None = None

    def python_type(self) -> type:
        return self.cls

    def constant(self) -> Any:
        return self.cls(list(self.values))

    def ordered(self, tx: Evaluator) -> list[Any]:
        """The members in the order in which Python gives them."""
        if self.source is not None and not self.is_changed:
            if self.order_read is not None:
                self.order_read()
                self.order_read = None
            return list(self.values)
        if not self.is_grown and len(self.values) > 1:
            raise Unsupported("iterate", f"{self.describe()}, whose order depends on how it came about")
        return list(self.constant())

    def sortable(self) -> list[Any] | None:
        """The members where their order does not matter to ``sorted``, ``sum``, ``min`` and ``max``."""
        kinds = {type(v) for v in self.values}
        return list(self.values) if kinds in ({int}, {str}) else None

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.values)

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.values))

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(key_of(value) in self.values)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        order, before = self.ordered(tx), set(self.values)

        def present() -> list[Any]:
            return order if self.values.keys() == before else [*self.values]

        return WatchedIterator(present, wrap_constant, "Set changed size during iteration")

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _SET_METHODS and (self.cls is set or name not in _CHANGING):
            return SetMethod(self, name)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def will_change(self, tx: Evaluator) -> None:
        if self.source is not None and not self.is_changed:
            tx.output.add_effect(ContentsEffect(self))
        self.is_changed = True

    def reconstruct(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(Constant(v)) for v in self.values)
        text = f"{{{inner}}}" if inner else "set()"
        return text if self.cls is set else f"frozenset({text})"


class SetMethod(VariableTracker):
    """A method of a set, not called yet."""

    def __init__(self, receiver: SetTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return _SET_METHODS[self.name](tx, self.receiver, *args, **kwargs)


def _add(tx: Evaluator, s: SetTracker, value: VariableTracker) -> VariableTracker:
    known = key_of(value)
    s.will_change(tx)
    s.values[known] = None
    return Constant(None)


def _discard(tx: Evaluator, s: SetTracker, value: VariableTracker) -> VariableTracker:
    known = key_of(value)
    s.will_change(tx)
    s.is_grown = False
    s.values.pop(known, None)
    return Constant(None)


def _remove(tx: Evaluator, s: SetTracker, value: VariableTracker) -> VariableTracker:
    if key_of(value) not in s.values:
        raise python_error(KeyError, key_of(value))
    return _discard(tx, s, value)


def _pop(tx: Evaluator, s: SetTracker) -> VariableTracker:
    raise Unsupported("call", "set.pop(), which takes whatever comes first")


def _clear(tx: Evaluator, s: SetTracker) -> VariableTracker:
    s.will_change(tx)
    s.values.clear()
    return Constant(None)


def _values(tx: Evaluator, other: VariableTracker) -> set[Any]:
    if isinstance(other, SetTracker):
        return set(other.values)
    return {key_of(v) for v in tx.unpack(other)}


def _combine(name: str) -> Callable[..., VariableTracker]:
    def method(tx: Evaluator, s: SetTracker, *others: VariableTracker) -> VariableTracker:
        return SetTracker(getattr(s.constant(), name)(*(_values(tx, o) for o in others)), cls=s.cls)

    return method


def _change(name: str) -> Callable[..., VariableTracker]:
    def method(tx: Evaluator, s: SetTracker, *others: VariableTracker) -> VariableTracker:
        values = set(s.values)
        getattr(values, name)(*(_values(tx, o) for o in others))
        s.will_change(tx)
        s.values = dict.fromkeys(values)
        s.is_grown = False
        return Constant(None)

    return method


def _ask(name: str) -> Callable[..., VariableTracker]:
    def method(tx: Evaluator, s: SetTracker, other: VariableTracker) -> VariableTracker:
        return Constant(getattr(s.constant(), name)(_values(tx, other)))

    return method


_COMBINING = ("union", "intersection", "difference", "symmetric_difference")
_CHANGES = ("update", "intersection_update", "difference_update", "symmetric_difference_update")
_CHANGING = ("add", "discard", "remove", "pop", "clear", *_CHANGES)
_SET_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "add": _add,
    "discard": _discard,
    "remove": _remove,
    "pop": _pop,
    "clear": _clear,
    **{name: _combine(name) for name in _COMBINING},
    **{name: _change(name) for name in _CHANGES},
    **{name: _ask(name) for name in ("issubset", "issuperset", "isdisjoint")},
    "copy": lambda tx, s: SetTracker(s.values, cls=s.cls),
}


def set_operation(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    """``&``, ``|``, ``-`` and ``^`` of sets and of the keys of dicts; None for other operands."""
    if name not in ("and_", "or_", "sub", "xor"):
        return None
    values = [known_set(operand) for operand in (left, right)]
    if any(value is None for value in values):
        return None
    result = getattr(operator, name)(*values)
    return SetTracker(result, cls=type(result))


def known_set(value: VariableTracker) -> Any:
    """The members of a set, or the keys that ``d.keys()`` shows; None for everything else."""
    if isinstance(value, SetTracker):
        return value.constant()
    if isinstance(value, DictView) and value.kind == "keys":
        return {key_of(k) for k in value.entries()}
    return None
