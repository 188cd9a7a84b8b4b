"""Takes the frames that hold compiled entries, drops the least recently used entries of a cache that grew too large.

A call in progress holds what it runs (the program, the words behind a native entry, the kernels), so an entry may go
at any time: its code is freed when the last such call has ended. The next call that would have used it compiles again,
and its record says why.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jitmagic.config import current
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame

__all__ = ["MEMORY", "Memory", "entry_bytes"]

# Measured with tracemalloc on entries of 4 to 40 nodes: what one holds, and what each of its guards and nodes adds.
_ENTRY_BYTES, _PART_BYTES = 40_000, 600
_PAGE_BYTES = 4096
_LOOK = 32  # entries after which each is looked at again: code is also added to those that are there
_KEEP_SHARE = 0.75  # a full cache is emptied to this share of its limit, so that not every compile scans it


def entry_bytes(entry: Entry) -> int:
    """About what goes with the entry, its kernels not counted."""
    return _ENTRY_BYTES + _PART_BYTES * (len(entry.guards) + len(entry.capture.graph.nodes))


@dataclass(slots=True)
class Memory:
    """What all entries of the process hold, in bytes, as far as it is known without looking at each.

    An entry counts as used when its hits grew since the last look: calls themselves note nothing.
    """

    frames: weakref.WeakSet[CompiledFrame] = field(default_factory=weakref.WeakSet)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _most_bytes: int = 0  # held at most: entries that went by themselves since the last look are still counted
    _looks: int = 0

    def note(self, frame: CompiledFrame, entry: Entry) -> None:
        """``entry`` was added to ``frame``, whose lock is held."""
        limit = current().cache_memory_limit_bytes
        with self._lock:
            self.frames.add(frame)
            self._looks += 1
            entry.used = self._looks
            self._most_bytes += entry_bytes(entry) + sum(_code_bytes(entry).values())
            if self._most_bytes > limit // 2 or self._looks % _LOOK == 0:
                self._look(frame, entry, limit)

    def used_bytes(self) -> int:
        """What all entries hold together; kernels that several of them share count once."""
        return _Sum.of(entry for _, entry in self._entries()).total_bytes

    def _entries(self) -> Iterator[tuple[CompiledFrame, Entry]]:
        for frame in list(self.frames):
            for entry in list(frame.entries):
                yield frame, entry

    def _look(self, present: CompiledFrame, newest: Entry, limit: int) -> None:
        """See who was used, and drop the others if they are too many. ``newest`` stays: it serves the present call."""
        found = list(self._entries())
        for _, entry in found:
            if entry.hit_count != entry.hits_seen:
                entry.hits_seen, entry.used = entry.hit_count, self._looks
        held = _Sum.of(entry for _, entry in found)
        if held.total_bytes > limit:
            chosen: dict[CompiledFrame, list[Entry]] = {}
            for frame, entry in sorted(found, key=lambda pair: pair[1].used):
                if held.total_bytes <= limit * _KEEP_SHARE:
                    break
                if entry is not newest:
                    held.add(entry, -1)
                    chosen.setdefault(frame, []).append(entry)
            for frame, entries in chosen.items():
                _drop(frame, entries, frame is present)
        self._most_bytes = self.used_bytes()


@dataclass(slots=True)
class _Sum:
    """What some entries hold together."""

    total_bytes: int = 0
    holders: Counter[int] = field(default_factory=Counter)  # of each kernel, by its place

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> _Sum:
        made = cls()
        for entry in entries:
            made.add(entry, 1)
        return made

    def add(self, entry: Entry, count: int) -> None:
        """``count`` is 1 for an entry that comes, -1 for one that goes."""
        self.total_bytes += count * entry_bytes(entry)
        for place, code_bytes in _code_bytes(entry).items():
            before = self.holders[place]
            self.holders[place] += count
            if 0 in (before, self.holders[place]):
                self.total_bytes += count * code_bytes


def _drop(frame: CompiledFrame, entries: list[Entry], is_held: bool) -> None:
    """Drop ``entries`` unless their frame is busy; ``is_held``: its lock is ours already."""
    if not is_held and not frame.lock.acquire(blocking=False):
        return
    try:
        frame.evict(entries)
    finally:
        if not is_held:
            frame.lock.release()


def _code_bytes(entry: Entry) -> dict[int, int]:
    """Bytes of machine code by kernel, in whole pages."""
    return {
        kernel.place: -(-kernel.code_bytes // _PAGE_BYTES) * _PAGE_BYTES
        for kernel in (*entry.lowered.kernels, *entry.lowered.beside)
        if kernel.code_bytes
    }


MEMORY = Memory()
