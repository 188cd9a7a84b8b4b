"""Who wants to know that the dict or the class of a module was replaced as a whole: nothing else tells of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Told", "give_dict", "watch"]

_watchers: list[Callable[[Any], None]] = []  # filled at import of those who keep what they read from modules


def watch(callback: Callable[[Any], None]) -> None:
    """Call ``callback(module)`` after every such replacement."""
    _watchers.append(callback)


def _tell(module: Any) -> None:
    for callback in _watchers:
        callback(module)


class _Plain:
    """Has Python's own descriptor of ``__dict__``, which works for classes below only."""


_DICT: Any = _Plain.__dict__["__dict__"]
_CLASS: Any = object.__dict__["__class__"]


def give_dict(module: Any) -> None:
    """The dict that a new module starts with; nobody has read from it yet."""
    _DICT.__set__(module, {})


def _set_dict(module: Any, value: Any) -> None:
    _DICT.__set__(module, value)
    _tell(module)


def _delete_dict(module: Any) -> None:
    _DICT.__delete__(module)
    _tell(module)


def _set_class(module: Any, cls: Any) -> None:
    _CLASS.__set__(module, cls)
    _tell(module)


class Told(_Plain):
    """Base of modules. ``m.__class__ = c``, ``object.__setattr__(m, "__dict__", d)``: every way ends at a descriptor.

    Python's own tell nobody, so these stand before them. Both read by compiled functions, as Python's do.
    """

    __class__ = property(type, _set_class)  # as in object, with word of it
    __dict__ = property(_DICT.__get__, _set_dict, _delete_dict)
