"""Classes defined during the trace, and the descriptors that their bodies make.

A class of the trace is backed by a real class of the same name, bases and layout, so that everything which asks for
an MRO works; its functions are placeholders that the builder maps back to trackers. That class never leaves the trace:
where one does, the program makes it anew in every call, with functions that share the cells of that call.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.functions import FunctionTracker, NestedFunction
from jitmagic.tracer.variables.sequences import SequenceTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["DESCRIPTOR_CALLS", "DescriptorTracker", "NestedClass", "placeholder"]


class NestedClass(ClassTracker):
    """A class defined during the trace. ``entries`` is what its body has bound, ``about`` what Python adds to that."""

    def __init__(
        self, value: type, about: dict[str, Any], entries: dict[str, VariableTracker], *, is_whole: bool
    ) -> None:
        super().__init__(value, None)
        self.about = about
        self.entries = entries
        self.is_whole = is_whole

    def constant(self) -> Any:
        raise NotConstant

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "__annotations__":
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return super().attribute(tx, name)

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        setattr(self.value, name, placeholder(tx, value))
        self.entries[name] = value

    def reconstruct(self, emit: Emitter) -> str:
        """The class with all its names, which get their values once methods can refer to it."""
        if not self.is_whole:
            raise Unsupported("call", f"passing on the class {self.value.__name__}, which was defined here")
        name = emit.temporary()
        emit.remember(self, name)
        bases = "".join(f"{emit.constant(base)}, " for base in self.value.__bases__)
        texts = {k: repr(v) for k, v in self.about.items()}
        last = {k: texts.pop(k) for k in _WRITTEN_LAST if k in texts}
        names = ", ".join(f"{k!r}: {v}" for k, v in {**texts, **dict.fromkeys(self.entries, "None"), **last}.items())
        emit.line(f"{name} = type({self.value.__name__!r}, ({bases}), {{{names}}})")
        for key, value in self.entries.items():
            kind = _WRAPPED.get(key, "") if isinstance(emit.tx.realize(value), FunctionTracker | NestedFunction) else ""
            emit.line(f"{name}.{key} = {kind}({emit.value(value)})")
        return name


_WRAPPED = {"__new__": "staticmethod", "__init_subclass__": "classmethod", "__class_getitem__": "classmethod"}
_WRITTEN_LAST = ("__static_attributes__",)


class Held:
    """Stands in a real class for a value that only the trace knows."""


class DescriptorTracker(VariableTracker):
    """``property``, ``staticmethod`` or ``classmethod`` around functions of the trace."""

    def __init__(self, kind: type, functions: Sequence[VariableTracker]) -> None:
        self.kind = kind
        self.functions = list(functions)

    def python_type(self) -> type:
        return self.kind

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        names = ("getter", "setter", "deleter")
        if self.kind is property and name in names:
            return DescriptorChange(self, names.index(name))
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def reconstruct(self, emit: Emitter) -> str:
        return f"{self.kind.__name__}({', '.join(emit.value(f) for f in self.functions)})"


class DescriptorChange(VariableTracker):
    """``prop.setter`` and its kin, not called yet."""

    def __init__(self, base: DescriptorTracker, position: int) -> None:
        self.base = base
        self.position = position

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        functions: list[VariableTracker] = [*self.base.functions, *[Constant(None)] * 3][:3]
        functions[self.position] = args[0]
        return DescriptorTracker(property, functions)


def _make(kind: type) -> Any:
    def call(tx: Evaluator, *functions: VariableTracker) -> VariableTracker:
        return DescriptorTracker(kind, functions)

    return call


DESCRIPTOR_CALLS: dict[Any, Any] = {kind: _make(kind) for kind in (property, staticmethod, classmethod)}


def placeholder(tx: Evaluator, value: VariableTracker) -> Any:
    """What stands in the real class for ``value``."""
    value = tx.realize(value)
    if isinstance(value, DescriptorTracker):
        return value.kind(*(placeholder(tx, f) for f in value.functions))
    if isinstance(value, FunctionTracker):
        return value.function
    if value.is_constant and _never_changes(tx, value):
        return value.constant()
    if isinstance(value, NestedFunction):
        closure = tuple(_empty_cell() for _ in value.code.co_freevars)
        made: Any = FunctionType(value.code, value.owner.globals, value.code.co_name, None, closure)
    else:
        if hasattr(value.python_type(), "__get__") or hasattr(value.python_type(), "__set_name__"):
            raise Unsupported("statement", f"a class whose body makes a {value.python_type().__name__}")
        made = Held()
    tx.output.builder.stand_ins[id(made)] = (made, value)
    return made


def _never_changes(tx: Evaluator, value: VariableTracker) -> bool:
    """A list in the real class would be the same one in every call."""
    if isinstance(value, SequenceTracker):
        return value.immutable and all(_never_changes(tx, tx.realize(item)) for item in value.items)
    return value.immutable or isinstance(value, EnumMember)


def _empty_cell() -> Any:
    return (lambda value: lambda: value)(None).__closure__[0]  # type: ignore[index] # it closes over one variable
