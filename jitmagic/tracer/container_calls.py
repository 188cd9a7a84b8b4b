"""What the constructors of Python's containers mean over trackers."""

from __future__ import annotations

from typing import Any

from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.mappings import DictTracker, SetTracker, key_of
from jitmagic.tracer.variables.number import SymbolicInt
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker

__all__ = ["ROWS"]


def _list(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return ListTracker([] if value is None else tx.unpack(value))


def _tuple(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if type(value) is TupleTracker:
        return value
    return TupleTracker([] if value is None else tx.unpack(value))


def _set(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return SetTracker([] if value is None else [key_of(v) for v in tx.unpack(value)])


def _frozenset(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return SetTracker([] if value is None else [key_of(v) for v in tx.unpack(value)], cls=frozenset)


def _dict(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    result = DictTracker({})
    result.method(tx, "update", args, kwargs)
    return result


def _range(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    for a in args:
        if not isinstance(a, SymbolicInt) and not (isinstance(a, Constant) and isinstance(a.value, int)):
            if isinstance(a, Constant):
                return run(lambda: range(*(v.constant() for v in args)))
            raise NotConstant
    start, stop = (Constant(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else Constant(1)
    if step.is_constant and step.constant() == 0:
        raise python_error(ValueError, "range() arg 3 must not be zero")
    return RangeTracker(start, stop, step)


def _slice(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    parts = [Constant(None), args[0], Constant(None)] if len(args) == 1 else [*args, Constant(None)][:3]
    return SliceTracker(parts)


ROWS: dict[Any, Handler] = {
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
    range: _range,
    slice: _slice,
}
