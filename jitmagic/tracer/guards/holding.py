"""Takes a guard as the tracer made it, gives it as an entry keeps it: identities held weakly where that is possible.

A weakly held object that has died never matches again, so an address that is used twice cannot satisfy the guard
(row G01), and the entry may be dropped (row G21).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from jitmagic.tracer.guards.guard import NOTHING, Guard
from jitmagic.tracer.guards.naming import home

__all__ = ["Held", "hold", "is_library"]

_LASTING = (ModuleType, BuiltinFunctionType, np.ufunc, np.dtype)
_BY_VALUE = (int, float, complex, str, bytes, bool, type(None), np.dtype)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class made at run time, which may go away again


@dataclass(frozen=True, slots=True)
class Held:
    """A guard of an entry. Equal ``key`` means the same test, also between entries."""

    guard: Guard
    key: tuple[Any, ...]

    @property
    def is_dead(self) -> bool:
        """True if the object that the guard asks for is gone: the entry can never match again."""
        constant = self.guard.constant
        return isinstance(constant, weakref.ref) and constant() is None


def hold(guard: Guard, on_death: Callable[[Any], None] | None = None) -> Held:
    """Keep the guard; ``on_death`` is called when an object that it holds weakly dies."""
    key = (guard.source, guard.test, guard.others, *_identity(guard.constant))
    test = guard.test
    if test.count("{k}") == 1 and "is {k}" in test and not _is_lasting(guard.constant):
        try:
            reference = weakref.ref(guard.constant, on_death)
        except TypeError:
            return Held(guard, key)
        guard = replace(guard, constant=reference, test=test.replace("is {k}", "is {k}() is not None"))
    return Held(guard, key)


def _is_lasting(value: Any) -> bool:
    """True for what lives as long as the process, or is worth no weak reference."""
    if value is NOTHING or isinstance(value, _LASTING):
        return True
    if isinstance(value, type):
        return not value.__flags__ & _HEAP_TYPE or is_library(value)
    return isinstance(value, FunctionType) and is_library(value)


def is_library(value: Any) -> bool:
    """True if ``value`` is what an installed module (not the notebook) has under its name."""
    module = sys.modules.get(home(value))
    if module is None or not getattr(module, "__package__", None):
        return False
    return vars(module).get(value.__name__) is value


def _identity(constant: Any) -> tuple[Any, ...]:
    """Equal for constants that make the same test: by value for plain ones, else by identity."""
    if type(constant) in _BY_VALUE:
        return (type(constant), repr(constant))
    if type(constant) is tuple:
        return tuple(map(_identity, constant))
    return (id(constant),)
