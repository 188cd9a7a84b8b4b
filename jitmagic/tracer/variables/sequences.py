"""Lists, tuples, ranges and slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import SymInt
from jitmagic.tracer.effects import ContentsEffect
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error, type_name
from jitmagic.tracer.variables.constant import Constant, register_container
from jitmagic.tracer.variables.given_numbers import GivenNumbers
from jitmagic.tracer.variables.held import Growing, Held
from jitmagic.tracer.variables.iterators import CountedIterator, SequenceIterator
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.number import SymbolicInt, wrap_size

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.rows import Rows as HeldRows

__all__ = [
    "ListTracker",
    "RangeTracker",
    "SequenceMethod",
    "SequenceTracker",
    "SliceTracker",
    "TupleTracker",
]


class SequenceTracker(VariableTracker):
    """What lists and tuples share. ``items`` holds trackers; those of an input are wrapped when first read."""

    kind: type = tuple

    def __init__(self, items: Iterable[VariableTracker], source: Source | None = None) -> None:
        self.items = list(items)
        self.source = source

    def python_type(self) -> type:
        return self.kind

    def constant(self) -> Any:
        return self.kind(v.constant() for v in self.items)

    @property
    def is_constant(self) -> bool:
        return all(v.is_constant for v in self.items)

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.items)

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self.items))

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return SequenceIterator(self.items, owner=self if self.python_type() in (list, tuple) else None)

    def like(self, items: Iterable[VariableTracker]) -> SequenceTracker:
        """A new sequence of the plain class, as slicing and ``+`` give."""
        return TupleTracker(items)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        index = self._index(tx, key)
        try:
            found = self.items[index]
        except IndexError:
            raise python_error(IndexError, f"{self.kind.__name__} index out of range") from None
        return self.like(found) if isinstance(index, slice) else tx.realize(found)

    def _index(self, tx: Evaluator, key: VariableTracker) -> Any:
        if isinstance(key, SymbolicInt):
            return key.fix()
        if isinstance(key, SliceTracker):
            return key.constant()
        value = key.constant() if key.is_constant else None
        if isinstance(value, int) and not isinstance(value, type):
            return int(value)
        if isinstance(key, Constant):
            name = self.kind.__name__
            text = f"{name} indices must be integers or slices, not {type(value).__name__}"
            raise python_error(TypeError, text)
        raise Unsupported("subscript", f"{self.describe()}[{key.describe()}]")

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(any(tx.same_or_equal(value, tx.realize(v)) for v in self.items))

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in self.methods():
            return SequenceMethod(self, name)
        if not hasattr(self.kind, name):
            raise python_error(AttributeError, f"{type_name(self.python_type())!r} object has no attribute {name!r}")
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def methods(self) -> dict[str, Callable[..., VariableTracker]]:
        return _READING

    def reconstruct(self, emit: Emitter) -> str:
        inner = ", ".join(emit.value(v) for v in self.items)
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


class TupleTracker(SequenceTracker):
    """A tuple."""

    kind = tuple


class ListTracker(SequenceTracker):
    """A list. One that came from outside is given its final contents after the graph has run.

    ``held`` has the numbers of a list that was put together by a loop, until they are asked for one by one.
    ``unread`` gives what a list from outside held before the call, with the guard on its length, until something but
    appending is done with it: ``_items`` has what was appended until then. ``given`` tells what kind of numbers it had.
    """

    kind: type = list
    immutable = False

    def __init__(self, items: Iterable[VariableTracker], source: Source | None = None) -> None:
        self.held: Held | HeldRows | Growing | None = None
        self.unread: Callable[[], list[VariableTracker]] | None = None
        self.given: GivenNumbers | None = None
        super().__init__(items, source)
        self.is_changed = False

    @classmethod
    def holding(cls, held: Held) -> ListTracker:
        made = cls(())
        made.held = held
        return made

    def hold(self, held: Held) -> None:
        """These numbers are the contents now."""
        self.unread, self.held = None, held
        self._items: list[VariableTracker] = []

    @property
    def items(self) -> list[VariableTracker]:
        if self.held is not None:
            self._items = self.held.items(ListTracker.holding)
            self.held = None
        if self.unread is not None:
            before, self.unread = self.unread, None
            self._items = self.room_for([*before(), *self._items])
        return self._items

    @items.setter
    def items(self, items: list[VariableTracker]) -> None:
        self._items = items

    def room_for(self, items: list[VariableTracker]) -> list[VariableTracker]:
        """What stays of ``items`` when they were appended."""
        return items

    @property
    def end(self) -> list[VariableTracker]:
        """The list that appending adds to: what stands before need not be known."""
        return self._items if self.unread is not None else self.items

    @property
    def refill(self) -> str:
        return "grown" if self.unread is not None else self.kind.__name__

    @property
    def is_constant(self) -> bool:
        return self.held is None and super().is_constant

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        is_number = isinstance(key, Constant) and type(key.value) is int
        found = self.held.item(key) if self.held is not None and is_number else None
        return super().item(tx, key) if found is None else found

    def truth(self, tx: Evaluator) -> bool:
        return super().truth(tx) if self.held is None else self.held.length().truth(tx)

    def length(self, tx: Evaluator) -> VariableTracker:
        if self.held is not None:
            return self.held.length()
        if self.unread is not None and not self.is_changed and self.given is not None and self.given.is_long:
            return self.given.length() if self.given.kind else super().length(tx)
        return super().length(tx)

    def like(self, items: Iterable[VariableTracker]) -> SequenceTracker:
        return ListTracker(items)

    def will_change(self, tx: Evaluator) -> None:
        """Call before every mutation."""
        if self.source is not None and not self.is_changed:
            tx.output.add_effect(ContentsEffect(self))
        self.is_changed = True

    def new_places(self) -> Iterable[str]:
        assert self.source is not None
        return [f"{self.source.text}[{i}]" for i, v in enumerate(self._items) if not isinstance(v, Lazy)]

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        index = self._index(tx, key)
        self.will_change(tx)
        try:
            self.items[index] = tx.unpack(value) if isinstance(index, slice) else value
        except IndexError:
            raise python_error(IndexError, "list assignment index out of range") from None
        except ValueError as error:
            raise Raised(error) from None

    def delete_item(self, tx: Evaluator, key: VariableTracker) -> None:
        index = self._index(tx, key)
        self.will_change(tx)
        try:
            del self.items[index]
        except IndexError:
            raise python_error(IndexError, "list assignment index out of range") from None

    def methods(self) -> dict[str, Callable[..., VariableTracker]]:
        return LIST_METHODS

    def reconstruct(self, emit: Emitter) -> str:
        return emit.value_list(self.end) if self.held is None else self.held.reconstruct(emit)


class SequenceMethod(VariableTracker):
    """A method of a list or tuple, not called yet."""

    def __init__(self, receiver: SequenceTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def describe(self) -> str:
        return f"{self.receiver.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return self.receiver.methods()[self.name](tx, self.receiver, *args, **kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.receiver)}.{self.name}"


def _count(tx: Evaluator, seq: SequenceTracker, value: VariableTracker) -> VariableTracker:
    return Constant(sum(tx.same_or_equal(value, tx.realize(v)) for v in seq.items))


def _find(tx: Evaluator, seq: SequenceTracker, value: VariableTracker, *limits: VariableTracker) -> VariableTracker:
    known = [v.constant() for v in limits]
    bounds = slice(known[0] if known else None, known[1] if len(known) > 1 else None)
    for i in range(*bounds.indices(len(seq.items))):
        if tx.same_or_equal(tx.realize(seq.items[i]), value):
            return Constant(i)
    if isinstance(seq, ListTracker):
        shown = repr(value.constant()) if value.is_constant else "value"
        raise python_error(ValueError, f"{shown} is not in list")
    raise python_error(ValueError, "tuple.index(x): x not in tuple")


def _append(tx: Evaluator, seq: ListTracker, value: VariableTracker) -> VariableTracker:
    flow = tx.output.flow
    if flow is not None and flow.lists.take(tx, seq, value):
        return Constant(None)
    seq.will_change(tx)
    seq.end.append(value)
    return Constant(None)


def _extend(tx: Evaluator, seq: ListTracker, values: VariableTracker) -> VariableTracker:
    new = tx.unpack(values)
    seq.will_change(tx)
    seq.end.extend(new)
    return Constant(None)


def _insert(tx: Evaluator, seq: ListTracker, index: VariableTracker, value: VariableTracker) -> VariableTracker:
    seq.will_change(tx)
    seq.items.insert(index.constant(), value)
    return Constant(None)


def _pop(tx: Evaluator, seq: ListTracker, index: VariableTracker | None = None) -> VariableTracker:
    seq.will_change(tx)
    if not seq.items:
        raise python_error(IndexError, "pop from empty list")
    try:
        return tx.realize(seq.items.pop(-1 if index is None else index.constant()))
    except IndexError:
        raise python_error(IndexError, "pop index out of range") from None


def _remove(tx: Evaluator, seq: ListTracker, value: VariableTracker) -> VariableTracker:
    for i, item in enumerate(seq.items):
        if tx.same_or_equal(tx.realize(item), value):
            seq.will_change(tx)
            del seq.items[i]
            return Constant(None)
    raise python_error(ValueError, "list.remove(x): x not in list")


def _clear(tx: Evaluator, seq: ListTracker) -> VariableTracker:
    seq.will_change(tx)
    seq.items.clear()
    return Constant(None)


def _reverse(tx: Evaluator, seq: ListTracker) -> VariableTracker:
    seq.will_change(tx)
    seq.items.reverse()
    return Constant(None)


def _copy(tx: Evaluator, seq: ListTracker) -> VariableTracker:
    return ListTracker(seq.items)


def _sort(
    tx: Evaluator, seq: ListTracker, *, key: VariableTracker | None = None, reverse: VariableTracker | None = None
) -> VariableTracker:
    ordered = tx.sort(seq.items, key, reverse)
    seq.will_change(tx)
    seq.items[:] = ordered
    return Constant(None)


def _repeat(tx: Evaluator, seq: ListTracker, times: VariableTracker) -> VariableTracker:
    """``seq *= times``."""
    if not isinstance(times.constant(), int):
        raise python_error(TypeError, f"can't multiply sequence by non-int of type {times.python_type().__name__!r}")
    seq.will_change(tx)
    seq.items *= times.constant()
    return seq


_READING: dict[str, Callable[..., VariableTracker]] = {"count": _count, "index": _find}
LIST_METHODS: dict[str, Callable[..., VariableTracker]] = {
    **_READING,
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "remove": _remove,
    "clear": _clear,
    "reverse": _reverse,
    "copy": _copy,
    "sort": _sort,
    "__imul__": _repeat,
}


class SliceTracker(VariableTracker):
    """A slice with known, symbolic or unknown bounds."""

    def __init__(self, parts: Sequence[VariableTracker], source: Source | None = None) -> None:
        self.parts = list(parts)
        self.source = source

    def python_type(self) -> type:
        return slice

    def constant(self) -> Any:
        return slice(*(v.constant() for v in self.parts))

    @property
    def is_constant(self) -> bool:
        return all(v.is_constant for v in self.parts)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        names = ("start", "stop", "step")
        if name in names:
            return tx.realize(self.parts[names.index(name)])
        if name == "indices":
            return SliceIndices(self)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def reconstruct(self, emit: Emitter) -> str:
        return f"slice({', '.join(emit.value(v) for v in self.parts)})"


class SliceIndices(VariableTracker):
    """``slice.indices``, not called yet."""

    def __init__(self, receiver: SliceTracker) -> None:
        self.receiver = receiver

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return TupleTracker([Constant(n) for n in self.receiver.constant().indices(args[0].constant())])


class RangeTracker(VariableTracker):
    """A range whose bounds may be symbolic; looping over it fixes how many rounds there are."""

    def __init__(self, start: VariableTracker, stop: VariableTracker, step: VariableTracker) -> None:
        self.bounds = (start, stop, step)

    def python_type(self) -> type:
        return range

    def constant(self) -> Any:
        return range(*(v.constant() for v in self.bounds))

    @property
    def is_constant(self) -> bool:
        return all(v.is_constant for v in self.bounds)

    def length(self, tx: Evaluator) -> VariableTracker:
        start, stop, step = (getattr(v, "value", None) for v in self.bounds)  # None: known only at run time
        if isinstance(stop, SymInt) and start == 0 and step == 1 and stop >= 0:
            return wrap_size(stop)
        return Constant(len(self.constant()))

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.length(tx).truth(tx))

    def iterate(self, tx: Evaluator) -> VariableTracker:
        steps = self.constant()
        return CountedIterator(len(steps), lambda i: Constant(steps[i]))

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        steps = self.constant()
        try:
            found = steps[key.constant()]
        except (IndexError, TypeError) as error:
            raise Raised(error) from None
        return Constant(found) if isinstance(found, int) else range_tracker(found)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        names = ("start", "stop", "step")
        if name in names:
            return self.bounds[names.index(name)]
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if not value.is_constant:
            return super().contains(tx, value)
        return Constant(value.constant() in self.constant())

    def reconstruct(self, emit: Emitter) -> str:
        return f"range({', '.join(emit.value(v) for v in self.bounds)})"


def range_tracker(value: range) -> RangeTracker:
    """The tracker of a known range."""
    return RangeTracker(Constant(value.start), Constant(value.stop), Constant(value.step))


register_container(tuple, TupleTracker)
register_container(list, ListTracker)
