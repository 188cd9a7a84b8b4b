"""Dicts with keys that are known while tracing, and sets of known values."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import ContentsEffect
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.base import VariableTracker, python_error, type_name
from jitmagic.tracer.variables.constant import Constant, wrap_constant
from jitmagic.tracer.variables.iterators import SequenceIterator, WatchedIterator
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["DictTracker", "DictView", "key_of"]


def key_of(key: VariableTracker) -> Any:
    """A key as a value. Raises Unsupported for one that is only known at run time."""
    try:
        value = key.constant()
        hash(value)
    except NotConstant:
        raise Unsupported("data-key", key.describe()) from None
    except TypeError:
        raise python_error(TypeError, f"unhashable type: {key.python_type().__name__!r}") from None
    if isinstance(key, SequenceTracker) and key.kind is list:
        raise python_error(TypeError, "unhashable type: 'list'")
    return value


class DictTracker(VariableTracker):
    """A dict, OrderedDict or defaultdict; ``items`` maps key values to trackers, in order."""

    immutable = False
    refill = "dict"

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
            tx.output.add_effect(ContentsEffect(self))
            self.note_order()
        self.is_changed = True

    def note_order(self) -> None:
        """The order of the keys was relied on: guard it (B40)."""
        if self.order_read is not None and not self.is_changed:
            self.order_read()
            self.order_read = None

    def new_places(self) -> Iterable[str]:
        assert self.source is not None
        return [f"{self.source.text}[{k!r}]" for k, v in self.items.items() if not isinstance(v, Lazy)]

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        value = key_of(key)
        if value not in self.items:
            if self.cls is Counter:
                return Constant(0)
            if self.factory is None or (self.factory.is_constant and self.factory.constant() is None):
                raise python_error(KeyError, value)
            self.set_item(tx, key, tx.realize(tx.realize(self.factory).call(tx, [], {})))
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
        return self.watched(self.key)

    def watched(self, make: Callable[[Any], VariableTracker]) -> VariableTracker:
        """An iterator over what ``make`` gives for each key when it is asked for."""
        self.note_order()
        return WatchedIterator(lambda: list(self.items), make, "dictionary changed size during iteration")

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _METHODS[self.cls]:
            return DictMethod(self, name)
        if name == "default_factory" and self.cls is defaultdict:
            return self.factory or Constant(None)
        if not hasattr(self.cls, name):
            raise python_error(AttributeError, f"{type_name(self.cls)!r} object has no attribute {name!r}")
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
        return _METHODS[self.receiver.cls][self.name](tx, self.receiver, *args, **kwargs)

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
        return [self.entry(k) for k in self.mapping.items]

    def entry(self, key: Any) -> VariableTracker:
        """What the view gives for a key of the dict."""
        make: dict[str, Callable[[VariableTracker], VariableTracker]] = {
            "keys": lambda v: self.mapping.key(key),
            "values": lambda v: v,
            "items": lambda v: TupleTracker([self.mapping.key(key), v]),
        }
        return make[self.kind](self.mapping.items[key])

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return self.mapping.watched(self.entry)

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.mapping.items))

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.mapping.items)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "mapping":
            return self.mapping
        if name == "isdisjoint" and self.kind != "values":
            return Disjointness(self)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if self.kind == "keys":
            return self.mapping.contains(tx, value)
        return Constant(any(tx.same_or_equal(value, tx.realize(v)) for v in self.entries()))

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.mapping)}.{self.kind}()"


class Disjointness(VariableTracker):
    """``view.isdisjoint``, not called yet."""

    def __init__(self, view: DictView) -> None:
        self.view = view

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) != 1 or kwargs:
            raise Unsupported("call", self.describe())
        return Constant(not any(tx.truth(self.view.contains(tx, item)) for item in tx.unpack(args[0])))


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


def _popitem(tx: Evaluator, d: DictTracker, last: VariableTracker | None = None) -> VariableTracker:
    if last is not None and d.cls is not OrderedDict:
        raise Unsupported("call", "popitem() with these arguments")
    if not d.items:
        what = "dictionary" if d.cls is OrderedDict else "popitem(): dictionary"
        raise python_error(KeyError, f"{what} is empty")
    d.will_change(tx)
    d.note_order()
    key = list(d.items)[-1 if last is None or tx.truth(last) else 0]
    value = d.items.pop(key)
    return TupleTracker([d.key(key), value])


def _update(
    tx: Evaluator, d: DictTracker, other: VariableTracker | None = None, **named: VariableTracker
) -> VariableTracker:
    new: dict[Any, VariableTracker] = {}
    if isinstance(other, DictTracker):
        other.note_order()
        new.update(other.items)
    elif other is not None:
        for place, pair in enumerate(tx.unpack(other)):
            element = f"dictionary update sequence element #{place}"
            found = tx.unpack(pair, f"cannot convert {element} to a sequence")
            if len(found) != 2:
                raise python_error(ValueError, f"{element} has length {len(found)}; 2 is required")
            key, value = found
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


def _move_to_end(
    tx: Evaluator, d: DictTracker, key: VariableTracker, last: VariableTracker | None = None
) -> VariableTracker:
    known = key_of(key)
    if known not in d.items:
        raise python_error(KeyError, known)
    d.will_change(tx)
    value = d.items.pop(known)
    if last is None or tx.truth(last):
        d.items[known] = value
    else:
        d.items = {known: value, **d.items}
    return Constant(None)


# -- Counter
def count(tx: Evaluator, d: DictTracker, other: VariableTracker | None = None, **named: VariableTracker) -> None:
    """Add the counts of an iterable or a mapping to ``d``."""
    if isinstance(other, DictTracker):
        other.note_order()
        pairs = list(other.items.items())
    elif other is None or (isinstance(other, Constant) and other.value is None):
        pairs = []
    else:
        pairs = [(key_of(v), Constant(1)) for v in tx.unpack(other)]
    for key, number in [*pairs, *named.items()]:
        before = d.items.get(key)
        d.items[key] = (
            number if before is None else tx.language.binary(tx, "add", tx.realize(before), tx.realize(number))
        )


def _count_more(
    tx: Evaluator, d: DictTracker, other: VariableTracker | None = None, **named: VariableTracker
) -> VariableTracker:
    d.will_change(tx)
    count(tx, d, other, **named)
    return Constant(None)


def _most_common(tx: Evaluator, d: DictTracker, n: VariableTracker | None = None) -> VariableTracker:
    d.note_order()
    counts = Counter({k: tx.realize(v).constant() for k, v in d.items.items()})
    order = counts.most_common(None if n is None else n.constant())
    return ListTracker([TupleTracker([d.key(k), tx.realize(d.items[k])]) for k, _ in order])


def _elements(tx: Evaluator, d: DictTracker) -> VariableTracker:
    d.note_order()
    repeated = [d.key(k) for k, v in d.items.items() for _ in range(tx.realize(v).constant())]
    return SequenceIterator(repeated)


def _subtract(
    tx: Evaluator, d: DictTracker, other: VariableTracker | None = None, **named: VariableTracker
) -> VariableTracker:
    d.will_change(tx)
    less = DictTracker({}, cls=Counter)
    count(tx, less, other, **named)
    for key, number in less.items.items():
        before = tx.realize(d.items.get(key, Constant(0)))
        d.items[key] = tx.language.binary(tx, "sub", before, tx.realize(number))
    return Constant(None)


def _total(tx: Evaluator, d: DictTracker) -> VariableTracker:
    return Constant(sum(tx.realize(v).constant() for v in d.items.values()))


def combine_counters(tx: Evaluator, name: str, left: DictTracker, right: DictTracker) -> VariableTracker:
    """``+``, ``-``, ``&`` and ``|`` of counters with known counts."""
    counters = [Counter({k: tx.realize(v).constant() for k, v in d.items.items()}) for d in (left, right)]
    for d in (left, right):
        d.note_order()
    result = getattr(operator, name)(*counters)
    return DictTracker({k: Constant(v) for k, v in result.items()}, cls=Counter)


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
_METHODS: dict[type, dict[str, Callable[..., VariableTracker]]] = {
    dict: _DICT_METHODS,
    defaultdict: _DICT_METHODS,
    OrderedDict: {**_DICT_METHODS, "move_to_end": _move_to_end},
    Counter: {
        **_DICT_METHODS,
        "update": _count_more,
        "subtract": _subtract,
        "most_common": _most_common,
        "elements": _elements,
        "total": _total,
    },
}
DICT_CLASSES = tuple(_METHODS)
