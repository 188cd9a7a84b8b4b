"""What the functions of ``itertools`` mean over trackers; each gives items one by one, when they are asked for."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operators import binary
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.iterators import ChainIterator, IteratorTracker, SequenceIterator
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS"]

Steps = Callable[..., Iterator[VariableTracker]]
_GROUPER = type(next(itertools.groupby("a"))[1])


class StepIterator(IteratorTracker):
    """Runs a Python generator over trackers one step at a time."""

    def __init__(self, kind: type, steps: Iterator[VariableTracker]) -> None:
        self.kind = kind
        self.steps = steps

    def python_type(self) -> type:
        return self.kind

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        return next(self.steps, None)

    def reconstruct(self, emit: Any) -> str:
        raise Unsupported("iterate", f"an itertools.{self.kind.__name__} that leaves the function")


def _lazily(kind: type, steps: Steps) -> Handler:
    def call(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
        return StepIterator(kind, steps(tx, *args, **kwargs))

    return call


def _items(tx: Evaluator, iterator: VariableTracker) -> Iterator[VariableTracker]:
    while (item := iterator.next_item(tx)) is not None:
        yield item


def _count(tx: Evaluator, start: VariableTracker | None = None, step: VariableTracker | None = None) -> Any:
    value: VariableTracker = start or Constant(0)
    while True:
        yield value
        value = binary(tx, "add", value, step or Constant(1))


def _repeat(tx: Evaluator, value: VariableTracker, times: VariableTracker | None = None) -> Any:
    rounds = itertools.repeat(None) if times is None else itertools.repeat(None, times.constant())
    for _ in rounds:
        yield value


def _cycle(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)

    def steps() -> Iterator[VariableTracker]:
        seen = []
        for item in _items(tx, iterator):
            seen.append(item)
            yield item
        while seen:
            yield from seen

    return StepIterator(itertools.cycle, steps())


def _over(kind: type, choose: Callable[[Evaluator, VariableTracker, Iterator[VariableTracker]], Any]) -> Handler:
    """A function of a predicate and one iterable, which is asked for its iterator at once."""

    def call(tx: Evaluator, function: VariableTracker, values: VariableTracker) -> VariableTracker:
        return StepIterator(kind, choose(tx, function, _items(tx, values.iterate(tx))))

    return call


def _verdict(tx: Evaluator, function: VariableTracker, item: VariableTracker) -> bool:
    return tx.truth(tx.realize(function.call(tx, [item], {})))


def _takewhile(tx: Evaluator, function: VariableTracker, items: Iterator[VariableTracker]) -> Any:
    for item in items:
        if not _verdict(tx, function, item):
            return
        yield item


def _dropwhile(tx: Evaluator, function: VariableTracker, items: Iterator[VariableTracker]) -> Any:
    for item in items:
        if not _verdict(tx, function, item):
            yield item
            break
    yield from items


def _filterfalse(tx: Evaluator, function: VariableTracker, items: Iterator[VariableTracker]) -> Any:
    plain = isinstance(function, Constant) and function.value is None
    for item in items:
        if not (tx.truth(item) if plain else _verdict(tx, function, item)):
            yield item


def _starmap(tx: Evaluator, function: VariableTracker, items: Iterator[VariableTracker]) -> Any:
    for item in items:
        yield tx.realize(function.call(tx, tx.unpack(item), {}))


def _compress(tx: Evaluator, values: VariableTracker, selectors: VariableTracker) -> Any:
    data, chosen = values.iterate(tx), selectors.iterate(tx)
    while (item := data.next_item(tx)) is not None and (verdict := chosen.next_item(tx)) is not None:
        if tx.truth(verdict):
            yield item


def _zip_longest(tx: Evaluator, *values: VariableTracker, fillvalue: VariableTracker | None = None) -> Any:
    fill = fillvalue or Constant(None)
    iterators: list[VariableTracker | None] = [v.iterate(tx) for v in values]
    while True:
        row: list[VariableTracker] = []
        for position, iterator in enumerate(iterators):
            item = None if iterator is None else iterator.next_item(tx)
            if item is None:
                iterators[position] = None
            row.append(fill if item is None else item)
        if not any(it is not None for it in iterators):
            return
        yield TupleTracker(row)


def _accumulate(
    tx: Evaluator,
    values: VariableTracker,
    func: VariableTracker | None = None,
    *,
    initial: VariableTracker | None = None,
) -> Any:
    plain = func is None or (isinstance(func, Constant) and func.value is None)
    total = None if initial is None or (isinstance(initial, Constant) and initial.value is None) else initial
    iterator = values.iterate(tx)
    if total is not None:
        yield total
    for item in _items(tx, iterator):
        if total is None:
            total = item
        elif plain or func is None:
            total = binary(tx, "add", total, item)
        else:
            total = tx.realize(func.call(tx, [total, item], {}))
        yield total


def _islice(tx: Evaluator, values: VariableTracker, *bounds: VariableTracker) -> VariableTracker:
    known = slice(*(b.constant() for b in bounds))
    start, stop, step = known.start or 0, known.stop, known.step or 1
    iterator = values.iterate(tx)

    def steps() -> Iterator[VariableTracker]:
        position, wanted = 0, start
        while stop is None or wanted < stop:
            item = iterator.next_item(tx)
            if item is None:
                return
            if position == wanted:
                wanted += step
                yield item
            position += 1
        while stop is not None and position < stop and iterator.next_item(tx) is not None:
            position += 1

    return StepIterator(itertools.islice, steps())


class _Groups(VariableTracker):
    """What ``groupby`` and its groups share: the item that was read last, its key, and the group that may go on."""

    def __init__(self, items: VariableTracker, key: VariableTracker | None) -> None:
        self.items = items
        self.key = key
        self.value: VariableTracker | None = None
        self.own: VariableTracker | None = None
        self.wanted: VariableTracker | None = None
        self.rounds = 0

    def step(self, tx: Evaluator) -> bool:
        """Read on by one item; False at the end."""
        item = self.items.next_item(tx)
        if item is None:
            return False
        self.own = item if self.key is None else tx.realize(self.key.call(tx, [item], {}))
        self.value = item
        return True


def _groupby(tx: Evaluator, values: VariableTracker, key: VariableTracker | None = None) -> VariableTracker:
    """Groups read on from one iterator: asking for the next group ends the one before it."""
    plain = key is None or (isinstance(key, Constant) and key.value is None)
    return _Grouped(_Groups(values.iterate(tx), None if plain else key))


class _Grouped(IteratorTracker):
    """``groupby``: keys, each with an iterator over its group."""

    def __init__(self, shared: _Groups) -> None:
        self.shared = shared

    def python_type(self) -> type:
        return itertools.groupby

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        shared = self.shared
        shared.rounds += 1
        while shared.own is None or (shared.wanted is not None and tx.same_or_equal(shared.wanted, shared.own)):
            if not shared.step(tx):
                return None
        shared.wanted = shared.own
        return TupleTracker([shared.own, _Group(shared, shared.own)])


class _Group(IteratorTracker):
    """The items of one group, as long as nobody asks for the next one."""

    def __init__(self, shared: _Groups, own: VariableTracker) -> None:
        self.shared = shared
        self.own = own
        self.made_in = shared.rounds

    def python_type(self) -> type:
        return _GROUPER

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        shared = self.shared
        if shared.rounds != self.made_in or (shared.value is None and not shared.step(tx)):
            return None
        if shared.own is None or not tx.same_or_equal(self.own, shared.own):
            return None
        item, shared.value, shared.own = shared.value, None, None
        return item


class _TeeIterator(IteratorTracker):
    """One of several readers of an iterator; what one of them has read is kept for the others."""

    def __init__(self, origin: VariableTracker, kept: list[VariableTracker]) -> None:
        self.origin = origin
        self.kept = kept
        self.index = 0

    def python_type(self) -> type:
        return type(itertools.tee(())[0])

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        if self.index == len(self.kept):
            item = self.origin.next_item(tx)
            if item is None:
                return None
            self.kept.append(item)
        self.index += 1
        return self.kept[self.index - 1]


def _tee(tx: Evaluator, values: VariableTracker, n: VariableTracker | None = None) -> VariableTracker:
    origin, kept = values.iterate(tx), list[VariableTracker]()
    if isinstance(origin, _TeeIterator):
        raise Unsupported("call", "itertools.tee() of an iterator of tee()")  # whose first reader is that iterator
    return TupleTracker([_TeeIterator(origin, kept) for _ in range(2 if n is None else n.constant())])


def _pairwise(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)

    def steps() -> Iterator[VariableTracker]:
        before = iterator.next_item(tx)
        while before is not None and (item := iterator.next_item(tx)) is not None:
            yield TupleTracker([before, item])
            before = item

    return StepIterator(itertools.pairwise, steps())


def _batched(
    tx: Evaluator, values: VariableTracker, n: VariableTracker, *, strict: VariableTracker | None = None
) -> VariableTracker:
    size, is_strict = n.constant(), strict is not None and tx.truth(strict)
    if type(size) is not int or size < 1 or (strict is not None and sys.version_info < (3, 13)):
        raise Unsupported("call", "itertools.batched() with these arguments")
    iterator = values.iterate(tx)

    def steps() -> Iterator[VariableTracker]:
        while batch := list(itertools.islice(_items(tx, iterator), size)):
            if is_strict and len(batch) < size:
                raise python_error(ValueError, "batched(): incomplete batch")
            yield TupleTracker(batch)

    return StepIterator(_BATCHED, steps())


def _product(tx: Evaluator, *values: VariableTracker, repeat: VariableTracker | None = None) -> VariableTracker:
    pools = [tx.unpack(v) for v in values] * (1 if repeat is None else repeat.constant())
    return SequenceIterator([TupleTracker(t) for t in itertools.product(*pools)])


def _combine(function: Any) -> Handler:
    def call(tx: Evaluator, values: VariableTracker, r: VariableTracker | None = None) -> VariableTracker:
        extra = () if r is None else (r.constant(),)
        return SequenceIterator([TupleTracker(t) for t in function(tx.unpack(values), *extra)])

    return call


def _chain(tx: Evaluator, *values: VariableTracker) -> VariableTracker:
    return ChainIterator(values)


def _chain_from(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    def steps(outer: Iterator[VariableTracker]) -> Iterator[VariableTracker]:
        for each in outer:
            yield from _items(tx, each.iterate(tx))

    return StepIterator(itertools.chain, steps(_items(tx, values.iterate(tx))))


_COMBINATIONS: Sequence[Any] = (
    itertools.permutations,
    itertools.combinations,
    itertools.combinations_with_replacement,
)
_BATCHED: Any = getattr(itertools, "batched", None)  # new in Python 3.12
ROWS: dict[Any, Handler] = {
    itertools.product: _product,
    **{function: _combine(function) for function in _COMBINATIONS},
    itertools.chain: _chain,
    itertools.chain.from_iterable: _chain_from,
    itertools.count: _lazily(itertools.count, _count),
    itertools.repeat: _lazily(itertools.repeat, _repeat),
    itertools.cycle: _cycle,
    itertools.takewhile: _over(itertools.takewhile, _takewhile),
    itertools.dropwhile: _over(itertools.dropwhile, _dropwhile),
    itertools.filterfalse: _over(itertools.filterfalse, _filterfalse),
    itertools.starmap: _over(itertools.starmap, _starmap),
    itertools.compress: _lazily(itertools.compress, _compress),
    itertools.zip_longest: _lazily(itertools.zip_longest, _zip_longest),
    itertools.accumulate: _lazily(itertools.accumulate, _accumulate),
    itertools.islice: _islice,
    itertools.groupby: _groupby,
    itertools.tee: _tee,
    itertools.pairwise: _pairwise,
    **({_BATCHED: _batched} if _BATCHED else {}),
}
