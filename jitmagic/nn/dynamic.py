"""Which classes of modules are not worth a compiled form for each instance: those marked so, and their subclasses."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

__all__ = ["is_dynamic_class", "mark_dynamic_class"]

_marked: WeakSet[type] = WeakSet()  # for the whole process: a mark is never taken back


def mark_dynamic_class(cls: type) -> Any:
    """Let compiled functions serve every instance of ``cls`` by one entry: parameters are read from the module.

    Also a class decorator.
    """
    _marked.add(cls)
    return cls


def is_dynamic_class(cls: type) -> bool:
    return any(base in _marked for base in cls.__mro__)
