"""Values that are known while tracing: None, booleans, numbers, strings, dtypes, and the like."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.iterators import SequenceIterator

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["LITERALS", "Constant", "is_literal", "wrap_constant"]

LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))


def is_literal(value: Any) -> bool:
    """A value whose class is exactly one of Python's literals."""
    return type(value) in LITERALS


def _is_its_text(value: Any) -> bool:
    """Whether ``repr(value)`` is an expression for it: not for inf and nan, nor for complex numbers with a -0.0."""
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return not isinstance(value, complex)


class Constant(VariableTracker):
    """One known immutable value. Its methods and attributes are run for real."""

    def __init__(self, value: Any, source: Source | None = None) -> None:
        self.value = value
        self.source = source

    def constant(self) -> Any:
        return self.value

    def python_type(self) -> type:
        return type(self.value)

    def describe(self) -> str:
        return self.source.text if self.source is not None else repr(self.value)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        try:
            found = getattr(self.value, name)
        except AttributeError as error:
            raise Raised(error) from None
        if callable(found) and not isinstance(found, type):
            return ConstantMethod(self, name)
        return wrap_constant(found)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        if isinstance(self.value, str | bytes) and key.is_constant:
            return run(lambda: self.value[key.constant()])
        if not hasattr(type(self.value), "__getitem__"):
            raise python_error(TypeError, f"{type(self.value).__name__!r} object is not subscriptable")
        return super().item(tx, key)

    def truth(self, tx: Evaluator) -> bool:
        return bool(self.value)

    def length(self, tx: Evaluator) -> VariableTracker:
        return run(lambda: len(self.value))

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if value.is_constant:
            return run(lambda: value.constant() in self.value)
        return super().contains(tx, value)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        if isinstance(self.value, str | bytes):
            return SequenceIterator([Constant(v) for v in self.value])
        raise python_error(TypeError, f"{type(self.value).__name__!r} object is not iterable")

    def reconstruct(self, emit: Emitter) -> str:
        value = self.value
        if is_literal(value) and _is_its_text(value):
            return "..." if value is Ellipsis else repr(value)
        return emit.constant(value)


class ConstantMethod(VariableTracker):
    """A bound method of a constant: runs for real when its arguments are known."""

    def __init__(self, receiver: Constant, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def python_type(self) -> type:
        return type(getattr(self.receiver.value, self.name))

    def describe(self) -> str:
        return f"{self.receiver.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        method = getattr(self.receiver.value, self.name)
        own = _TEXT_METHODS.get(self.name) if type(self.receiver.value) is str else None
        if own is not None:
            return own(tx, self.receiver.value, args, kwargs)
        values = [a.constant() for a in args]
        named = {k: v.constant() for k, v in kwargs.items()}
        return run(lambda: method(*values, **named))

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.receiver)}.{self.name}"


_TEXT_METHODS: dict[str, Callable[..., VariableTracker]] = {}  # methods of str that take values known only later


def register_text_method(name: str, call: Callable[..., VariableTracker]) -> None:
    """Say what ``text.name(...)`` is: ``call(tx, text, args, kwargs)``."""
    _TEXT_METHODS[name] = call


_CONTAINERS: dict[type, Callable[[list[VariableTracker]], VariableTracker]] = {}  # filled by the families' modules


_ENUM: list[Callable[[Any], VariableTracker]] = []


def register_enum(make: Callable[[Any], VariableTracker]) -> None:
    """Say which tracker a member of an enum has."""
    _ENUM.append(make)


def register_container(kind: type, make: Callable[[list[VariableTracker]], VariableTracker]) -> None:
    """Say which tracker a tuple or list computed from constants has."""
    _CONTAINERS[kind] = make


def wrap_constant(value: Any) -> VariableTracker:
    """The tracker of a result that was computed from constants."""
    if isinstance(value, enum.Enum):
        return _ENUM[0](value)
    make = _CONTAINERS.get(type(value))
    return Constant(value) if make is None else make([wrap_constant(v) for v in value])


def run(compute: Any) -> VariableTracker:
    """Run a computation on constants; what it raises is raised in the traced program.

    What NumPy reports of its scalars is reported by the plain run: a break.
    """
    try:
        with np.errstate(all="raise"):
            return wrap_constant(compute())
    except FloatingPointError as error:
        raise Unsupported("call", str(error)) from None
    except Exception as error:
        raise Raised(error) from None
