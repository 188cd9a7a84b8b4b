"""What Python's functions over iterables mean over trackers: ``zip``, ``sorted``, ``reduce``."""

from __future__ import annotations

import enum
import functools
import itertools
import math
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.ops.python_numbers import EXTREMES, NumberOp
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.generators import GeneratorTracker
from jitmagic.tracer.operators import binary, compare
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.iterators import (
    CountedIterator,
    IteratorTracker,
    MapIterator,
    ReversedIterator,
    SequenceIterator,
    WatchedIterator,
    ZipIterator,
)
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, is_measured, number_call
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

__all__ = ["ROWS"]


def _iter(tx: Evaluator, value: VariableTracker, *sentinel: VariableTracker) -> VariableTracker:
    return CallIterator(value, *sentinel) if sentinel else value.iterate(tx)


class CallIterator(IteratorTracker):
    """``iter(function, sentinel)``: what the function gives, until it gives the sentinel."""

    def __init__(self, function: VariableTracker, sentinel: VariableTracker) -> None:
        self.function: VariableTracker | None = function
        self.sentinel = sentinel

    def python_type(self) -> type:
        return type(iter(int, 1))

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        if self.function is None:
            return None
        found = tx.realize(self.function.call(tx, [], {}))
        if tx.same_or_equal(self.sentinel, found):
            self.function = None
            return None
        return found


def _next(tx: Evaluator, value: VariableTracker, default: VariableTracker | None = None) -> VariableTracker:
    item = value.next_item(tx)
    if item is None:
        if default is None:
            raise value.stopped() if isinstance(value, GeneratorTracker) else python_error(StopIteration)
        return default
    return item


def _enumerate(tx: Evaluator, value: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    count = itertools.count(0 if start is None else start.constant())
    return MapIterator(value.iterate(tx), lambda item: TupleTracker([Constant(next(count)), item]))


def _zip(tx: Evaluator, *values: VariableTracker, strict: VariableTracker | None = None) -> VariableTracker:
    return ZipIterator([v.iterate(tx) for v in values], TupleTracker, strict is not None and tx.truth(strict))


def _map(tx: Evaluator, function: VariableTracker, *values: VariableTracker) -> VariableTracker:
    def call(item: VariableTracker) -> VariableTracker:
        assert isinstance(item, TupleTracker)
        return tx.realize(function.call(tx, item.items, {}))

    return MapIterator(ZipIterator([v.iterate(tx) for v in values], TupleTracker), call)


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
    if isinstance(value, ListTracker):
        return ReversedIterator(value.items)
    if isinstance(value, DictTracker):
        keys = tx.unpack(value)[::-1]
        by_key = dict(zip(reversed(value.items), keys, strict=True))
        changed = "dictionary changed size during iteration"
        return WatchedIterator(lambda: list(reversed(value.items)), by_key.__getitem__, changed)
    is_enum = isinstance(value, ClassTracker) and type(value.value) is enum.EnumType
    if is_enum or isinstance(value, TupleTracker | RangeTracker):
        return SequenceIterator(tx.unpack(value)[::-1])
    raise Unsupported("call", f"reversed({value.describe()})")


def _sorted(
    tx: Evaluator,
    value: VariableTracker,
    *,
    key: VariableTracker | None = None,
    reverse: VariableTracker | None = None,
) -> VariableTracker:
    known = value.sortable() if isinstance(value, SetTracker) and key is None else None
    items = tx.unpack(value) if known is None else [Constant(v) for v in known]
    return ListTracker(tx.sort(items, key, reverse))


def _sum(tx: Evaluator, values: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    total: VariableTracker = start or Constant(0)
    for item in tx.unpack(values):
        total = binary(tx, "add", total, item)
    return total


def _prod(tx: Evaluator, values: VariableTracker, *, start: VariableTracker | None = None) -> VariableTracker:
    product: VariableTracker = start or Constant(1)
    for item in tx.unpack(values):
        product = binary(tx, "mul", product, item)
    return product


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


def _extreme_number(tx: Evaluator, row: NumberOp, items: list[VariableTracker]) -> VariableTracker | None:
    """Of Python numbers of one class, of which some are known only at run time."""
    numbers = [tx.realize(v) for v in items]
    kinds = {v.python_type() if isinstance(v, RunTimeNumber | SymbolicInt | Constant) else None for v in numbers}
    if kinds not in ({int}, {float}) or not any(isinstance(v, RunTimeNumber) or is_measured(v) for v in numbers):
        return None
    if tx.output.differentiating:
        raise Unsupported("data-branch", "the largest or smallest of several numbers")
    return functools.reduce(lambda best, v: number_call(tx, row, [best, v]), numbers)


def _extreme(name: str) -> Handler:
    row = EXTREMES["max" if name == "gt" else "min"]

    def choose(
        tx: Evaluator,
        *values: VariableTracker,
        key: VariableTracker | None = None,
        default: VariableTracker | None = None,
    ) -> VariableTracker:
        items = tx.unpack(values[0]) if len(values) == 1 else list(values)
        if not items:
            if default is None:
                return run(lambda: (max if name == "gt" else min)([]))
            return default
        if key is None and (found := _extreme_number(tx, row, items)) is not None:
            return found
        best, best_key = items[0], items[0] if key is None else key.call(tx, [items[0]], {})
        for item in items[1:]:
            own = item if key is None else key.call(tx, [item], {})
            if tx.truth(compare(tx, name, own, best_key)):
                best, best_key = item, own
        return best

    return choose


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
    math.prod: _prod,
    any: _any,
    all: _all,
    max: _extreme("gt"),
    min: _extreme("lt"),
    functools.reduce: _reduce,
}
