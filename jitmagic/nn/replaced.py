"""Who wants to know that the dict or the class of a module was replaced as a whole: nothing else tells of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["OF_WHOLE", "tell", "watch"]

OF_WHOLE = frozenset({"__class__", "__dict__"})
_watchers: list[Callable[[Any], None]] = []  # filled at import of those who keep what they read from modules


def watch(callback: Callable[[Any], None]) -> None:
    """Call ``callback(module)`` after every such replacement."""
    _watchers.append(callback)


def tell(module: Any) -> None:
    for callback in _watchers:
        callback(module)
