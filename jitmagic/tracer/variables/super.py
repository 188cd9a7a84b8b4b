"""``super()``: attribute reads that start after one class in the receiver's MRO."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.kinds import super_attribute_guard
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.functions import BoundMethod
from jitmagic.tracer.variables.objects import MISSING, ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["SuperTracker"]


class SuperTracker(VariableTracker):
    """The object that ``super()`` gives in a method of ``owner`` called on ``receiver``."""

    def __init__(self, owner: type, receiver: VariableTracker) -> None:
        self.owner = owner
        self.receiver = receiver

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if not isinstance(self.receiver, ObjectTracker):
            raise Unsupported("attribute", f"super().{name}")
        cls = self.receiver.cls
        entry, base = _after(cls, self.owner, name)
        if self.receiver.source is not None:
            tx.output.guards.add(super_attribute_guard(self.receiver.source, self.owner, name, entry))
        if entry is MISSING:
            raise python_error(AttributeError, f"'super' object has no attribute {name!r}")
        builder = tx.output.builder
        if isinstance(entry, FunctionType):
            return BoundMethod(builder.class_entry(tx, base, name, entry), self.receiver)
        if isinstance(entry, classmethod):
            return BoundMethod(builder.constant_object(tx, entry.__func__), builder.constant_object(tx, cls))
        if isinstance(entry, staticmethod):
            return builder.constant_object(tx, entry.__func__)
        if isinstance(entry, property) and isinstance(entry.fget, FunctionType):
            return builder.constant_object(tx, entry.fget).call(tx, [self.receiver], {})
        if entry is object.__init__:
            return _Nothing()
        if hasattr(type(entry), "__get__"):
            raise Unsupported("attribute", f"super().{name}")
        return builder.class_entry(tx, base, name, entry)


class _Nothing(VariableTracker):
    """``object.__init__`` bound to an instance: takes nothing, does nothing."""

    def call(self, tx: Evaluator, args: Any, kwargs: Any) -> VariableTracker:
        from jitmagic.tracer.variables.constant import Constant

        if args or kwargs:
            raise Unsupported("call", "object.__init__() with arguments")
        return Constant(None)


def _after(cls: type, owner: type, name: str) -> tuple[Any, type]:
    mro = cls.__mro__
    for base in mro[mro.index(owner) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name], base
    return MISSING, object
