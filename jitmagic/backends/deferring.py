"""Whether the caller of a compile can come back later: then kernels may be left to the compile worker."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["can_come_back", "deferring"]


class _Here(threading.local):
    defers: bool = False


_here = _Here()


@contextlib.contextmanager
def deferring() -> Iterator[None]:
    """Inside, in this thread, a compile may raise ``base.Pending``."""
    before, _here.defers = _here.defers, True
    try:
        yield
    finally:
        _here.defers = before


def can_come_back() -> bool:
    return _here.defers
