"""Takes dicts, gives one number that is another one after every change of any of them.

Python 3.12 and later tell a callback of every change of a watched dict. Ours is compiled code, made once per process:
it looks up which stamps the dict belongs to, in a table that only this module changes, and adds one to each. Before
3.12 (and where no watcher is to be had) a stamp reads the dicts' own version tags, one by one.

A stamp holds no reference to its dicts: the death of one is a change as well.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.backends.native.abi import Address
from jitmagic.backends.native.once import once
from jitmagic.errors import InternalError
from jitmagic.runtime.native.ir import load_ir
from jitmagic.runtime.native.layout import OFFSETS, dict_tag, has_dict_tags, is_known

__all__ = ["DictStamp", "can_watch"]

Words = np.ndarray[Any, np.dtype[np.int64]]

# The table: a mask, then pairs of dict and list (both by address) in open addressing, 0 for an empty place. A list
# is a count and the addresses of stamps. The event BIND, which Python never sends, sets the table.
_BIND = -1
_CALLBACK = f"""
@table = internal global i64* null

define i32 @jitmagic_changed(i32 %event, i64 %dict, i64 %key, i64 %value) {{
entry:
  %binds = icmp eq i32 %event, {_BIND}
  br i1 %binds, label %bind, label %start
bind:
  %given = inttoptr i64 %dict to i64*
  store i64* %given, i64** @table
  ret i32 0
start:
  %words = load i64*, i64** @table
  %mask = load i64, i64* %words
  %short = lshr i64 %dict, 4
  br label %probe
probe:
  %place = phi i64 [ %short, %start ], [ %following, %next ]
  %at = and i64 %place, %mask
  %twice = shl i64 %at, 1
  %where = add i64 %twice, 1
  %slot = getelementptr i64, i64* %words, i64 %where
  %found = load i64, i64* %slot
  %same = icmp eq i64 %found, %dict
  br i1 %same, label %hit, label %other
other:
  %empty = icmp eq i64 %found, 0
  br i1 %empty, label %done, label %next
next:
  %following = add i64 %place, 1
  br label %probe
hit:
  %listed = getelementptr i64, i64* %slot, i64 1
  %list = load i64, i64* %listed
  %stamps = inttoptr i64 %list to i64*
  %count = load i64, i64* %stamps
  br label %each
each:
  %k = phi i64 [ 0, %hit ], [ %more, %bump ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %bump, label %done
bump:
  %more = add i64 %k, 1
  %item = getelementptr i64, i64* %stamps, i64 %more
  %address = load i64, i64* %item
  %stamp = inttoptr i64 %address to i64*
  %old = load i64, i64* %stamp
  %new = add i64 %old, 1
  store i64 %new, i64* %stamp
  br label %each
done:
  ret i32 0
}}
"""
_SYMBOL = "jitmagic_changed"


@dataclass(slots=True)
class _Watcher:
    """The process's one watcher. Everything in it changes under the GIL and ``lock``."""

    number: int
    code: Address
    lists: dict[int, list[int]] = field(default_factory=dict)  # dict -> stamps, all by address
    kept: dict[int, Words] = field(default_factory=dict)  # dict -> its list in memory
    table: Words = field(default_factory=lambda: np.zeros(1, np.int64))
    dead: deque[Words] = field(default_factory=deque)  # words of stamps that the table may still know
    is_writing: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def watch(self, dicts: Iterable[dict[Any, Any]], stamp: int) -> None:
        """Add one to the word at ``stamp`` whenever one of the dicts changes."""
        with self.lock:
            self._bury()
            with self._writing():
                for each in dicts:
                    self.lists[id(each)] = [*self.lists.get(id(each), ()), stamp]
                self._write()
            for each in dicts:
                if ctypes.pythonapi.PyDict_Watch(self.number, ctypes.py_object(each)) != 0:
                    raise InternalError("Python refused to watch a dict")

    def forget(self, word: Words) -> None:
        """The stamp is gone; what it watched may be gone too, so it stays watched, for nobody.

        A garbage collection calls this anywhere, also in ``watch``: the word then stays until the next change.
        """
        self.dead.append(word)
        if not self.is_writing and self.lock.acquire(blocking=False):
            try:
                self._bury()
            finally:
                self.lock.release()

    def _bury(self) -> None:
        """Write a table without the dead; their words are let go only after that."""
        with self._writing():
            gone = list(self.dead)
            if not gone:
                return
            addresses = {int(word.ctypes.data) for word in gone}
            left = {d: [s for s in stamps if s not in addresses] for d, stamps in self.lists.items()}
            self.lists = {d: stamps for d, stamps in left.items() if stamps}
            self._write()
            for _ in gone:
                self.dead.popleft()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self.is_writing = True
        try:
            yield
        finally:
            self.is_writing = False

    def _write(self) -> None:
        """A new table; the old one is dropped only when the callback knows the new one."""
        size = 4
        while size < 2 * len(self.lists) + 2:
            size *= 2
        table = np.zeros(1 + 2 * size, np.int64)
        table[0] = size - 1
        kept = {d: np.array([len(stamps), *stamps], np.int64) for d, stamps in self.lists.items()}
        for address, stamps in kept.items():
            place = address >> 4
            while table[1 + 2 * (place & (size - 1))]:
                place += 1
            table[1 + 2 * (place & (size - 1)) :][:2] = address, stamps.ctypes.data
        self._bind(table)
        self.table, self.kept = table, kept

    def _bind(self, table: Words) -> None:
        call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        call(int(self.code))(_BIND, table.ctypes.data, 0, 0)


@once
def _watcher() -> _Watcher | None:
    """None before Python 3.12, and where eight others watch already."""
    if sys.version_info < (3, 12) or not is_known():
        return None
    code = load_ir(_CALLBACK, _SYMBOL)
    number = ctypes.pythonapi.PyDict_AddWatcher(ctypes.c_void_p(int(code)))
    if number < 0:
        ctypes.pythonapi.PyErr_Clear()
        return None
    watcher = _Watcher(number, code)
    watcher._write()
    atexit.register(_stop_watching, number)
    return watcher


def _stop_watching(number: int) -> None:
    """Dicts die until the very end of the process, when the callback's code and table are gone already."""
    ctypes.pythonapi.PyDict_ClearWatcher(number)


def can_watch() -> bool:
    """Whether a stamp costs one comparison however many dicts it covers."""
    return _watcher() is not None


class DictStamp:
    """``value`` is another number after any change of any of ``dicts``; it says nothing of what the values hold.

    ``address`` is that of the word itself, for compiled code; None where there is no such word, and ``value`` is made
    of the dicts' tags. Only exact dicts: what a class keeps elsewhere changes unseen.
    """

    __slots__ = ("__weakref__", "_dicts", "_word")

    def __init__(self, dicts: Iterable[dict[Any, Any]]) -> None:
        found = list({id(d): d for d in dicts}.values())
        if any(type(d) is not dict for d in found):
            raise InternalError("a stamp covers exact dicts only; guard what it holds read by read")
        watcher = _watcher()
        self._word = np.zeros(1, np.int64)
        self._dicts: list[dict[Any, Any]] = []
        if watcher is not None:
            watcher.watch(found, self._word.ctypes.data)
            weakref.finalize(self, watcher.forget, self._word)
        elif has_dict_tags():
            self._dicts = found
        else:
            raise InternalError("this build of Python tells nobody that a dict changed; guard it read by read")

    @property
    def address(self) -> int | None:
        return None if self._dicts else int(self._word.ctypes.data)

    def pairs(self) -> list[tuple[int, int]]:
        """Addresses and the words that are there now; one of them is another after any change."""
        if self._dicts:
            return [(id(d) + OFFSETS["TAG"], dict_tag(d)) for d in self._dicts]
        return [(int(self._word.ctypes.data), int(self._word[0]))]

    @property
    def value(self) -> int | tuple[int, ...]:
        return tuple(map(dict_tag, self._dicts)) if self._dicts else int(self._word[0])
