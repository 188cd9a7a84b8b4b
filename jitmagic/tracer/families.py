"""Takes any value of a program, says which family it belongs to; runs no code of the user's.

``isinstance`` would read ``__class__``, and a name may be a property: classes are asked, not their instances.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.variables.constant import LITERALS
from jitmagic.tracer.variables.descriptors import MISSING, find_in_class
from jitmagic.tracer.variables.named_tuples import is_stock

__all__ = ["is_a", "is_key", "is_named_tuple", "is_numpy"]


def is_a(base: type) -> Callable[[Any], bool]:
    """A test for instances of ``base``, whatever they say themselves."""
    return lambda value: issubclass(type(value), base)


def is_key(value: Any) -> bool:
    """Whether a dict or a set that has ``value`` for a key can be followed."""
    if type(value) is tuple:
        return all(is_key(v) for v in value)
    return type(value) in LITERALS or issubclass(type(value), enum.Enum)


def is_numpy(value: Any) -> bool:
    """A function that ships with NumPy, or any ufunc.

    Not one of SciPy's: its machine code writes into arguments without saying so.
    """
    kind = type(value)
    if issubclass(kind, np.ufunc):
        return True
    if issubclass(kind, np.ndarray | np.generic | type) or _has_attributes_of_its_own(kind):
        return False  # an instance of a class of NumPy's: ``__module__`` is its class's
    if not hasattr(value, "__name__"):
        return False
    if isinstance(getattr(value, "__self__", None), np.ufunc):
        return True
    return home(value).partition(".")[0] == "numpy"


def _has_attributes_of_its_own(kind: type) -> bool:
    """Whether asking an instance for what functions have may run code that somebody wrote in Python."""
    names = ("__getattribute__", "__getattr__", "__name__", "__module__", "__self__")
    entries = (find_in_class(kind, name) for name in names)
    return any(e is not MISSING and issubclass(type(e), FunctionType | property) for e in entries)


def is_named_tuple(value: Any) -> bool:
    """A tuple of a class that has nothing but names for its items, and plain methods."""
    kind = type(value)
    return kind.__bases__ == (tuple,) and hasattr(kind, "_fields") and is_stock(kind)
