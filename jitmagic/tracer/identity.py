"""Takes two trackers, answers ``a is b``; refuses where Python's answer depends on how it stores equal values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import ConstantSource
from jitmagic.tracer.guards.kinds import alias_guard, no_alias_guard
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["same_object", "same_or_equal"]

SMALL_INTS = range(-5, 257)  # the ints that CPython keeps one object of
ONE_OF_EACH = (type(None), bool, type(Ellipsis), type(NotImplemented), np.bool_)


def same_object(tx: Evaluator, a: VariableTracker, b: VariableTracker) -> bool:
    """``a is b``, with a guard where the answer may differ at the next call."""
    if a is b or a.is_same_object(b) or (a.source is not None and a.source == b.source):
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return _same_constant(a.value, b.value)
    if _is_number(a) or _is_number(b):
        return _same_number(a, b)
    if _is_sourced(a) and _is_sourced(b):
        return _same_at_sources(tx, a, b)
    left, right = _object_of(tx, a), _object_of(tx, b)
    return left is not NO_OBJECT and left is right


def same_or_equal(tx: Evaluator, a: VariableTracker, b: VariableTracker) -> bool:
    """``a is b or a == b``; equal numbers and texts need no identity, except nan."""
    if a is b:
        return True
    if isinstance(a, Constant) or isinstance(b, Constant) or _is_number(a) or _is_number(b):
        return tx.truth(tx.language.compare(tx, "eq", a, b)) or (_is_nan(a) and _is_nan(b) and same_object(tx, a, b))
    return same_object(tx, a, b) or tx.truth(tx.language.compare(tx, "eq", a, b))


def _is_nan(value: VariableTracker) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, float) and value.value != value.value


def _same_constant(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if isinstance(x, ONE_OF_EACH) or (type(x) is int and x in SMALL_INTS):
        return bool(x == y)
    if isinstance(x, np.dtype | int | float | complex | str | bytes):
        if not (x == y or (x != x and y != y)):
            return False
        raise Unsupported("operator", f"{x!r} is {y!r} (equal values may be one object or two)")
    return x is y


def _is_number(value: VariableTracker) -> bool:
    return isinstance(value, SymbolicInt | RunTimeNumber) or (isinstance(value, ArrayTracker) and value.meta.scalar)


def _same_number(a: VariableTracker, b: VariableTracker) -> bool:
    """Numbers of run time: another class is another object, else only Python knows."""
    if a.python_type() is not b.python_type():
        return False
    raise Unsupported("operator", f"{a.describe()} is {b.describe()}")


def _is_sourced(value: VariableTracker) -> bool:
    return value.source is not None and not isinstance(value.source, ConstantSource)


def _same_at_sources(tx: Evaluator, a: VariableTracker, b: VariableTracker) -> bool:
    """Two values from outside: the answer of this call is guarded."""
    assert a.source is not None
    assert b.source is not None
    left, right = _object_of(tx, a), _object_of(tx, b)
    if type(a) is not type(b) and (left is NO_OBJECT or right is NO_OBJECT):
        return False
    if left is NO_OBJECT or right is NO_OBJECT:
        raise Unsupported("operator", f"{a.describe()} is {b.describe()}")
    same = left is right
    tx.output.guards.add(alias_guard(a.source, b.source) if same else no_alias_guard((a.source, b.source)))
    return same


def _object_of(tx: Evaluator, value: VariableTracker) -> Any:
    if value.real_object() is not NO_OBJECT:
        return value.real_object()
    return next((real for real, tracker in tx.output.tracked.values() if tracker is value), NO_OBJECT)
