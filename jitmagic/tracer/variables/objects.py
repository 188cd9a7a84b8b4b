"""Instances of classes of the user: attributes by need, writes recorded and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import AttributeEffect
from jitmagic.tracer.guards import AttributeSource, DictSource, Source
from jitmagic.tracer.guards.kinds import class_attribute_guard, missing_key_guard
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import BoundMethod

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["ObjectTracker", "OpaqueTracker", "find_in_class"]

MISSING: Any = object()


def find_in_class(cls: type, name: str) -> Any:
    """The entry of the first class of the MRO that has ``name``, as it stands in that class's dict."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


class ObjectTracker(VariableTracker):
    """An instance. ``value`` is the real object, or None for one made during the trace.

    Reads follow Python: data descriptors of the class, the instance's own dict, other class attributes,
    ``__getattr__``. Pending writes come before what the object holds.
    """

    immutable = False

    def __init__(self, cls: type, value: Any, source: Source | None) -> None:
        self.cls = cls
        self.value = value
        self.source = source
        self.pending: dict[str, VariableTracker | None] = {}

    def python_type(self) -> type:
        return self.cls

    def real_object(self) -> Any:
        return NO_OBJECT if self.value is None else self.value

    def truth(self, tx: Evaluator) -> bool:
        for name in ("__bool__", "__len__"):
            method = self.class_attribute(tx, name)
            if method is not None:
                return tx.truth(method.call(tx, [self], {}))
        return True

    # -- the class
    def class_attribute(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """The class's entry for ``name``, unbound and guarded; None if no class of the MRO has one."""
        found = find_in_class(self.cls, name)
        if self.source is not None:
            tx.output.guards.add(class_attribute_guard(self.source, self.cls, name, found))
        if found is MISSING:
            return None
        return tx.output.builder.class_entry(tx, self.cls, name, found)

    # -- reads
    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "__class__":
            return tx.output.builder.constant_object(tx, self.cls)
        if find_in_class(self.cls, "__getattribute__") is not object.__getattribute__:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        entry = find_in_class(self.cls, name)
        if self.source is not None:
            tx.output.guards.add(class_attribute_guard(self.source, self.cls, name, entry))
        if isinstance(entry, property):
            return self._property(tx, name, entry)
        if isinstance(entry, MemberDescriptorType):
            return self._slot(tx, name)
        if hasattr(type(entry), "__set__"):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        own = self._own(tx, name)
        if own is not None:
            return own
        if entry is not MISSING:
            return self._bind(tx, name, entry)
        return self._missing(tx, name)

    def _property(self, tx: Evaluator, name: str, entry: property) -> VariableTracker:
        getter = entry.fget
        if not isinstance(getter, FunctionType):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return tx.output.builder.constant_object(tx, getter).call(tx, [self], {})

    def _slot(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in self.pending:
            pending = self.pending[name]
            if pending is None:
                raise self._absent(name)
            return tx.realize(pending)
        if self.value is None or not hasattr(self.value, name) or self.source is None:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return tx.output.builder.wrap(tx, getattr(self.value, name), AttributeSource(self.source, name))

    def _own(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """From the instance's own dict, pending writes first."""
        if name in self.pending:
            pending = self.pending[name]
            return None if pending is None else tx.realize(pending)
        if self.value is None or self.source is None:
            return None
        own = getattr(self.value, "__dict__", None)
        if own is None:
            return None
        if name in own:
            return tx.output.builder.wrap(tx, own[name], DictSource(self.source, name))
        tx.output.guards.add(missing_key_guard(self.source, name))
        return None

    def _bind(self, tx: Evaluator, name: str, entry: Any) -> VariableTracker:
        builder = tx.output.builder
        if isinstance(entry, staticmethod):
            return builder.constant_object(tx, entry.__func__)
        if isinstance(entry, classmethod):
            return BoundMethod(builder.constant_object(tx, entry.__func__), builder.constant_object(tx, self.cls))
        if isinstance(entry, FunctionType):
            return BoundMethod(builder.class_entry(tx, self.cls, name, entry), self)
        if hasattr(type(entry), "__get__"):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return builder.class_entry(tx, self.cls, name, entry)

    def _missing(self, tx: Evaluator, name: str) -> VariableTracker:
        method = self.class_attribute(tx, "__getattr__")
        if method is not None:
            return method.call(tx, [self, Constant(name)], {})
        raise self._absent(name)

    def _absent(self, name: str) -> BaseException:
        error = python_error(AttributeError, f"{self.cls.__name__!r} object has no attribute {name!r}")
        error.error.name = name  # type: ignore[attr-defined]
        return error

    # -- writes
    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        self._check_writable(tx, name)
        self.pending[name] = value
        if self.source is not None:
            tx.output.add_effect(AttributeEffect(self, name, value, span=tx.span))

    def delete_attribute(self, tx: Evaluator, name: str) -> None:
        self._check_writable(tx, name)
        if self._own(tx, name) is None:
            raise self._absent(name)
        self.pending[name] = None
        if self.source is not None:
            tx.output.add_effect(AttributeEffect(self, name, None, span=tx.span))

    def _check_writable(self, tx: Evaluator, name: str) -> None:
        """Only plain attribute storage is recorded; rules of the class's own run as plain Python."""
        entry = find_in_class(self.cls, name)
        own_rule = find_in_class(self.cls, "__setattr__") is not object.__setattr__
        own_rule = own_rule or find_in_class(self.cls, "__delattr__") is not object.__delattr__
        if own_rule or (hasattr(type(entry), "__set__") and not isinstance(entry, MemberDescriptorType)):
            raise Unsupported("store", f"{self.describe()}.{name} = ...")
        if self.value is not None and not hasattr(self.value, "__dict__") and entry is MISSING:
            raise self._absent(name)
        if self.source is not None:
            tx.output.guards.add(class_attribute_guard(self.source, self.cls, "__setattr__", object.__setattr__))
            tx.output.guards.add(class_attribute_guard(self.source, self.cls, name, entry))

    # -- other operations go through the class's methods
    def _special(self, tx: Evaluator, name: str, args: Sequence[VariableTracker]) -> VariableTracker | None:
        method = self.class_attribute(tx, name)
        return None if method is None else method.call(tx, [self, *args], {})

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        method = self.class_attribute(tx, "__call__")
        if method is None:
            raise python_error(TypeError, f"{self.cls.__name__!r} object is not callable")
        return method.call(tx, [self, *args], kwargs)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        return self._special(tx, "__getitem__", [key]) or super().item(tx, key)

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        if self._special(tx, "__setitem__", [key, value]) is None:
            super().set_item(tx, key, value)

    def length(self, tx: Evaluator) -> VariableTracker:
        return self._special(tx, "__len__", []) or super().length(tx)

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        found = self._special(tx, "__contains__", [value])
        return super().contains(tx, value) if found is None else Constant(tx.truth(found))

    def iterate(self, tx: Evaluator) -> VariableTracker:
        found = self._special(tx, "__iter__", [])
        return super().iterate(tx) if found is None else found

    def reconstruct(self, emit: Emitter) -> str:
        """An instance made during the trace: a bare object of the class, then its attributes."""
        name = emit.temporary()
        emit.remember(self, name)
        emit.line(f"{name} = new_object({emit.constant(self.cls)})")
        for key, value in self.pending.items():
            if value is not None:
                emit.line(f"object.__setattr__({name}, {key!r}, {emit.value(value)})")
        return name


class OpaqueTracker(VariableTracker):
    """A value that can be passed on and compared by identity, but not looked into; ``code`` says why."""

    immutable = False

    def __init__(self, value: Any, source: Source | None, code: str, detail: str) -> None:
        self.value = value
        self.source = source
        self.code = code
        self.detail = detail

    def python_type(self) -> type:
        return type(self.value)

    def real_object(self) -> Any:
        return self.value

    def _refuse(self) -> Unsupported:
        return Unsupported(self.code, self.detail)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        raise self._refuse()

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        raise self._refuse()

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        raise self._refuse()

    def truth(self, tx: Evaluator) -> bool:
        raise self._refuse()

    def iterate(self, tx: Evaluator) -> VariableTracker:
        raise self._refuse()

    def reconstruct(self, emit: Emitter) -> str:
        return emit.constant(self.value)
