"""Takes the attributes of a function, gives a dict of them in which what jitmagic hangs on it is not seen.

``f.jit`` finds its value because attribute access looks into the dict itself; everything that asks the dict
(``vars(f)``, ``functools.wraps``, copies) goes through the methods of this class.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from types import FunctionType
from typing import Any

__all__ = ["Attributes", "Hidden", "hang", "hung"]

NAME = "jit"


class Hidden:
    """What is not seen among the attributes of a function. ``Handle`` derives from it."""

    __slots__ = ()


def hang(function: FunctionType, value: Hidden) -> None:
    """Make ``value`` the attribute ``jit`` of ``function``."""
    if type(function.__dict__) is not Attributes:
        function.__dict__ = Attributes(function.__dict__)
    dict.__setitem__(function.__dict__, NAME, value)


def hung(function: FunctionType) -> Any:
    """The attribute ``jit`` of ``function``, or None."""
    return dict.get(function.__dict__, NAME)


class Attributes(dict[str, Any]):
    """A dict without the entry ``jit`` if that is ours; a value that the user gives takes its place and is seen."""

    __slots__ = ()
    __hash__ = None

    def _seen(self) -> dict[str, Any]:
        return {name: dict.__getitem__(self, name) for name in self}

    def _hides(self) -> bool:
        return isinstance(dict.get(self, NAME), Hidden)

    def __iter__(self) -> Iterator[str]:
        hides = self._hides()
        return (name for name in dict.__iter__(self) if not (hides and name == NAME))

    def __reversed__(self) -> Iterator[str]:
        return iter([*self][::-1])

    def __len__(self) -> int:
        return dict.__len__(self) - self._hides()

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) and not (name == NAME and self._hides())

    def __getitem__(self, name: str) -> Any:
        if name == NAME and self._hides():
            raise KeyError(name)
        return dict.__getitem__(self, name)

    def __delitem__(self, name: str) -> None:
        self[name]
        dict.__delitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return dict.get(self, name, default) if name in self else default

    def keys(self) -> Any:
        return KeysView(self)

    def values(self) -> Any:
        return ValuesView(self)

    def items(self) -> Any:
        """All of them for cloudpickle, which sends functions by value: the handle has to go with the code."""
        caller = sys._getframe(1).f_globals.get("__name__", "")
        return dict.items(self) if "cloudpickle" in str(caller) else ItemsView(self)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        for name in reversed(self):
            return name, self.pop(name)
        raise KeyError("popitem(): dictionary is empty")

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def copy(self) -> dict[str, Any]:
        return self._seen()

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(self._seen(), memo)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """By value, as functions are sent elsewhere: with what is hidden, for they are compiled there again."""
        return dict, ([(name, dict.__getitem__(self, name)) for name in dict.__iter__(self)],)

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.__reduce__()

    def __eq__(self, other: object) -> bool:
        return self._seen() == (other._seen() if isinstance(other, Attributes) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self._seen() | other

    def __ror__(self, other: Any) -> Any:
        return other | self._seen()

    def __repr__(self) -> str:
        return repr(self._seen())
