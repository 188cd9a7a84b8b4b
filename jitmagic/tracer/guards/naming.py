"""Takes any value of a call, gives words for what it is now; runs no code of the user's.

A miss is explained before the call is made: asking a generator for its items would use them up, and an object of the
user's may do anything when it is asked for a name or a length.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["home", "items_now", "length_now", "name_now"]

_NAMED = (FunctionType, BuiltinFunctionType, ModuleType, np.ufunc)
_CONTAINERS = (list, tuple, dict, set, frozenset)


_MODULE: Any = type.__dict__["__module__"]


def home(value: Any) -> str:
    """The module that a class or function says it is from; empty if it says nothing, or something that is no text."""
    try:
        found = _MODULE.__get__(value) if issubclass(type(value), type) else value.__module__
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def name_now(value: Any) -> str:
    """The name of a function, class or module; of anything else its class."""
    kind = type(value)
    if issubclass(kind, type):
        return str(type.__getattribute__(value, "__qualname__"))
    if kind is FunctionType or kind is BuiltinFunctionType:
        return str(value.__qualname__)
    return str(value.__name__) if kind in _NAMED else kind.__name__


def items_now(value: Any) -> Any:
    """The keys or members of a built-in container in order; of anything else its class."""
    return list(value) if type(value) in _CONTAINERS else type(value).__name__


def length_now(value: Any) -> str:
    """``list of 3``; of what is no built-in container its class."""
    kind = type(value)
    return f"{kind.__name__} of {len(value)}" if kind in _CONTAINERS else kind.__name__
