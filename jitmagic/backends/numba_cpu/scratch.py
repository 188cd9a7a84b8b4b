"""Takes the descriptions of a program's large temporary arrays, gives them memory that the last run has left behind.

Memory fresh from the system costs a page fault for every 4 KiB, which is more than most loops need to fill it, and the
allocator hands memory of this size back as soon as it is free. So a program keeps what it has allocated for its next
run. Whether somebody still holds an array tells its reference count, so what has been handed out is never used again.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["IS_ENABLED", "LEAST_BYTES", "Kind", "Scratch", "forget"]

LEAST_BYTES = 1 << 16  # of an array; smaller ones the allocator keeps at hand
MOST_BYTES = 64 << 20  # kept for one run of a program
MOST_BYTES_OF_ALL = 256 << 20
PLACES = (-1, -2, -3, -4, 0, 1, 2, 3)  # the latest, which are in the cache, then the oldest, which are free the longest
IS_ENABLED: bool = getattr(sys, "_is_gil_enabled", lambda: True)()  # else reference counts do not tell

_example = [np.empty(1)]
FREE = sys.getrefcount(_example[0])  # of an array that only a list holds


class Kind(NamedTuple):
    """Arrays that are alike: sizes, dtype, memory order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: str

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize


class Scratch:
    """The arrays of one run at a time: ``take(k)`` gives one of kind ``k`` with anything in it.

    ``saved`` are those that surely never leave a program, one of each kind: small ones, and what a run may have to put
    back.
    """

    __slots__ = ("__weakref__", "_saved", "bytes", "kept", "kinds", "saved_kinds")

    def __init__(self, kinds: Sequence[Kind], saved: Sequence[Kind] = ()) -> None:
        self.kinds = kinds
        self.kept: list[list[Any]] = [[] for _ in kinds]
        self.bytes = 0
        self.saved_kinds = saved
        self._saved: list[Any] = []
        with _lock:
            _all.add(self)

    @property
    def saved(self) -> list[Any]:
        if self._saved:
            return self._saved
        size = sum(kind.nbytes for kind in self.saved_kinds)
        made = _apart(self.saved_kinds)
        with _lock:
            if sum(each.bytes for each in _all) + size > MOST_BYTES_OF_ALL:
                _forget()
            self.bytes += size
            self._saved = made
        return made

    def take(self, k: int) -> Any:
        kept = self.kept[k]
        count = len(kept)
        for place in PLACES:
            if -count <= place < count and sys.getrefcount(kept[place]) == FREE:
                owner = kept.pop(place)
                kept.append(owner)
                return owner.view()
        return self._new(k)

    def _new(self, k: int) -> Any:
        kind = self.kinds[k]
        owner = np.empty(kind.shape, kind.dtype, kind.order)  # type: ignore[call-overload]  # one of two orders
        if self.bytes + kind.nbytes > MOST_BYTES:
            return owner
        with _lock:
            if sum(each.bytes for each in _all) + kind.nbytes > MOST_BYTES_OF_ALL:
                _forget()
            self.bytes += kind.nbytes
            self.kept[k].append(owner)
        return owner.view()

    def clear(self) -> None:
        self.kept = [[] for _ in self.kinds]
        self._saved = []
        self.bytes = 0


_all: weakref.WeakSet[Scratch] = weakref.WeakSet()
_lock = threading.Lock()  # of ``_all``: a set must not grow while somebody walks through it


def forget() -> None:
    """Let go of what all programs have kept."""
    with _lock:
        _forget()


def _forget() -> None:
    for each in list(_all):
        each.clear()


def _apart(kinds: Sequence[Kind]) -> list[Any]:
    """Arrays that start at different places of their pages.

    A load waits for an earlier store whose address has the same last 12 bits, and arrays of whole pages that the
    allocator hands out in a row all start alike: a step of Adam over four of them took half as long again.
    """
    sizes = [-(-kind.nbytes // LINE) * LINE + LINE * PART_OF_PAGE for kind in kinds]
    memory = np.empty(sum(sizes) + PAGE, np.uint8)
    places = np.cumsum([-memory.ctypes.data % PAGE, *sizes])
    return [
        memory[place : place + kind.nbytes].view(kind.dtype).reshape(kind.shape, order=kind.order)  # type: ignore[call-overload]  # one of two orders
        for kind, place in zip(kinds, places, strict=False)
    ]


PAGE, LINE = 4096, 64
PART_OF_PAGE = 9  # lines between two arrays
