"""What Python's functions over iterables mean over trackers: ``zip``, ``sorted``, ``itertools``, ``reduce``."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operators import binary, compare
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import PartialTracker
from jitmagic.tracer.variables.iterators import (
    ChainIterator,
    CountedIterator,
    MapIterator,
    SequenceIterator,
    ZipIterator,
)
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, TupleTracker

__all__ = ["ROWS"]


def _iter(tx: Evaluator, value: VariableTracker, *sentinel: VariableTracker) -> VariableTracker:
    if sentinel:
        raise Unsupported("call", "iter() with a sentinel")
    return value.iterate(tx)


def _next(tx: Evaluator, value: VariableTracker, default: VariableTracker | None = None) -> VariableTracker:
    item = value.next_item(tx)
    if item is None:
        if default is None:
            raise python_error(StopIteration)
        return default
    return item


def _enumerate(tx: Evaluator, value: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    count = itertools.count(0 if start is None else start.constant())
    return MapIterator(value.iterate(tx), lambda item: TupleTracker([Constant(next(count)), item]))


def _zip(tx: Evaluator, *values: VariableTracker, strict: VariableTracker | None = None) -> VariableTracker:
    return ZipIterator([v.iterate(tx) for v in values], strict is not None and tx.truth(strict))


def _map(tx: Evaluator, function: VariableTracker, *values: VariableTracker) -> VariableTracker:
    def call(item: VariableTracker) -> VariableTracker:
        assert isinstance(item, TupleTracker)
        return tx.realize(function.call(tx, item.items, {}))

    return MapIterator(ZipIterator([v.iterate(tx) for v in values]), call)


def _filter(tx: Evaluator, function: VariableTracker, values: VariableTracker) -> VariableTracker:
    keep_true = isinstance(function, Constant) and function.value is None

    def choose(item: VariableTracker) -> VariableTracker | None:
        verdict = item if keep_true else tx.realize(function.call(tx, [item], {}))
        return item if tx.truth(verdict) else None

    return MapIterator(values.iterate(tx), choose)


def _reversed(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ArrayTracker):
        count = int(value.length(tx).constant())
        return CountedIterator(count, lambda i: value.item(tx, Constant(count - 1 - i)))
    if isinstance(value, ListTracker | TupleTracker | RangeTracker | DictTracker):
        return SequenceIterator(tx.unpack(value)[::-1])
    raise Unsupported("call", f"reversed({value.describe()})")


def _sorted(
    tx: Evaluator,
    value: VariableTracker,
    *,
    key: VariableTracker | None = None,
    reverse: VariableTracker | None = None,
) -> VariableTracker:
    return ListTracker(tx.sort(tx.unpack(value), key, reverse))


def _sum(tx: Evaluator, values: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    total: VariableTracker = start or Constant(0)
    for item in tx.unpack(values):
        total = binary(tx, "add", total, item)
    return total


def _any(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)
    while (item := iterator.next_item(tx)) is not None:
        if tx.truth(item):
            return Constant(True)
    return Constant(False)


def _all(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)
    while (item := iterator.next_item(tx)) is not None:
        if not tx.truth(item):
            return Constant(False)
    return Constant(True)


def _extreme(name: str) -> Handler:
    def choose(
        tx: Evaluator,
        *values: VariableTracker,
        key: VariableTracker | None = None,
        default: VariableTracker | None = None,
    ) -> VariableTracker:
        items = tx.unpack(values[0]) if len(values) == 1 else list(values)
        if not items:
            if default is None:
                raise python_error(ValueError, f"{'max' if name == 'gt' else 'min'}() iterable argument is empty")
            return default
        best, best_key = items[0], items[0] if key is None else key.call(tx, [items[0]], {})
        for item in items[1:]:
            own = item if key is None else key.call(tx, [item], {})
            if tx.truth(compare(tx, name, own, best_key)):
                best, best_key = item, own
        return best

    return choose


def _partial(
    tx: Evaluator, function: VariableTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    return PartialTracker(function, args, kwargs)


def _reduce(
    tx: Evaluator, function: VariableTracker, values: VariableTracker, start: VariableTracker | None = None
) -> VariableTracker:
    items = tx.unpack(values)
    if start is None:
        if not items:
            raise python_error(TypeError, "reduce() of empty iterable with no initial value")
        start, items = items[0], items[1:]
    for item in items:
        start = tx.realize(function.call(tx, [start, item], {}))
    return start


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


def _accumulate(tx: Evaluator, values: VariableTracker, function: VariableTracker | None = None) -> VariableTracker:
    items: list[VariableTracker] = []
    for item in tx.unpack(values):
        if items and function is not None:
            item = tx.realize(function.call(tx, [items[-1], item], {}))
        elif items:
            item = binary(tx, "add", items[-1], item)
        items.append(item)
    return SequenceIterator(items)


def _islice(tx: Evaluator, values: VariableTracker, *bounds: VariableTracker) -> VariableTracker:
    limits = [b.constant() for b in bounds]
    start, stop, step = slice(*limits).start or 0, slice(*limits).stop, slice(*limits).step or 1
    iterator = values.iterate(tx)
    items: list[VariableTracker] = []
    position = 0
    while stop is None or position < stop:
        item = iterator.next_item(tx)
        if item is None:
            break
        if position >= start and (position - start) % step == 0:
            items.append(item)
        position += 1
    return SequenceIterator(items)


ROWS: dict[Any, Handler] = {
    iter: _iter,
    next: _next,
    enumerate: _enumerate,
    zip: _zip,
    map: _map,
    filter: _filter,
    reversed: _reversed,
    sorted: _sorted,
    sum: _sum,
    any: _any,
    all: _all,
    max: _extreme("gt"),
    min: _extreme("lt"),
    functools.partial: _partial,
    functools.reduce: _reduce,
    itertools.product: _product,
    itertools.permutations: _combine(itertools.permutations),
    itertools.combinations: _combine(itertools.combinations),
    itertools.pairwise: _combine(itertools.pairwise),
    itertools.chain: _chain,
    itertools.accumulate: _accumulate,
    itertools.islice: _islice,
}
