"""Python's operators over texts, and ``|`` over classes: each answers None for other operands."""

from __future__ import annotations

import operator
from types import UnionType
from typing import TYPE_CHECKING

from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.deferred import DeferredText, percent
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["of_classes", "of_texts"]


def _is_text(value: VariableTracker) -> bool:
    return isinstance(value, DeferredText) or (isinstance(value, Constant) and type(value.value) is str)


def of_texts(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    for receiver, other, reflected in ((left, right, False), (right, left, True)):
        if isinstance(receiver, DeferredText):
            return receiver.binary(name, other, reflected)
    for text, count in ((left, right), (right, left)):
        if name == "mul" and _is_text(text) and isinstance(count, RunTimeNumber) and count.kind is int:
            return DeferredText("{0} * {1}", [text, count])
    if isinstance(left, Constant) and type(left.value) is str and name == "mod" and not right.is_constant:
        values = [tx.realize(v) for v in right.items] if type(right) is TupleTracker else [right]
        return None if any(isinstance(v, DictTracker) for v in values) else percent(tx, left.value, values)
    if isinstance(left, Constant) and isinstance(left.value, str | bytes) and right.is_constant:
        return run(lambda: getattr(operator, name)(left.value, right.constant()))
    return None


def of_classes(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    """``int | None``: a union of classes."""
    if name != "or_" or not (_is_alternative(left) and _is_alternative(right)):
        return None
    return tx.output.builder.constant_object(tx, left.value | right.value)  # type: ignore[attr-defined]  # they have one


def _is_alternative(value: VariableTracker) -> bool:
    """A class whose own class has nothing to say about ``|``, None, or a union."""
    if isinstance(value, ClassTracker):
        return find_in_class(type(value.value), "__or__") is type.__dict__["__or__"]
    return isinstance(value, Constant) and (value.value is None or isinstance(value.value, UnionType | type))
