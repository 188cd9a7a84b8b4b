"""Dicts with keys that are known while tracing, and sets of known values."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import ContentsEffect
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, wrap_constant
from jitmagic.tracer.variables.iterators import SequenceIterator
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["DictTracker", "DictView", "SetTracker", "key_of"]


def key_of(key: VariableTracker) -> Any:
    """A key as a value. Raises Unsupported for one that is only known at run time."""
    try:
        value = key.constant()
        hash(value)
    except NotConstant:
        raise Unsupported("subscript", f"a dict by {key.describe()}") from None
    except TypeError:
        raise python_error(TypeError, f"unhashable type: {key.python_type().__name__!r}") from None
    return value


class DictTracker(VariableTracker):
    """A dict, OrderedDict or defaultdict; ``items`` maps key values to trackers, in order."""

    immutable = False

    def __init__(
        self,
        items: Mapping[Any, VariableTracker],
        source: Source | None = None,
        cls: type = dict,
        factory: VariableTracker | None = None,
    ) -> None:
        self.items = dict(items)
        self.source = source
        self.cls = cls
        self.factory = factory
        self.is_changed = False
        self.order_read: Callable[[], None] | None = None

    def python_type(self) -> type:
        return self.cls

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.items)

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.items))

    def will_change(self, tx: Evaluator) -> None:
        if self.source is not None and not self.is_changed:
            tx.output.add_effect(ContentsEffect(self, "dict"))
            self.note_order()
        self.is_changed = True

    def note_order(self) -> None:
        """The order of the keys was relied on: guard it (B40)."""
        if self.order_read is not None and not self.is_changed:
            self.order_read()
            self.order_read = None

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        value = key_of(key)
        if value not in self.items:
            if self.factory is None:
                raise python_error(KeyError, value)
            self.set_item(tx, key, self.factory.call(tx, [], {}))
        return tx.realize(self.items[value])

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        known = key_of(key)
        self.will_change(tx)
        self.items[known] = value

    def delete_item(self, tx: Evaluator, key: VariableTracker) -> None:
        known = key_of(key)
        if known not in self.items:
            raise python_error(KeyError, known)
        self.will_change(tx)
        del self.items[known]

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(key_of(value) in self.items)

    def key(self, value: Any) -> VariableTracker:
        """The tracker of one of the keys."""
        return wrap_constant(value)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        self.note_order()
        return SequenceIterator([self.key(k) for k in self.items])

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _DICT_METHODS:
            return DictMethod(self, name)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def reconstruct(self, emit: Emitter) -> str:
        inner = ", ".join(f"{emit.value(self.key(k))}: {emit.value(v)}" for k, v in self.items.items())
        if self.cls is dict:
            return f"{{{inner}}}"
        head = emit.constant(self.cls)
        if self.cls is defaultdict:
            return f"{head}({emit.value(self.factory or Constant(None))}, {{{inner}}})"
        return f"{head}({{{inner}}})"


class DictMethod(VariableTracker):
    """A method of a dict, not called yet."""

    def __init__(self, receiver: DictTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return _DICT_METHODS[self.name](tx, self.receiver, *args, **kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.receiver)}.{self.name}"


class DictView(VariableTracker):
    """``d.keys()``, ``d.values()``, ``d.items()``."""

    def __init__(self, mapping: DictTracker, kind: str) -> None:
        self.mapping = mapping
        self.kind = kind

    def python_type(self) -> type:
        return type(getattr({}, self.kind)())

    def entries(self) -> list[VariableTracker]:
        self.mapping.note_order()
        items = self.mapping.items.items()
        make: dict[str, Callable[[Any, VariableTracker], VariableTracker]] = {
            "keys": lambda k, v: self.mapping.key(k),
            "values": lambda k, v: v,
            "items": lambda k, v: TupleTracker([self.mapping.key(k), v]),
        }
        return [make[self.kind](k, v) for k, v in items]

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return SequenceIterator(self.entries())

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.mapping.items))

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.mapping.items)

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if self.kind == "keys":
            return self.mapping.contains(tx, value)
        return Constant(any(tx.same_or_equal(value, tx.realize(v)) for v in self.entries()))

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.mapping)}.{self.kind}()"


def _get(
    tx: Evaluator, d: DictTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    found = d.items.get(key_of(key))
    return tx.realize(found) if found is not None else default or Constant(None)


def _setdefault(
    tx: Evaluator, d: DictTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    if key_of(key) not in d.items:
        d.set_item(tx, key, default or Constant(None))
    return tx.realize(d.items[key_of(key)])


def _pop(
    tx: Evaluator, d: DictTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    known = key_of(key)
    if known not in d.items:
        if default is not None:
            return default
        raise python_error(KeyError, known)
    d.will_change(tx)
    return tx.realize(d.items.pop(known))


def _popitem(tx: Evaluator, d: DictTracker) -> VariableTracker:
    if not d.items:
        raise python_error(KeyError, "popitem(): dictionary is empty")
    d.will_change(tx)
    key, value = d.items.popitem()
    return TupleTracker([d.key(key), value])


def _update(
    tx: Evaluator, d: DictTracker, other: VariableTracker | None = None, **named: VariableTracker
) -> VariableTracker:
    new: dict[Any, VariableTracker] = {}
    if isinstance(other, DictTracker):
        other.note_order()
        new.update(other.items)
    elif other is not None:
        for pair in tx.unpack(other):
            key, value = tx.unpack(pair)
            new[key_of(key)] = value
    new.update(named)
    d.will_change(tx)
    d.items.update(new)
    return Constant(None)


def _clear(tx: Evaluator, d: DictTracker) -> VariableTracker:
    d.will_change(tx)
    d.items.clear()
    return Constant(None)


def _copy(tx: Evaluator, d: DictTracker) -> VariableTracker:
    d.note_order()
    return DictTracker(d.items, cls=d.cls, factory=d.factory)


_DICT_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "get": _get,
    "setdefault": _setdefault,
    "pop": _pop,
    "popitem": _popitem,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
    "keys": lambda tx, d: DictView(d, "keys"),
    "values": lambda tx, d: DictView(d, "values"),
    "items": lambda tx, d: DictView(d, "items"),
}
DICT_CLASSES = (dict, OrderedDict, defaultdict)


class SetTracker(VariableTracker):
    """A set or frozenset of known values."""

    immutable = False

    def __init__(self, values: Iterable[Any], source: Source | None = None, cls: type = set) -> None:
        self.values = dict.fromkeys(values)
        self.source = source
        self.cls = cls
        self.is_changed = False
        self.order_read: Callable[[], None] | None = None

    def python_type(self) -> type:
        return self.cls

    def constant(self) -> Any:
        return self.cls(self.values)

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.values)

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.values))

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(key_of(value) in self.values)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return SequenceIterator([Constant(v) for v in self.members()])

    def members(self) -> tuple[Any, ...]:
        """The members in the order in which Python gives them, which depends on how the set came about."""
        if self.source is None:
            return tuple(self.cls(list(self.values)))
        if self.is_changed and len(self.values) > 1:
            raise Unsupported("iterate", f"{self.describe()}, which was changed")
        if self.order_read is not None:
            self.order_read()
            self.order_read = None
        return tuple(self.values)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _SET_METHODS and (self.cls is set or name not in ("add", "discard", "remove")):
            return SetMethod(self, name)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def will_change(self, tx: Evaluator) -> None:
        if self.source is not None and not self.is_changed:
            tx.output.add_effect(ContentsEffect(self, "set"))
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
    s.values.pop(known, None)
    return Constant(None)


def _remove(tx: Evaluator, s: SetTracker, value: VariableTracker) -> VariableTracker:
    if key_of(value) not in s.values:
        raise python_error(KeyError, key_of(value))
    return _discard(tx, s, value)


def _combine(name: str) -> Callable[..., VariableTracker]:
    def method(tx: Evaluator, s: SetTracker, *others: VariableTracker) -> VariableTracker:
        values = [[key_of(v) for v in tx.unpack(o)] for o in others]
        return SetTracker(getattr(s.constant(), name)(*values), cls=s.cls)

    return method


_SET_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "add": _add,
    "discard": _discard,
    "remove": _remove,
    **{name: _combine(name) for name in ("union", "intersection", "difference", "symmetric_difference")},
    "copy": lambda tx, s: SetTracker(s.values, cls=s.cls),
}
