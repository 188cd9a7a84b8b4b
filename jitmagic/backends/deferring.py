"""Whether the caller of a compile can come back later: then kernels may be left to the compile worker."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["at_once", "can_come_back", "deferring", "is_at_once"]


class _Here(threading.local):
    defers: bool = False
    at_once: bool = False


_here = _Here()


@contextlib.contextmanager
def deferring(is_allowed: bool = True) -> Iterator[None]:
    """Inside, in this thread, a compile may raise ``base.Pending``."""
    before, _here.defers = _here.defers, is_allowed
    try:
        yield
    finally:
        _here.defers = before


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Inside, in this thread, no compile is deferred."""
    before, _here.at_once = _here.at_once, True
    try:
        yield
    finally:
        _here.at_once = before


def is_at_once() -> bool:
    return _here.at_once


def can_come_back() -> bool:
    return _here.defers and not _here.at_once
