"""What ``object``'s own methods mean when a method calls them: ``object.__setattr__(self, ...)`` and its kin."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.identity import same_object
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.objects import ObjectTracker, find_in_class

__all__ = ["ROWS"]


def _instance(value: VariableTracker, name: str) -> ObjectTracker:
    if not isinstance(value, ObjectTracker):
        raise Unsupported("call", f"object.{name}()")
    return value


def _init(tx: Evaluator, receiver: VariableTracker, *args: VariableTracker) -> VariableTracker:
    """Takes nothing, does nothing."""
    if args:
        raise Unsupported("call", "object.__init__() with arguments")
    return Constant(None)


def _new(tx: Evaluator, cls: VariableTracker, *args: VariableTracker, **named: VariableTracker) -> VariableTracker:
    """``object.__new__(cls)``; further arguments are allowed only if ``__init__`` takes them."""
    if not isinstance(cls, ClassTracker) or find_in_class(cls.value, "__new__") is object.__new__:
        raise Unsupported("call", "object.__new__()")
    if args or named:
        raise Unsupported("call", "object.__new__() with arguments")
    return cls.bare_instance(tx)


def _setattr(
    tx: Evaluator, receiver: VariableTracker, name: VariableTracker, value: VariableTracker
) -> VariableTracker:
    _instance(receiver, "__setattr__").store(tx, name.constant(), value)
    return Constant(None)


def _delattr(tx: Evaluator, receiver: VariableTracker, name: VariableTracker) -> VariableTracker:
    _instance(receiver, "__delattr__").remove(tx, name.constant())
    return Constant(None)


def _getattribute(tx: Evaluator, receiver: VariableTracker, name: VariableTracker) -> VariableTracker:
    return _instance(receiver, "__getattribute__").read(tx, name.constant())


def _eq(tx: Evaluator, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    return Constant(True if same_object(tx, left, right) else NotImplemented)


def _ne(tx: Evaluator, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """The opposite of what the class's ``__eq__`` says."""
    method = _instance(left, "__ne__").class_attribute(tx, "__eq__")
    if method is None:
        raise Unsupported("operator", "!=")
    equal = tx.realize(method.call(tx, [left, right], {}))
    if isinstance(equal, Constant) and equal.value is NotImplemented:
        return equal
    return Constant(not tx.truth(equal))


def _unordered(tx: Evaluator, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    return Constant(NotImplemented)


ROWS: dict[Any, Handler] = {
    object.__init__: _init,
    object.__new__: _new,
    object.__setattr__: _setattr,
    object.__delattr__: _delattr,
    object.__getattribute__: _getattribute,
    object.__eq__: _eq,
    object.__ne__: _ne,
    **{object.__dict__[name]: _unordered for name in ("__lt__", "__le__", "__gt__", "__ge__")},
}
