"""What class entries do when read or written through an instance: properties, slots, methods, own descriptors."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import AttributeSource
from jitmagic.tracer.guards.caches import cache_wrapper
from jitmagic.tracer.guards.contents import empty_slot_guard
from jitmagic.tracer.variables.base import VariableTracker, python_error, read_attribute
from jitmagic.tracer.variables.functions import BoundMethod, FunctionTracker
from jitmagic.tracer.variables.partials import PartialTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["HEAP_TYPE", "MISSING", "find_in_class", "guard_protocol", "is_data", "read_entry", "write_entry"]

MISSING: Any = object()
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class whose entries can be changed


def find_in_class(cls: type, name: str) -> Any:
    """The entry of the first class of the MRO that has ``name``, as it stands in that class's dict."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def is_data(entry: Any) -> bool:
    """Whether the entry comes before the instance's own attributes."""
    return entry is not MISSING and (hasattr(type(entry), "__set__") or hasattr(type(entry), "__delete__"))


def guard_protocol(tx: Evaluator, entry: Any) -> None:
    """Whether a class's entry is a descriptor is up to its own class, which may be given methods later."""
    kind = type(entry)
    if entry is not MISSING and kind not in _READ and kind.__flags__ & HEAP_TYPE:
        for name in ("__get__", "__set__", "__delete__"):
            tx.output.builder.guard_held_class(kind, name)


def read_entry(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    """``owner.name`` where the class's entry answers."""
    read = _READ.get(type(entry))
    if read is not None:
        return read(tx, owner, name, entry)
    if not hasattr(type(entry), "__get__"):
        return tx.output.builder.class_entry(tx, owner.cls, name, entry)
    if isinstance(find_in_class(type(entry), "__get__"), FunctionType):
        return _read_own(tx, owner, name, entry)
    raise Unsupported("attribute", f"{owner.describe()}.{name}")


def _read_own(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    """A descriptor of the user: its ``__get__`` is traced."""
    builder = tx.output.builder
    descriptor = builder.class_entry(tx, owner.cls, name, entry)
    return _special(tx, descriptor, "__get__").call(tx, [descriptor, owner, builder.constant_object(tx, owner.cls)], {})


def _special(tx: Evaluator, descriptor: VariableTracker, name: str) -> VariableTracker:
    method = descriptor.class_attribute(tx, name)
    if method is None:
        raise Unsupported("attribute", f"{descriptor.describe()}.{name}")
    return method


def _read_property(tx: Evaluator, owner: ObjectTracker, name: str, entry: property) -> VariableTracker:
    if entry.fget is None:
        raise python_error(AttributeError, f"property {name!r} of {owner.cls.__qualname__!r} object has no getter")
    return tx.output.builder.constant_object(tx, entry.fget).call(tx, [owner], {})


def _read_slot(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    if name in owner.pending:
        pending = owner.pending[name]
        if pending is None:
            raise owner.absent(name)
        return tx.realize(pending)
    if owner.value is None:
        raise owner.absent(name)
    plain = owner.guarded_entry(tx, "__getattr__") is MISSING
    if plain and owner.source is not None and not hasattr(owner.value, name):
        tx.output.guards.add(empty_slot_guard(owner.source, name))
        raise owner.absent(name)
    if owner.source is None or not plain:
        raise Unsupported("attribute", f"{owner.describe()}.{name}")
    return tx.output.builder.wrap(tx, getattr(owner.value, name), AttributeSource(owner.source, name))


def _read_enum(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    if name not in ("name", "value") or owner.value is None:
        raise Unsupported("attribute", f"{owner.describe()}.{name}")
    return owner.read(tx, f"_{name}_")


def _read_cached(
    tx: Evaluator, owner: ObjectTracker, name: str, entry: functools.cached_property[Any]
) -> VariableTracker:
    made = tx.realize(tx.output.builder.constant_object(tx, entry.func).call(tx, [owner], {}))
    owner.store(tx, entry.attrname or name, made)
    return made


def _read_partial(
    tx: Evaluator, owner: ObjectTracker, name: str, entry: functools.partialmethod[Any]
) -> VariableTracker:
    """``functools.partialmethod`` of a function: a partial of the method."""
    if not isinstance(entry.func, FunctionType):
        raise Unsupported("attribute", f"{owner.describe()}.{name}")
    held = tx.output.builder.class_entry(tx, owner.cls, name, entry)
    function, args, named = (read_attribute(tx, held, part) for part in ("func", "args", "keywords"))
    known = {str(k.constant()): tx.realize(named.item(tx, k)) for k in tx.unpack(named)}
    return PartialTracker(BoundMethod(function, owner), tx.unpack(args), known)


def _read_dispatched(
    tx: Evaluator, owner: ObjectTracker, name: str, entry: functools.singledispatchmethod[Any]
) -> VariableTracker:
    held = tx.output.builder.class_entry(tx, owner.cls, name, entry)
    if owner.value is not None and owner.guarded_entry(tx, "__hash__") is object.__hash__:
        entry.__get__(owner.value, owner.cls)  # from Python 3.13 on the method is kept, at the first time
    return DispatchedMethod(read_attribute(tx, held, "dispatcher"), owner)


class DispatchedMethod(VariableTracker):
    """A method of ``functools.singledispatchmethod``, not called yet."""

    def __init__(self, dispatcher: VariableTracker, owner: ObjectTracker) -> None:
        self.dispatcher = dispatcher
        self.owner = owner

    def describe(self) -> str:
        return f"{self.dispatcher.describe()} of {self.owner.describe()}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        dispatcher = self.dispatcher
        chosen = dispatcher.dispatched(tx, args[0]) if isinstance(dispatcher, FunctionTracker) and args else None
        if not isinstance(chosen, FunctionTracker):
            raise Unsupported("call", self.describe())
        return BoundMethod(chosen, self.owner).call(tx, args, kwargs)


def _read_static(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    return tx.output.builder.constant_object(tx, entry.__func__)


def _read_class(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    builder = tx.output.builder
    return BoundMethod(builder.constant_object(tx, entry.__func__), builder.constant_object(tx, owner.cls))


def _read_method(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any) -> VariableTracker:
    return BoundMethod(tx.output.builder.class_entry(tx, owner.cls, name, entry), owner)


Read = Callable[["Evaluator", "ObjectTracker", str, Any], VariableTracker]
_READ: dict[type, Read] = {
    property: _read_property,
    types.MemberDescriptorType: _read_slot,
    enum.property: _read_enum,
    functools.cached_property: _read_cached,
    functools.partialmethod: _read_partial,
    functools.singledispatchmethod: _read_dispatched,
    staticmethod: _read_static,
    classmethod: _read_class,
    FunctionType: _read_method,
    types.WrapperDescriptorType: _read_method,
    cache_wrapper: _read_method,
    types.MethodDescriptorType: _read_method,
}


def write_entry(tx: Evaluator, owner: ObjectTracker, name: str, entry: Any, value: VariableTracker | None) -> bool:
    """``owner.name = value`` or ``del owner.name`` (None) by a data descriptor; False if it only stores."""
    if not is_data(entry) or isinstance(entry, types.MemberDescriptorType):
        return False
    if isinstance(entry, property):
        _write_property(tx, owner, name, entry, value)
        return True
    special = "__set__" if value is not None else "__delete__"
    if not isinstance(find_in_class(type(entry), special), FunctionType):
        raise Unsupported("store", f"{owner.describe()}.{name} = ...")
    descriptor = tx.output.builder.class_entry(tx, owner.cls, name, entry)
    args = [descriptor, owner] if value is None else [descriptor, owner, value]
    _special(tx, descriptor, special).call(tx, args, {})
    return True


def _write_property(
    tx: Evaluator, owner: ObjectTracker, name: str, entry: property, value: VariableTracker | None
) -> None:
    function = entry.fset if value is not None else entry.fdel
    if function is None:
        what = "setter" if value is not None else "deleter"
        text = f"property {name!r} of {owner.cls.__qualname__!r} object has no {what}"
        raise python_error(AttributeError, text)
    tx.output.builder.constant_object(tx, function).call(tx, [owner] if value is None else [owner, value], {})
