"""Where CPython and NumPy keep the fields that compiled code reads; tells whether this process agrees.

Offsets are bytes from the address of the object (64 bits, builds with a GIL, NumPy 2 ABI). They are compared with
real objects before the first use: where anything differs, generated Python checks the guards.
"""

from __future__ import annotations

import builtins
import ctypes
import sys
import sysconfig
import weakref
from functools import cache
from types import CellType, MethodType
from typing import Any

import numpy as np
from numpy._core import multiarray, umath

__all__ = [
    "API",
    "ERRSTATE",
    "OFFSETS",
    "dict_tag",
    "dtype_word",
    "errstate_mask",
    "has_dict_tags",
    "is_known",
    "word_at",
]

OFFSETS = {
    "TYPE": 8,  # of any object
    "VALUE": 16,  # float: its bits; list, tuple, dict: number of items; weakref: its target; capsule: its pointer;
    # builtin: its definition
    "ITEM": 24,  # tuple: its first item; list: address of its items
    "TAG": 24,  # dict: its version
    "SELF": 24,  # builtin: what it is bound to
    "BYTES": 32,  # bytes: the first of them
    "DATA": 16,  # ndarray
    "NDIM": 24,
    "SIZES": 32,
    "STRIDES": 40,
    "DESCR": 56,
    "FLAGS": 64,
    "KIND": 24,  # dtype: kind, type character, byte order, flags (one byte each), then the type number
    "METADATA": 56,  # dtype: its metadata, or 0
}
API: Any = getattr(multiarray, "_ARRAY_API", None)  # NumPy's C functions
ERRSTATE: Any = getattr(umath, "_extobj_contextvar", None)  # the context variable behind np.errstate
_ERROR_MODES = ("ignore", "warn", "raise", "call", "print", "log")
_ERROR_SHIFTS = {"divide": 0, "over": 3, "under": 6, "invalid": 9}
_LITTLE, _NATIVE = ord("<"), ord("=")


def word_at(address: int) -> int:
    """The 8 bytes at ``address``."""
    return ctypes.c_int64.from_address(address).value


def dict_tag(dictionary: dict[Any, Any]) -> int:
    """A number that changes with every change of the dict; only where ``has_dict_tags``."""
    return word_at(id(dictionary) + OFFSETS["TAG"])


def dtype_word(dtype: np.dtype[Any]) -> int:
    """Equal for equal dtypes of numbers, as compiled code computes it."""
    word = word_at(id(dtype) + OFFSETS["KIND"])
    return word + (1 << 16) if (word >> 16) & 0xFF == _LITTLE else word


def errstate_mask(modes: dict[str, str]) -> int:
    """NumPy's number for a handling of floating-point errors."""
    return sum(_ERROR_MODES.index(modes[name]) << shift for name, shift in _ERROR_SHIFTS.items())


@cache
def is_known() -> bool:
    """Whether every offset holds for real objects of this interpreter."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.implementation.name != "cpython":
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.platform == "win32" or sys.byteorder != "little":
        return False
    if ctypes.pythonapi.PyInterpreterState_GetID(_interpreter()) != 0:
        return False
    return all((_arrays_agree(), _dtypes_agree(), _containers_agree(), _errstate_agrees()))


def _interpreter() -> ctypes.c_void_p:
    get = ctypes.pythonapi.PyInterpreterState_Get
    get.restype = ctypes.c_void_p
    return ctypes.c_void_p(get())


def _arrays_agree() -> bool:
    sample = np.zeros((3, 5), np.float32)[:, ::2]
    start = id(sample)
    return (
        word_at(start + OFFSETS["TYPE"]) == id(np.ndarray)
        and word_at(start + OFFSETS["DATA"]) == sample.ctypes.data
        and ctypes.c_int32.from_address(start + OFFSETS["NDIM"]).value == 2
        and _words(word_at(start + OFFSETS["SIZES"]), 2) == sample.shape
        and _words(word_at(start + OFFSETS["STRIDES"]), 2) == sample.strides
        and word_at(start + OFFSETS["DESCR"]) == id(sample.dtype)
        and all(_flags(a) == a.flags.num for a in (sample, sample.T, np.zeros(2), np.zeros((2, 2)).T))
    )


def _flags(array: np.ndarray[Any, Any]) -> int:
    return ctypes.c_int32.from_address(id(array) + OFFSETS["FLAGS"]).value


def _words(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address))


def _dtypes_agree() -> bool:
    for code in "?bhilqBHILQefdgFDG":
        for dtype in (np.dtype(code), np.dtype(code).newbyteorder(), np.dtype(code).newbyteorder("=")):
            word = dtype_word(dtype)
            order = chr((word >> 16) & 0xFF)
            marked = np.dtype(dtype, metadata={"marked": True})
            if word_at(id(dtype) + OFFSETS["METADATA"]) != 0 or word_at(id(marked) + OFFSETS["METADATA"]) == 0:
                return False
            if word >> 32 != dtype.num or (order == ">") != (not dtype.isnative) or order not in "=|>":
                return False
    return True


def _containers_agree() -> bool:
    item, name = object(), type("Name", (), {})
    cell, method, reference = CellType(item), MethodType(len, item), weakref.ref(name)
    size, items = OFFSETS["VALUE"], OFFSETS["ITEM"]
    text = b"sixteen letters."
    some, pair, part, table, number = [item, item], (item, name), slice(item, name, cell), {1: 2}, 0.3
    return (
        word_at(id(pair) + size) == 2
        and word_at(id(pair) + items) == id(item)
        and word_at(id(some) + size) == 2
        and word_at(word_at(id(some) + items)) == id(item)
        and word_at(id(table) + size) == 1
        and word_at(id(cell) + size) == id(item)
        and (word_at(id(method) + 16), word_at(id(method) + 24)) == (id(len), id(item))
        and word_at(id(len) + OFFSETS["SELF"]) == id(builtins)
        and ctypes.string_at(id(text) + OFFSETS["BYTES"], len(text)) == text
        and _words(id(part) + 16, 3) == (id(item), id(name), id(cell))
        and word_at(id(reference) + size) == id(name)
        and ctypes.c_double.from_address(id(number) + size).value == number
    )


def _errstate_agrees() -> bool:
    """Whether the record behind ``np.errstate`` holds its modes and its callback where we look for them."""
    if ERRSTATE is None or API is None:
        return False
    seen = []
    present: Any = np.geterr()
    for modes in ({"divide": "raise", "over": "warn", "under": "print", "invalid": "ignore"}, present):
        with np.errstate(**modes, call=None):  # type: ignore[arg-type]  # None: no callback
            record = word_at(id(ERRSTATE.get()) + OFFSETS["VALUE"])
            seen.append(ctypes.c_int32.from_address(record).value == errstate_mask(dict(modes)))
            seen.append(word_at(record + 16) == id(None))
    return all(seen)


@cache
def has_dict_tags() -> bool:
    """Whether every change of a dict changes its tag, and nothing else does."""
    sample: dict[Any, Any] = {"a": 1}
    tags = [dict_tag(sample)]
    for change in (
        lambda: sample.__setitem__("a", 2),
        lambda: sample.__setitem__("b", 3),
        lambda: sample.pop("b"),
        lambda: sample.update(a=5),
        lambda: sample.setdefault("c", 1),
        lambda: sample.clear(),
    ):
        change()
        tags.append(dict_tag(sample))
    sample.get("a")
    return is_known() and len(set(tags)) == len(tags) and dict_tag(sample) == tags[-1]
