"""Takes what a trace has asked a class, adds the guards that make the answer the same at the next call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.guards.contents import bases_guard, class_owner_guard, owner_of, special_methods_guard
from jitmagic.tracer.guards.holding import is_library
from jitmagic.tracer.guards.source import DictSource, Source
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import LITERALS

if TYPE_CHECKING:
    from jitmagic.tracer.output import OutputGraph

__all__ = ["ClassGuards"]

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class whose entries can be changed
_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: one whose entries cannot, all the same
_NUMBERS = (int, float)


class ClassGuards:
    """The part of the builder that guards classes; ``stand_ins`` are those made in the trace."""

    output: OutputGraph
    stand_ins: dict[int, tuple[Any, VariableTracker]]

    def guard_held_class(self, cls: type, name: str) -> None:
        """For instances made in the trace: their class still holds what it held."""
        if self._can_change(cls):
            held = self.output.constant_source(cls, cls.__name__)
            self.output.guards.add(guard.own_class_attribute_guard(held, cls, name))

    def guard_metaclass(self, cls: type, name: str) -> None:
        """The class of ``cls`` still holds what it held, and is still its class: ``cls.__class__`` may be set."""
        meta = type(cls)
        self.guard_held_class(meta, name)
        if self._can_change(cls) and self._can_change(meta) and not is_library(meta):
            self.output.guards.add(guard.type_guard(self.output.constant_source(cls, cls.__name__), meta))

    def data_source(self, cls: type, name: str, entry: Any, source: Source) -> Source | None:
        """Where to read ``cls.name`` anew at each call; None if the entry is to be the very same object.

        Plain data in the class's own dict are guarded as any other data, by what they are: numbers always, other
        data once a call of the function has replaced them (an accumulator is another object after every call). So are
        those in the dict of a base, which then has to be the class that is asked.
        """
        if type(cls) is not type or id(cls) in self.stand_ins:
            return None
        is_data = type(entry) in LITERALS or type(entry) is np.ndarray or isinstance(entry, np.generic)
        if name in cls.__dict__:
            found = DictSource(source, name)
            if type(entry) in _NUMBERS:
                return found
            return found if is_data and found.text in self.output.state.written else None
        owner = owner_of(cls, name)
        if not is_data or type(owner) is not type or f"{owner.__name__}.{name}" not in self.output.state.written:
            return None
        self.output.guards.add(class_owner_guard(source, owner, name))
        return DictSource(self.output.constant_source(owner, owner.__name__), name)

    def guard_bases(self, cls: type) -> None:
        """What the class is a subclass of, where that can be changed."""
        if self._can_change(cls) and not cls.__flags__ & _IMMUTABLE_TYPE:
            self.output.guards.add(bases_guard(self.output.constant_source(cls, cls.__name__), cls))

    def guard_special_methods(self, cls: type) -> None:
        """For a class whose instances are treated as those of a built-in class: none of its operations is another.

        Classes of installed modules are taken to stay as they are.
        """
        if self._can_change(cls) and not is_library(cls):
            self.output.guards.add(special_methods_guard(self.output.constant_source(cls, cls.__name__), cls))

    def _can_change(self, cls: type) -> bool:
        return id(cls) not in self.stand_ins and bool(cls.__flags__ & HEAP_TYPE)
