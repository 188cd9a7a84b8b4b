"""Takes guards on modules, says which of them depend only on dicts, class dicts and bases that can be watched.

Every step from one source to the next is read here once, and what it went through is noted.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.nn.module import Module
from jitmagic.nn.replaced import Told
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import (
    ConstantSource,
    DictSource,
    EntrySource,
    InsideSource,
    ItemSource,
    MemberSource,
    OwnDictSource,
    Source,
)
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.stock_methods import is_plain_module_class

__all__ = ["Reach", "class_dict", "is_plain", "sources_of"]

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class whose entries can be changed
_TOLD = {name: Told.__dict__[name] for name in ("__class__", "__dict__")}


class _OutOfReach(Exception):
    """The value at a source may change without anybody knowing."""


def is_plain(value: Any) -> bool:
    """A module with its attributes in a dict of its own and nowhere else, who tells if dict or class is replaced."""
    cls = type(value)
    if not is_plain_module_class(cls) or type(value.__dict__) is not dict:
        return False
    return all(find_in_class(cls, name) is entry for name, entry in _TOLD.items())


def sources_of(guard: Guard) -> tuple[Source, ...]:
    return (guard.source, *guard.others)


@dataclass(slots=True)
class Reach:
    """What can be read from the ``tied`` modules with everything on the way watched."""

    tied: dict[Source, weakref.ref[Module]]
    constants: Sequence[Any]
    dicts: dict[int, dict[Any, Any]] = field(default_factory=dict)
    places: dict[Source, dict[Any, Any]] = field(default_factory=dict)  # where those dicts were found
    classes: dict[type, tuple[type, ...]] = field(default_factory=dict)  # with the bases that lookups went through
    roots: set[Source] = field(default_factory=set)  # tied modules that are read from something unknown
    arrays: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    _known: dict[Source, Any] = field(default_factory=dict)

    def again(self) -> Reach:
        """The same from the start."""
        return Reach(self.tied, self.constants)

    def value(self, source: Source) -> Any:
        """Raises _OutOfReach."""
        if source not in self._known:
            try:
                self._known[source] = self._read(source)
            except (_OutOfReach, LookupError):
                self._known[source] = _OutOfReach
        found = self._known[source]
        if found is _OutOfReach:
            raise _OutOfReach
        return found

    def _read(self, source: Source) -> Any:
        step = _STEPS.get(type(source))
        if step is not None:
            try:
                return step(self, source)
            except (_OutOfReach, LookupError):
                pass
        found = self.tied[source]()
        if found is None:
            raise _OutOfReach
        self.roots.add(source)
        return found

    def watch(self, place: Source, found: Any) -> Any:
        """The dict at ``place``, watched."""
        if type(found) is not dict:
            raise _OutOfReach
        self.dicts[id(found)] = self.places[place] = found
        return found

    def own_dict(self, source: Source) -> Any:
        """The dict of the module at ``source``."""
        module = self.value(source)
        if not is_plain(module):
            raise _OutOfReach
        return self.watch(OwnDictSource(source), module.__dict__)

    def watch_class(self, cls: type) -> None:
        """Every lookup in ``cls`` depends on its bases and on what each of them holds."""
        for base in cls.__mro__:
            if base.__flags__ & _HEAP_TYPE and base not in self.classes:
                found = class_dict(base)
                self.dicts[id(found)] = found
                self.classes[base] = base.__mro__

    def covers(self, guard: Guard) -> bool:
        """Whether the outcome depends on nothing but what is watched; then it is."""
        test = _COVERED.get(guard.kind)
        try:
            held = test is not None and test(self, guard)
        except _OutOfReach:
            return False
        return held and not (guard.source in self.roots and guard.kind in ("ID_MATCH", "TYPE_MATCH"))

    def forget(self) -> None:
        """Let go of the values that were read, modules among them."""
        self._known.clear()

    @property
    def is_same_classes(self) -> bool:
        return all(cls.__mro__ is mro for cls, mro in self.classes.items())


def class_dict(cls: type) -> dict[str, Any]:
    """The dict behind the view that ``cls.__dict__`` is."""
    found = gc.get_referents(cls.__dict__)[0]
    if type(found) is not dict:
        raise _OutOfReach
    return found


# ---------------------------------------------------------------- steps from one source to the next


def _constant(reach: Reach, source: ConstantSource) -> Any:
    return reach.constants[source.index]


def _attribute(reach: Reach, source: DictSource) -> Any:
    return reach.own_dict(source.origin)[source.name]


def _class_entry(reach: Reach, source: EntrySource) -> Any:
    cls = reach.value(source.origin)
    if not isinstance(cls, type):
        raise _OutOfReach
    reach.watch_class(cls)
    return cls.__dict__[source.name]


def _item(reach: Reach, source: ItemSource) -> Any:
    container = reach.value(source.origin)
    if type(container) is tuple:
        return container[source.key]
    if type(source.key) not in (str, int):
        raise _OutOfReach
    return reach.watch(source.origin, container)[source.key]


_STEPS: dict[type[Source], Any] = {
    ConstantSource: _constant,
    DictSource: _attribute,
    EntrySource: _class_entry,
    InsideSource: lambda reach, source: reach.value(source.origin),
    ItemSource: _item,
    MemberSource: _item,
}


# ---------------------------------------------------------------- guards, by kind


def _identity(reach: Reach, guard: Guard) -> bool:
    reach.value(guard.source)
    return guard.form == ("is",)


def _type(reach: Reach, guard: Guard) -> bool:
    """Classes of modules change only with notice, those of builtin objects never."""
    value = reach.value(guard.source)
    return is_plain(value) or not type(value).__flags__ & _HEAP_TYPE


def _literal(reach: Reach, guard: Guard) -> bool:
    """Not what a class says of itself."""
    kind = type(reach.value(guard.source))
    return not issubclass(kind, type) and not kind.__flags__ & _HEAP_TYPE


def _lookup(reach: Reach, guard: Guard) -> bool:
    value = reach.value(guard.source)
    if not isinstance(value, type) and not is_plain(value):
        return False
    reach.watch_class(value if isinstance(value, type) else type(value))
    return True


def _absence(reach: Reach, guard: Guard) -> bool:
    value = reach.value(guard.source)
    if type(value) is dict:
        reach.watch(guard.source, value)
    else:
        reach.own_dict(guard.source)
    return True


def _keys(reach: Reach, guard: Guard) -> bool:
    reach.watch(guard.source, reach.value(guard.source))
    return True


def _length(reach: Reach, guard: Guard) -> bool:
    return type(reach.value(guard.source)) is tuple


def _objects(reach: Reach, guard: Guard) -> bool:
    """Which of them are one object."""
    for source in sources_of(guard):
        reach.value(source)
    return not isinstance(guard.constant, frozenset)


def _array(reach: Reach, guard: Guard) -> bool:
    value = reach.value(guard.source)
    if type(value) is not np.ndarray or not isinstance(guard.source, ConstantSource):
        return False
    reach.arrays[id(value)] = value
    return True


_COVERED: dict[str, Any] = {
    "ALIAS": _objects,
    "ARRAY_MATCH": _array,
    "BUILTIN_MATCH": _identity,
    "CLASS_ATTRIBUTE": _lookup,
    "CONSTANT_MATCH": _literal,
    "DICT_KEYS": _keys,
    "ID_MATCH": _identity,
    "LIST_LENGTH": _length,
    "NOT_PRESENT_IN_GENERIC_DICT": _absence,
    "NO_ALIASING": _objects,
    "PYMODULE_MATCH": _identity,
    "TYPE_MATCH": _type,
}
