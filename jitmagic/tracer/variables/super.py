"""``super()``: attribute reads that start after one class in the receiver's MRO."""

from __future__ import annotations

from types import FunctionType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.kinds import super_attribute_guard
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.descriptors import read_entry
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

    def python_type(self) -> type:
        return super

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        receiver = self.receiver
        if isinstance(receiver, ClassTracker):
            return self._of_class(tx, receiver, name)
        if not isinstance(receiver, ObjectTracker):
            raise Unsupported("attribute", f"super().{name}")
        entry, base = _after(receiver.cls, self.owner, name)
        if receiver.source is not None:
            tx.output.guards.add(super_attribute_guard(receiver.source, self.owner, name, entry))
        if entry is MISSING:
            raise python_error(AttributeError, f"'super' object has no attribute {name!r}")
        builder = tx.output.builder
        if isinstance(entry, FunctionType | WrapperDescriptorType):
            return BoundMethod(builder.class_entry(tx, base, name, entry), receiver)
        return read_entry(tx, receiver, name, entry)

    def _of_class(self, tx: Evaluator, receiver: ClassTracker, name: str) -> VariableTracker:
        """In a class method, or with a class as the second argument."""
        builder = tx.output.builder
        if self.owner not in receiver.value.__mro__:
            return self._of_metaclass(tx, receiver, name)
        entry, base = _after(receiver.value, self.owner, name)
        mro = receiver.value.__mro__
        for each in mro[mro.index(self.owner) + 1 : mro.index(base) + 1]:
            builder.guard_held_class(each, name)
        if isinstance(entry, classmethod):
            return BoundMethod(builder.constant_object(tx, entry.__func__), receiver)
        if isinstance(entry, staticmethod):
            return builder.constant_object(tx, entry.__func__)
        if entry is object.__new__ or isinstance(entry, FunctionType):
            return builder.class_entry(tx, base, name, entry)
        raise Unsupported("attribute", f"super().{name}")

    def _of_metaclass(self, tx: Evaluator, receiver: ClassTracker, name: str) -> VariableTracker:
        """In a method of a metaclass: the class is the instance."""
        meta = type(receiver.value)
        entry, base = _after(meta, self.owner, name)
        mro = meta.__mro__
        for each in mro[mro.index(self.owner) + 1 : mro.index(base) + 1]:
            tx.output.builder.guard_held_class(each, name)
        if not isinstance(entry, FunctionType | WrapperDescriptorType):
            raise Unsupported("attribute", f"super().{name}")
        return BoundMethod(tx.output.builder.class_entry(tx, base, name, entry), receiver)


def _after(cls: type, owner: type, name: str) -> tuple[Any, type]:
    mro = cls.__mro__
    for base in mro[mro.index(owner) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name], base
    return MISSING, object
