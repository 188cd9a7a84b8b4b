"""Instances of classes of the user: attributes by need, writes recorded and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from types import MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import AttributeEffect
from jitmagic.tracer.guards import DictSource, Source
from jitmagic.tracer.guards.kinds import class_attribute_guard, missing_key_guard
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.attribute_tables import AttributesTracker
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker, python_error, type_name
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.dataclass_methods import refuse_frozen
from jitmagic.tracer.variables.descriptors import (
    MISSING,
    find_in_class,
    guard_protocol,
    is_data,
    read_entry,
    write_entry,
)
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.iterators import IteratorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["MISSING", "ObjectTracker", "OpaqueTracker", "find_in_class"]


def _refusal_of_in() -> str:
    """What ``in`` says of something that holds nothing; the words depend on the version."""
    try:
        return str(None in object())  # type: ignore[operator]  # so it raises
    except TypeError as error:
        return str(error)


NO_CONTAINER = _refusal_of_in()
PLAIN_READS = (
    *(object.__getattribute__, BaseException.__getattribute__, SimpleNamespace.__getattribute__),
    *(int.__getattribute__, float.__getattribute__, str.__getattribute__),  # of members of an IntEnum or StrEnum
)
PLAIN_WRITES = (
    *(object.__setattr__, BaseException.__setattr__, SimpleNamespace.__setattr__),
    *(object.__delattr__, BaseException.__delattr__, SimpleNamespace.__delattr__),
)


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
        self.reinserted: set[str] = set()  # attributes from outside that were deleted and set again: they come last

    def python_type(self) -> type:
        return self.cls

    def real_object(self) -> Any:
        return NO_OBJECT if self.value is None else self.value

    @property
    def contents(self) -> Source:
        """What the attributes of an instance from outside are read from."""
        assert self.source is not None
        return self.source

    @property
    def has_plain_table(self) -> bool:
        """Whether its attributes are read from ``__dict__`` and nowhere else."""
        return type(self).own is ObjectTracker.own

    def truth(self, tx: Evaluator) -> bool:
        for name in ("__bool__", "__len__"):
            method = self.class_attribute(tx, name)
            if method is not None:
                return tx.truth(method.call(tx, [self], {}))
        return True

    # -- the class
    def guarded_entry(self, tx: Evaluator, name: str) -> Any:
        """What the class's MRO holds under ``name``, or MISSING; the entry of the next call must be the same."""
        found = find_in_class(self.cls, name)
        if self.source is not None:
            tx.output.guards.add(class_attribute_guard(self.source, self.cls, name, found))
        else:
            tx.output.builder.guard_held_class(self.cls, name)
        guard_protocol(tx, found)
        return found

    def class_attribute(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """The class's entry for ``name``, unbound and guarded; None if no class of the MRO has one."""
        found = self.guarded_entry(tx, name)
        if found is MISSING:
            return None
        return tx.output.builder.class_entry(tx, self.cls, name, found)

    # -- reads
    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        """By the class's ``__getattribute__``, then by its ``__getattr__``."""
        if name == "__class__":
            return tx.output.builder.constant_object(tx, self.cls)
        try:
            if self.guarded_entry(tx, "__getattribute__") in PLAIN_READS:
                return self.read(tx, name)
            return self._by_own_rule(tx, "__getattribute__", [Constant(name)], f"{self.describe()}.{name}")
        except Raised as raised:
            if not isinstance(raised.error, AttributeError):
                raise
            return self.fall_back(tx, name, raised)

    def fall_back(self, tx: Evaluator, name: str, raised: Raised) -> VariableTracker:
        """By the class's ``__getattr__``, after ``raised`` said that nothing else has the attribute."""
        method = self.class_attribute(tx, "__getattr__")
        if method is None:
            raise raised
        return method.call(tx, [self, Constant(name)], {})

    def _by_own_rule(self, tx: Evaluator, name: str, args: Sequence[VariableTracker], detail: str) -> VariableTracker:
        method = self.class_attribute(tx, name)
        if not isinstance(method, FunctionTracker):
            raise Unsupported("attribute", detail)
        return method.call(tx, [self, *args], {})

    def read(self, tx: Evaluator, name: str) -> VariableTracker:
        """``object.__getattribute__(self, name)``."""
        if name == "__dict__" and self.cls.__dictoffset__:
            return AttributesTracker(tx, self)
        place = self._place_in_class(tx, name)
        entry = self.guarded_entry(tx, name) if place is None else find_in_class(self.cls, name)
        if is_data(entry):
            return read_entry(tx, self, name, entry)
        own = self.own(tx, name)
        if own is not None:
            return own
        pending = tx.output.builder.pending_in_class(self.cls, name)
        if pending is not None:
            return tx.realize(pending)
        if entry is MISSING:
            raise self.absent(name)
        if place is not None:
            return tx.output.builder.wrap(tx, entry, place)
        return read_entry(tx, self, name, entry)

    def _place_in_class(self, tx: Evaluator, name: str) -> Source | None:
        """Where the class's own data of this name are read at each call, if a call of the function replaces them."""
        if not any(f"{base.__name__}.{name}" in tx.output.state.written for base in self.cls.__mro__):
            return None
        held = tx.output.constant_source(self.cls, self.cls.__name__)
        return tx.output.builder.data_source(self.cls, name, find_in_class(self.cls, name), held)

    def own(self, tx: Evaluator, name: str) -> VariableTracker | None:
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
            return tx.output.builder.wrap(tx, own[name], DictSource(self.contents, name))
        tx.output.guards.add(missing_key_guard(self.contents, name))
        return None

    def absent(self, name: str) -> Raised:
        return python_error(AttributeError, f"{type_name(self.cls)!r} object has no attribute {name!r}")

    # -- writes
    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        if self.guarded_entry(tx, "__setattr__") in PLAIN_WRITES:
            self.store(tx, name, value)
        elif not refuse_frozen(self.cls, name, "assign to"):
            self._by_own_rule(tx, "__setattr__", [Constant(name), value], f"{self.describe()}.{name} = ...")

    def delete_attribute(self, tx: Evaluator, name: str) -> None:
        if self.guarded_entry(tx, "__delattr__") in PLAIN_WRITES:
            self.remove(tx, name)
        elif not refuse_frozen(self.cls, name, "delete"):
            self._by_own_rule(tx, "__delattr__", [Constant(name)], f"del {self.describe()}.{name}")

    def store(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        """``object.__setattr__(self, name, value)``."""
        entry = self._entry_for_writing(tx, name)
        if write_entry(tx, self, name, entry, value):
            return
        if self.pending.get(name, value) is None:
            del self.pending[name]
            self.reinserted.add(name)
        self.pending[name] = value
        if self.source is not None:
            tx.output.add_effect(AttributeEffect(self, name, value, span=tx.span))

    def remove(self, tx: Evaluator, name: str) -> None:
        """``object.__delattr__(self, name)``."""
        entry = self._entry_for_writing(tx, name)
        if write_entry(tx, self, name, entry, None):
            return
        if isinstance(entry, MemberDescriptorType):
            self._read_to_delete(tx, name, entry)
        elif self.own(tx, name) is None:
            raise self.absent(name)
        if self.value is None:
            del self.pending[name]
            return
        self.pending[name] = None
        if self.source is not None:
            tx.output.add_effect(AttributeEffect(self, name, None, span=tx.span))

    def _read_to_delete(self, tx: Evaluator, name: str, slot: MemberDescriptorType) -> None:
        """The error of deleting from an empty slot holds nothing but its name."""
        try:
            read_entry(tx, self, name, slot)
        except Raised as raised:
            raise python_error(type(raised.error), name) from None

    def _entry_for_writing(self, tx: Evaluator, name: str) -> Any:
        entry = self.guarded_entry(tx, name)
        if not self.cls.__dictoffset__ and not is_data(entry):
            raise Unsupported("store", f"{self.describe()}.{name} = ...")
        return entry

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
        found = self._special(tx, "__getitem__", [key])
        if found is None:
            raise self._lacks("object is not subscriptable")
        return found

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        if self._special(tx, "__setitem__", [key, value]) is None:
            raise self._lacks("object does not support item assignment")

    def delete_item(self, tx: Evaluator, key: VariableTracker) -> None:
        if self._special(tx, "__delitem__", [key]) is None:
            raise self._lacks("object doesn't support item deletion")

    def length(self, tx: Evaluator) -> VariableTracker:
        found = self._special(tx, "__len__", [])
        if found is None:
            raise python_error(TypeError, f"object of type {self.cls.__name__!r} has no len()")
        return found

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        found = self._special(tx, "__contains__", [value])
        if found is not None:
            return Constant(tx.truth(found))
        if all(self.class_attribute(tx, name) is None for name in ("__iter__", "__getitem__")):
            raise python_error(TypeError, NO_CONTAINER.replace("object", self.cls.__name__))
        iterator = self.iterate(tx)
        while (item := iterator.next_item(tx)) is not None:
            if tx.same_or_equal(item, value):
                return Constant(True)
        return Constant(False)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        found = self._special(tx, "__iter__", [])
        if found is not None:
            return tx.realize(found)
        if self.class_attribute(tx, "__getitem__") is None:
            raise self._lacks("object is not iterable")
        return ItemIterator(self)

    def _lacks(self, what: str) -> Raised:
        return python_error(TypeError, f"{self.cls.__name__!r} {what}")

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        try:
            found = self._special(tx, "__next__", [])
        except Raised as raised:
            if isinstance(raised.error, StopIteration):
                return None
            raise
        return super().next_item(tx) if found is None else tx.realize(found)

    def reconstruct(self, emit: Emitter) -> str:
        """An instance made during the trace: a bare object of the class, then its attributes."""
        name = emit.temporary()
        emit.remember(self, name)
        cls = emit.constant(self.cls)
        if find_in_class(self.cls, "__new__") in (object.__new__, SimpleNamespace.__new__):
            emit.line(f"{name} = {cls}.__new__({cls})")
        elif object in self.cls.__bases__ or isinstance(find_in_class(self.cls, "__new__"), staticmethod):
            emit.line(f"{name} = new_object({cls})")
        else:
            raise Unsupported("call", f"passing on a {self.cls.__name__}")
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


class ItemIterator(IteratorTracker):
    """Over an object that only has ``__getitem__``: indices from 0 until IndexError."""

    def __init__(self, owner: ObjectTracker) -> None:
        self.owner = owner
        self.index = 0

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        try:
            found = tx.realize(self.owner.item(tx, Constant(self.index)))
        except Raised as raised:
            if isinstance(raised.error, IndexError | StopIteration):
                return None
            raise
        self.index += 1
        return found
