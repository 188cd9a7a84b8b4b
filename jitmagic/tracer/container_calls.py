"""What the constructors of Python's containers mean over trackers."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.deques import DequeTracker
from jitmagic.tracer.variables.mappings import DictTracker, count, key_of
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker, is_named_tuple_class, is_stock
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

__all__ = ["ROWS"]


def _list(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return ListTracker([] if value is None else tx.unpack(value))


def _tuple(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if type(value) is TupleTracker:
        return value
    return TupleTracker([] if value is None else tx.unpack(value))


def _bare_tuple(tx: Evaluator, cls: VariableTracker, value: VariableTracker | None = None) -> VariableTracker:
    """``tuple.__new__``, by which named tuples are made."""
    kind = cls.value if isinstance(cls, ClassTracker) else None
    if kind is tuple:
        return _tuple(tx, value)
    if kind is None or not is_named_tuple_class(kind) or not is_stock(kind):
        raise Unsupported("call", "tuple.__new__() of this class")
    tx.output.builder.guard_special_methods(kind)
    return NamedTupleTracker(kind, [] if value is None else tx.unpack(value))


def _set(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return _made_set(tx, value, set)


def _frozenset(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if isinstance(value, SetTracker) and value.cls is frozenset:
        return value
    return _made_set(tx, value, frozenset)


def _made_set(tx: Evaluator, value: VariableTracker | None, cls: type) -> VariableTracker:
    if isinstance(value, SetTracker):
        return SetTracker(value.values, cls=cls)
    members = [] if value is None else [key_of(v) for v in tx.unpack(value)]
    return SetTracker(members, cls=cls, grown=not isinstance(value, DictTracker))


def _dict(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    result = DictTracker({})
    result.method(tx, "update", args, kwargs)
    return result


def _range(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    args = tuple(_as_bound(tx, a) for a in args)
    for a in args:
        known = isinstance(a, Constant) and isinstance(a.value, int)
        if not known and not isinstance(a, SymbolicInt) and not (isinstance(a, RunTimeNumber) and a.kind is int):
            if isinstance(a, Constant):
                return run(lambda: range(*(v.constant() for v in args)))
            if isinstance(a, RunTimeNumber) and a.kind in (float, complex):
                raise python_error(TypeError, f"{a.kind.__name__!r} object cannot be interpreted as an integer")
            raise NotConstant
    start, stop = (Constant(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else Constant(1)
    if step.is_constant and step.constant() == 0:
        raise python_error(ValueError, "range() arg 3 must not be zero")
    return RangeTracker(start, stop, step)


def _as_bound(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """An int of NumPy's is a bound of a range as the Python int of that value."""
    is_numpy = isinstance(value, ArrayTracker) and value.meta.scalar and value.meta.dtype.kind in "iu"
    return tx.language.builtins[int](tx, value) if is_numpy else value


def _slice(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    parts = [Constant(None), args[0], Constant(None)] if len(args) == 1 else [*args, Constant(None)][:3]
    return SliceTracker(parts)


def _deque(
    tx: Evaluator, values: VariableTracker | None = None, maxlen: VariableTracker | None = None
) -> VariableTracker:
    limit = None if maxlen is None else maxlen.constant()
    return DequeTracker([] if values is None else tx.unpack(values), limit)


def _ordered_dict(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    result = DictTracker({}, cls=OrderedDict)
    result.method(tx, "update", args, kwargs)
    return result


def _default_dict(
    tx: Evaluator, factory: VariableTracker | None = None, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    result = DictTracker({}, cls=defaultdict, factory=factory)
    result.method(tx, "update", args, kwargs)
    return result


def _counter(tx: Evaluator, values: VariableTracker | None = None, **named: VariableTracker) -> VariableTracker:
    result = DictTracker({}, cls=Counter)
    count(tx, result, values, **named)
    return result


def _fromkeys(cls: type) -> Handler:
    """``cls.fromkeys``: every key has the same value."""

    def call(tx: Evaluator, keys: VariableTracker, value: VariableTracker | None = None) -> VariableTracker:
        factory = Constant(None) if cls is defaultdict else None
        return DictTracker({key_of(k): value or Constant(None) for k in tx.unpack(keys)}, cls=cls, factory=factory)

    return call


ROWS: dict[Any, Handler] = {
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
    range: _range,
    slice: _slice,
    deque: _deque,
    OrderedDict: _ordered_dict,
    defaultdict: _default_dict,
    Counter: _counter,
    **{cls.fromkeys: _fromkeys(cls) for cls in (dict, OrderedDict, defaultdict)},
    tuple.__new__: _bare_tuple,
}
