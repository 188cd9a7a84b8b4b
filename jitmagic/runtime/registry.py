"""The compiled functions that are alive, in the order in which they were made."""

from __future__ import annotations

import threading
import weakref
from types import FunctionType

__all__ = ["compiled_functions", "register"]

_alive: dict[int, weakref.ref[FunctionType]] = {}
_lock = threading.RLock()  # re-entrant: a function may die while another one is registered


def register(owner: int, function: FunctionType) -> None:
    """Remember ``function`` for as long as it lives."""
    with _lock:
        _alive[owner] = weakref.ref(function, lambda _: _alive.pop(owner, None))


def compiled_functions() -> list[FunctionType]:
    """Every compiled function that is still referenced by somebody."""
    with _lock:
        references = list(_alive.values())
    return [function for reference in references if (function := reference()) is not None]
