"""Takes a function without arguments, gives one whose first result stays: addresses that point into it stay good.

``functools.cache`` keeps the last of the results that threads computed at the same time, and drops the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

__all__ = ["once"]

T = TypeVar("T")


def once(make: Callable[[], T]) -> Callable[[], T]:
    """``make()``, computed when it is first asked for. Threads may compute it at the same time; all get one result.

    There is no lock, which a fork could leave locked.
    """
    kept: dict[str, T] = {}

    @wraps(make)
    def first() -> T:
        if "made" not in kept:
            kept.setdefault("made", make())
        return kept["made"]

    return first
