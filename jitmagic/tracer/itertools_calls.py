"""What the functions of ``itertools`` mean over trackers; each gives items one by one, when they are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operators import binary
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.iterators import ChainIterator, IteratorTracker, SequenceIterator
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS"]

Steps = Callable[..., Iterator[VariableTracker]]


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


def _groupby(tx: Evaluator, values: VariableTracker, key: VariableTracker | None = None) -> VariableTracker:
    """Groups are made at once, which is only seen by programs that come back to a group later."""
    plain = key is None or (isinstance(key, Constant) and key.value is None)
    groups: list[tuple[VariableTracker, list[VariableTracker]]] = []
    for item in tx.unpack(values):
        own = item if plain or key is None else tx.realize(key.call(tx, [item], {}))
        if groups and tx.same_or_equal(groups[-1][0], own):
            groups[-1][1].append(item)
        else:
            groups.append((own, [item]))
    return SequenceIterator([TupleTracker([own, SequenceIterator(members)]) for own, members in groups])


def _tee(tx: Evaluator, values: VariableTracker, n: VariableTracker | None = None) -> VariableTracker:
    items = tx.unpack(values)
    return TupleTracker([SequenceIterator(items) for _ in range(2 if n is None else n.constant())])


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
    itertools.pairwise,
)
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
}
