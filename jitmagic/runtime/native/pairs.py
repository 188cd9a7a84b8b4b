"""Pairs of an address and the word that is expected there: takes many, answers in one call whether all still hold.

A pair that does not hold ends the comparison, so a pointer stands before what it points to. The header (address of the
first pair, number of pairs) stays where it is, and compiled code finds the pairs through it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from jitmagic.backends.native.once import once
from jitmagic.runtime.native.ir import load_ir
from jitmagic.runtime.native.layout import OFFSETS, is_known, word_at

__all__ = ["Pairs", "array_pairs", "mro_offset", "mro_pair"]

Pair = tuple[int, int]
_WORD = (1 << 64) - 1

# mode 0: 1 if every pair from start to stop holds; mode 1: expect from now on what is there now
_SYMBOL = "jitmagic_pairs"
_TEXT = f"""
define i64 @{_SYMBOL}(i64* %header, i64 %start, i64 %stop, i64 %mode) {{
entry:
  %address = load i64, i64* %header
  %pairs = inttoptr i64 %address to i64*
  %stores = icmp eq i64 %mode, 1
  br label %head
head:
  %k = phi i64 [ %start, %entry ], [ %following, %next ]
  %inside = icmp slt i64 %k, %stop
  br i1 %inside, label %body, label %yes
body:
  %twice = shl i64 %k, 1
  %more = add i64 %twice, 1
  %first = getelementptr i64, i64* %pairs, i64 %twice
  %second = getelementptr i64, i64* %pairs, i64 %more
  %where = load i64, i64* %first
  %place = inttoptr i64 %where to i64*
  %now = load i64, i64* %place
  br i1 %stores, label %keep, label %compare
keep:
  store i64 %now, i64* %second
  br label %next
compare:
  %then = load i64, i64* %second
  %same = icmp eq i64 %now, %then
  br i1 %same, label %next, label %no
next:
  %following = add i64 %k, 1
  br label %head
yes:
  ret i64 1
no:
  ret i64 0
}}
"""


@once
def _function() -> tuple[Callable[..., int], Any]:
    code = load_ir(_TEXT, _SYMBOL)
    word = ctypes.c_int64
    return ctypes.PYFUNCTYPE(word, word, word, word, word)(int(code)), code


class Pairs:
    """``moving`` pairs can be set to what is there now; ``fixed`` ones, behind pointers, cannot."""

    __slots__ = ("_header", "_memory", "count", "header_address", "moving_count", "unchanged")

    def __init__(self) -> None:
        self._header = np.zeros(2, np.int64)
        self.header_address = int(self._header.ctypes.data)
        self.put([], [])

    def put(self, moving: Sequence[Pair], fixed: Sequence[Pair]) -> None:
        """These pairs from now on."""
        memory = np.array([(a, word & _WORD) for a, word in (*moving, *fixed)], np.uint64).reshape(-1, 2)
        self.moving_count, self.count = len(moving), len(memory)
        self._header[:] = memory.ctypes.data, len(memory)
        self._memory = memory  # the old ones go only now
        self.unchanged = partial(_function()[0], self.header_address, 0, self.count, 0)

    def hold_from(self, start: int) -> bool:
        return bool(_function()[0](self.header_address, start, self.count, 0))

    def expect_present(self, start: int) -> None:
        """Let the moving pairs from ``start`` on expect what is there now."""
        _function()[0](self.header_address, start, self.moving_count, 1)


def array_pairs(array: np.ndarray[Any, Any]) -> list[Pair]:
    """Everything that describes an ndarray and can be changed in place; the array must outlive the pairs."""
    start, ndim = id(array), array.ndim
    fields = [
        (start + OFFSETS[name], word_at(start + OFFSETS[name])) for name in ("SIZES", "STRIDES", "DESCR", "FLAGS")
    ]
    sizes, strides = fields[0][1], fields[1][1]
    places = [sizes + 8 * k for k in range(ndim)] + [strides + 8 * k for k in range(ndim)]
    return [*fields, *((place, word_at(place)) for place in places)]


@cache
def mro_offset() -> int | None:
    """Where a class has the pointer to its ``__mro__``; None if it is not found."""
    if not is_known():
        return None
    samples = [type(f"C{k}", bases, {}) for k, bases in enumerate(((), (int,), (dict,), (Exception,)))]
    for offset in range(16, 800, 8):
        if all(word_at(id(cls) + offset) == id(cls.__mro__) for cls in samples):
            return offset
    return None


def mro_pair(cls: type) -> Pair | None:
    """Changes with the bases of ``cls``; the class and its present ``__mro__`` must outlive the pair."""
    offset = mro_offset()
    return None if offset is None else (id(cls) + offset, id(cls.__mro__))
