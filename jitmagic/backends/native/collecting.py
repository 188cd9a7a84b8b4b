"""Takes nothing, keeps Python's cyclic garbage collection back while many objects are made and few of them stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collecting_later"]


@contextmanager
def collecting_later() -> Iterator[None]:
    """Inside, no automatic collection begins, in any thread.

    A collection promotes what is alive to an older generation. The instructions of one kernel are some ten thousand
    objects, dead a moment later: promoted, they would bring the next full collection forward, which looks at everything
    that the process holds (80 ms where Numba is loaded). Keep to code that runs nothing of the user's.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
