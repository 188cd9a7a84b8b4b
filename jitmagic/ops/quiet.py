"""Takes a piece of work, lets NumPy run in it without a word, or with an exception for each word.

Warnings of Python code cannot be listened to for one thread alone: the list of filters belongs to the process. The
filters here hold an object in place of a pattern, which matches in the threads that asked for it and in no other.
They are put straight into the list: ``warnings.catch_warnings`` would also make Python forget which of the user's
warnings it has shown already, and show them again.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import numpy as np

__all__ = ["Quiet", "outspoken"]


class _Asked(threading.local):
    """How many blocks of this thread have asked for a filter: it stands where the pattern of the message stands."""

    count: int = 0

    def match(self, text: str) -> bool:
        return self.count > 0


_silent, _raising = _Asked(), _Asked()
_IGNORE = ("ignore", _silent, Warning, None, 0)
_RAISE = ("error", _raising, Warning, None, 0)
_ALL_IGNORED = ("ignore", None, Warning, None, 0)  # of warnings.simplefilter("ignore")


def _filters() -> Any:
    return warnings.filters


def _take_out(filters: Any, entry: Any) -> None:
    with suppress(ValueError):  # another thread emptied the list in the meantime
        filters.remove(entry)


class Quiet:
    """A context in which nothing is reported: no floating-point conditions, no warnings."""

    __slots__ = ("filters", "state")

    def __enter__(self) -> None:
        self.filters = _filters()
        self.filters.insert(0, _IGNORE)
        _silent.count += 1
        self.state = np.errstate(all="ignore")
        self.state.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.state.__exit__(*error)
        _silent.count -= 1
        _take_out(self.filters, _IGNORE)


def outspoken(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` that raises each warning of Python code that somebody might hear (0.3 us)."""

    @wraps(run)
    def heard(*inputs: Any) -> Any:
        filters = _filters()
        if filters and filters[0] == _ALL_IGNORED:
            return run(*inputs)
        filters.insert(0, _RAISE)
        _raising.count += 1
        try:
            return run(*inputs)
        finally:
            _raising.count -= 1
            _take_out(filters, _RAISE)

    return heard
