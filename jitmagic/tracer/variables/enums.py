"""Takes members of enumerations, gives what they do: as the numbers, texts and flags that they are."""

from __future__ import annotations

import enum
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant, register_enum, run, wrap_constant
from jitmagic.tracer.variables.descriptors import MISSING
from jitmagic.tracer.variables.iterators import SequenceIterator
from jitmagic.tracer.variables.objects import ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["EnumMember", "as_operand", "is_stock_enum", "plain_number"]


class EnumMember(ObjectTracker):
    """A member of an enumeration: known by identity, so its attributes are known too."""

    def constant(self) -> Any:
        return self.value

    @property
    def is_stock(self) -> bool:
        return is_stock_enum(self.cls)

    def own(self, tx: Evaluator, name: str) -> VariableTracker | None:
        if self.source is None:
            found = self.value.__dict__.get(name, MISSING)
            return None if found is MISSING else wrap_constant(found)
        return super().own(tx, name)

    # -- what Python's own classes do is done with the member itself
    def truth(self, tx: Evaluator) -> bool:
        return bool(self.value) if self.is_stock else super().truth(tx)

    def length(self, tx: Evaluator) -> VariableTracker:
        return run(lambda: len(self.value)) if self.is_stock else super().length(tx)

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if self.is_stock and value.is_constant:
            return run(lambda: value.constant() in self.value)
        return super().contains(tx, value)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        if not self.is_stock:
            return super().iterate(tx)
        items = run(lambda: tuple(self.value))
        return SequenceIterator(tx.unpack(items))

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        if self.is_stock and key.is_constant:
            return run(lambda: self.value[key.constant()])
        return super().item(tx, key)

    def reconstruct(self, emit: Emitter) -> str:
        return emit.constant(self.value)


def is_stock_enum(cls: type) -> bool:
    """Whether every operation on members is that of ``enum``, or of the class of numbers or texts they belong to."""
    entries = ((name, entry) for base in cls.__mro__ for name, entry in base.__dict__.items())
    return not any(
        name.startswith("__")
        and isinstance(entry, FunctionType | property | classmethod | staticmethod)
        and not _is_of_enum(entry)
        for name, entry in entries
    )


def _is_of_enum(entry: Any) -> bool:
    function = entry.fget if isinstance(entry, property) else getattr(entry, "__func__", entry)
    return not isinstance(function, FunctionType) or function.__globals__ is vars(enum)


def plain_number(value: VariableTracker) -> VariableTracker:
    """A member that is a number, where only the number counts: as an axis, beside Python numbers."""
    if not isinstance(value, EnumMember) or not value.is_stock or not isinstance(value.value, int | float):
        return value
    kind = int if isinstance(value.value, int) else float
    return Constant(kind(value.value))


def as_operand(tx: Evaluator, name: str, value: VariableTracker, *others: VariableTracker) -> VariableTracker:
    """A member as an operand of Python's operator ``name``: itself if the other one is known, else its number.

    Beside an array it is a NumPy scalar: only exact Python numbers adapt to the dtype of the array. Powers look at the
    class of the exponent.
    """
    if not isinstance(value, EnumMember) or not value.is_stock:
        return value
    if name == "pow" or all(other.is_constant for other in others):
        return Constant(value.value) if isinstance(value.value, int | float | str | enum.Flag) else value
    number = plain_number(value)
    if number is value or not any(isinstance(other, ArrayTracker) for other in others):
        return number
    known = number.constant()
    if isinstance(known, int) and not _INT64.min <= known <= _INT64.max:
        return value
    return tx.output.builder.constant_object(tx, np.float64(known) if isinstance(known, float) else np.int64(known))


_INT64 = np.iinfo(np.int64)
register_enum(lambda member: EnumMember(type(member), member, None))
