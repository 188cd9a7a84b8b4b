"""Iterators made during the trace, and those of the caller that can be looked into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker, python_error

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = [
    "ChainIterator",
    "CountedIterator",
    "IteratorTracker",
    "MapIterator",
    "ReversedIterator",
    "SequenceIterator",
    "WatchedIterator",
    "ZipIterator",
]


class IteratorTracker(VariableTracker):
    """Base: an iterator is its own ``iter``; what it is not asked for it does not compute."""

    immutable = False

    def iterate(self, tx: Evaluator) -> VariableTracker:
        return self

    def python_type(self) -> type:
        return type(iter(()))

    def truth(self, tx: Evaluator) -> bool:
        return True

    def reconstruct(self, emit: Emitter) -> str:
        """To use it up here would be too early: what it goes over may change, others may read on from it."""
        raise Unsupported("iterate", "an iterator that leaves the function")

    def rest(self, tx: Evaluator) -> list[VariableTracker]:
        """Everything that is left; uses the iterator up."""
        items: list[VariableTracker] = []
        while (item := self.next_item(tx)) is not None:
            items.append(item)
        return items


class SequenceIterator(IteratorTracker):
    """Over a Python list of trackers that may grow while the loop runs, as lists do; ``owner`` is the list or tuple."""

    def __init__(self, items: Sequence[VariableTracker], index: int = 0, owner: VariableTracker | None = None) -> None:
        self.items = items
        self.index = index
        self.owner = owner

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        if self.index >= len(self.items):
            self.items = ()  # over for good, even if the list grows again
            return None
        self.index += 1
        return tx.realize(self.items[self.index - 1])

    def reconstruct(self, emit: Emitter) -> str:
        if self.owner is None or not isinstance(self.items, list | tuple) or self.items == ():
            return f"iter({emit.value_list(self.rest(emit.tx))})"
        name = emit.temporary()
        emit.line(f"{name} = iter({emit.value(self.owner)})")
        emit.line(f"{name}.__setstate__({self.index})")
        return name


class ReversedIterator(IteratorTracker):
    """Over a list from its end, which is where it was at the start; items are those that the list holds by then."""

    def __init__(self, items: Sequence[VariableTracker]) -> None:
        self.items = items
        self.index = len(items)

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        self.index -= 1
        if not 0 <= self.index < len(self.items):
            self.index = 0  # over for good
            return None
        return tx.realize(self.items[self.index])


class WatchedIterator(IteratorTracker):
    """Over ``keys`` of a table that may not change its size meanwhile; ``make`` gives the item of a key when asked.

    ``table`` is what the owner holds now: keys and their order are compared with it before every item, as Python does.
    """

    def __init__(
        self,
        table: Callable[[], Sequence[Any]],
        make: Callable[[Any], VariableTracker],
        changed: str,
        mutated: str = "",
    ) -> None:
        self.table = table
        self.keys: Sequence[Any] = table()
        self.make = make
        self.changed = changed
        self.mutated = mutated
        self.index = 0

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        if self.index < 0:
            return None
        present = self.table()
        if len(present) != len(self.keys):
            raise python_error(RuntimeError, self.changed)
        if any(a is not b for a, b in zip(present, self.keys, strict=True)):
            if self.mutated:
                raise python_error(RuntimeError, self.mutated)
            raise Unsupported("iterate", "a container whose keys change meanwhile")
        if self.index == len(self.keys):
            self.index = -1
            return None
        self.index += 1
        return tx.realize(self.make(self.keys[self.index - 1]))


class CountedIterator(IteratorTracker):
    """``count`` items, each made when it is asked for (the rows of an array, the steps of a range)."""

    def __init__(self, count: int, make: Callable[[int], VariableTracker]) -> None:
        self.count = count
        self.make = make
        self.index = 0

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        if self.index >= self.count:
            return None
        self.index += 1
        return self.make(self.index - 1)


class ZipIterator(IteratorTracker):
    """``zip`` of iterators; ``strict`` as in Python. ``pack`` makes the tuple of one round."""

    def __init__(
        self, sources: Sequence[VariableTracker], pack: Callable[[list[VariableTracker]], Any], strict: bool = False
    ) -> None:
        self.pack = pack
        self.sources = sources
        self.strict = strict

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        items: list[VariableTracker] = []
        for position, source in enumerate(self.sources):
            item = source.next_item(tx)
            if item is None:
                self._check_lengths(tx, position)
                return None
            items.append(item)
        return self.pack(items) if items else None

    def reconstruct(self, emit: Emitter) -> str:
        return f"zip({''.join(emit.value(v) + ', ' for v in self.sources)}strict={self.strict})"

    def _check_lengths(self, tx: Evaluator, position: int) -> None:
        if not self.strict:
            return
        plural = " " if position == 1 else "s 1-"
        if position:
            raise python_error(ValueError, f"zip() argument {position + 1} is shorter than argument{plural}{position}")
        for later, source in enumerate(self.sources[1:], 2):
            if source.next_item(tx) is not None:
                plural = " " if later == 2 else "s 1-"
                raise python_error(ValueError, f"zip() argument {later} is longer than argument{plural}{later - 1}")


class MapIterator(IteratorTracker):
    """``map`` and ``enumerate``: a function of the trace applied to each item in turn."""

    def __init__(self, source: VariableTracker, change: Callable[[VariableTracker], VariableTracker | None]) -> None:
        self.source_iterator = source
        self.change = change

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        """The next changed item; items changed to None are left out (``filter``)."""
        while (item := self.source_iterator.next_item(tx)) is not None:
            changed = self.change(item)
            if changed is not None:
                return changed
        return None


class ChainIterator(IteratorTracker):
    """One iterable after the other."""

    def __init__(self, sources: Sequence[VariableTracker]) -> None:
        self.waiting = list(sources)
        self.current: VariableTracker | None = None

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        while True:
            if self.current is None:
                if not self.waiting:
                    return None
                self.current = self.waiting.pop(0).iterate(tx)
            item = self.current.next_item(tx)
            if item is not None:
                return item
            self.current = None
