"""Named tuples: tuples with a class, names for their items, and the methods that ``collections.namedtuple`` writes."""

from __future__ import annotations

import collections
import typing
from collections.abc import Iterable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.descriptors import MISSING, find_in_class
from jitmagic.tracer.variables.functions import BoundMethod
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["NamedTupleTracker", "has_stock_text", "is_named_tuple_class", "is_stock"]

_Sample: Any = collections.namedtuple("_Sample", "field")


class _Annotated(typing.NamedTuple):
    """A docstring is an entry as well."""

    field: int = 0


_FIELD: Any = type(_Sample.field)
_TEXTS = frozenset({"__repr__", "__str__", "__format__"})  # asked for when a text is wanted
# Methods of the user's that ``operators`` asks for.
_OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos", "and", "or", "xor")
    for prefix in ("", "r")
)
_STOCK = _OPERATORS | _TEXTS.union(
    vars(_Sample), vars(_Annotated), ("__annotate__", "__annotate_func__", "__annotations_cache__")
)


def is_named_tuple_class(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


def is_stock(cls: type) -> bool:
    """Whether every operation on instances is that of a tuple; methods with plain names are asked for by name."""
    names = (name for base in cls.__mro__[:-1] if base not in (tuple, typing.Generic) for name in base.__dict__)
    return all(name in _STOCK or not name.startswith("__") for name in names) and _is_written(cls)


def _is_written(cls: type) -> bool:
    """Whether ``namedtuple`` wrote the ``__new__``: it says so among the globals of that."""
    new = find_in_class(cls, "__new__")
    function = getattr(new, "__func__", new)
    name = function.__globals__.get("__name__") if isinstance(function, FunctionType) else None
    return isinstance(name, str) and name.startswith("namedtuple_")


def has_stock_text(cls: type) -> bool:
    """Whether ``str``, ``repr`` and ``format`` show the class and the items by name."""
    return _is_own(cls, "__repr__") and all(
        find_in_class(cls, name) is find_in_class(tuple, name) for name in ("__str__", "__format__")
    )


def _is_own(cls: type, name: str) -> bool:
    """Whether the method is the one that every named tuple gets."""
    entry = find_in_class(cls, name)
    return isinstance(entry, FunctionType) and entry.__code__ is _Sample.__dict__[name].__code__


class NamedTupleTracker(TupleTracker):
    """A named tuple: a tuple with its class and field names."""

    def __init__(self, cls: type, items: Iterable[VariableTracker], source: Source | None = None) -> None:
        super().__init__(items, source)
        self.cls = cls

    def python_type(self) -> type:
        return self.cls

    def own_method(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """A special method that the class, not ``tuple``, defines."""
        tx.output.builder.guard_held_class(self.cls, name)
        entry = find_in_class(self.cls, name)
        return tx.output.builder.constant_object(tx, entry) if isinstance(entry, FunctionType) else None

    def constant(self) -> Any:
        return self.cls(*(v.constant() for v in self.items))

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        entry = find_in_class(self.cls, name)
        tx.output.builder.guard_held_class(self.cls, name)
        if type(entry) is _FIELD:
            return tx.realize(self.items[entry.__reduce__()[1][0]])
        if name == "_fields" and type(entry) is tuple:
            return TupleTracker([Constant(f) for f in entry])
        if name in ("_replace", "_asdict") and _is_own(self.cls, name):
            return NamedTupleMethod(self, name)
        if isinstance(entry, classmethod):
            held = tx.output.builder.constant_object
            return BoundMethod(held(tx, entry.__func__), held(tx, self.cls))
        if name == "_field_defaults" and type(entry) is dict:
            return tx.output.builder.class_entry(tx, self.cls, name, entry)
        if isinstance(entry, FunctionType | property) and not name.startswith("__"):
            held = tx.output.builder.constant_object
            if isinstance(entry, property):
                return held(tx, entry.fget).call(tx, [self], {})
            return BoundMethod(held(tx, entry), self)
        if entry is not MISSING and entry is not find_in_class(tuple, name):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return super().attribute(tx, name)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.constant(self.cls)}({', '.join(emit.value(v) for v in self.items)})"


class NamedTupleMethod(VariableTracker):
    """``_replace`` or ``_asdict``, not called yet."""

    def __init__(self, receiver: NamedTupleTracker, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        fields: tuple[str, ...] = self.receiver.cls._fields  # type: ignore[attr-defined] # a named tuple has them
        tx.output.builder.guard_held_class(self.receiver.cls, "_fields")
        if len(fields) != len(self.receiver.items):
            raise Unsupported("call", f"{self.name}() with other fields")
        values = dict(zip(fields, self.receiver.items, strict=True))
        if args or any(k not in values for k in kwargs):
            written = tx.output.builder.constant_object(tx, find_in_class(self.receiver.cls, self.name))
            return written.call(tx, [self.receiver, *args], kwargs)  # which says what is wrong
        if self.name == "_asdict":
            return tx.language.builtins[dict](tx, **values)
        return NamedTupleTracker(self.receiver.cls, {**values, **kwargs}.values())
