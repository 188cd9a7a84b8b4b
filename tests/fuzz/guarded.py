"""Takes a side, gives every new array of NumPy memory that ends (or starts) where nobody may read or write.

A kernel that leaves its arrays ends the process at once, at the program that did it, and not calls later where the heap
is found broken. Freed memory is filled with a pattern. Run as a program it looks at the array programs of some seeds::

    python -m tests.fuzz.guarded FIRST LAST [BACKEND]
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal

import numpy as np

from jitmagic.backends.native import Kernel, compile_kernel
from jitmagic.runtime.native.layout import API
from tests.fuzz.array_check import look_at

__all__ = ["guarded"]

Side = Literal["start", "end"]

# A block: a page with its size, a forbidden page, its pages, a forbidden page. ``context`` is a table of addresses.
_PAGE = mmap.PAGESIZE
_WORDS = {n: k * 8 for k, n in enumerate(("AT_END", "ALIGNED", "PROTECT", "SET", "COPY", "FREE", "ALLOCATE", "GIVE"))}
_NAMES = {**_WORDS, "PAGE": _PAGE, "NOTHING": 0, "ANYTHING": 3}
_ALLOCATE = """
def allocate(context, size, unused):
    used = max(size, 1)
    pages = (used + {PAGE} - 1) // {PAGE} * {PAGE}
    place = stack(8)
    if call_kernel(load_int64(context, {ALIGNED}), place, {PAGE}, pages + 3 * {PAGE}) & 0xFFFFFFFF != 0:
        return 0
    head = load_int64(place, 0)
    store_int64(head, 0, size)
    store_int64(head, 8, pages)
    first = head + 2 * {PAGE}
    call_kernel(load_int64(context, {SET}), first, 0xAB, pages)
    call_kernel(load_int64(context, {PROTECT}), head + {PAGE}, {PAGE}, {NOTHING})
    call_kernel(load_int64(context, {PROTECT}), first + pages, {PAGE}, {NOTHING})
    if load_int64(context, {AT_END}) != 0:
        first += pages - used
    return first
"""
_CLEARED = """
def cleared(context, count, each):
    made = call_kernel(load_int64(context, {ALLOCATE}), context, count * each, 0)
    if made != 0:
        call_kernel(load_int64(context, {SET}), made, 0, count * each)
    return made
"""
_GIVE = """
def give(context, block, unused):
    if block == 0:
        return 0
    first = block // {PAGE} * {PAGE}
    head = first - 2 * {PAGE}
    pages = load_int64(head, 8)
    call_kernel(load_int64(context, {PROTECT}), head + {PAGE}, {PAGE}, {ANYTHING})
    call_kernel(load_int64(context, {PROTECT}), first + pages, {PAGE}, {ANYTHING})
    call_kernel(load_int64(context, {SET}), first, 0xDD, pages)
    call_kernel(load_int64(context, {FREE}), head, 0, 0)
    return 0
"""
_RESIZE = """
def resize(context, block, size):
    made = call_kernel(load_int64(context, {ALLOCATE}), context, size, 0)
    if made != 0 and block != 0:
        before = load_int64(block // {PAGE} * {PAGE} - 2 * {PAGE}, 0)
        call_kernel(load_int64(context, {COPY}), made, block, min(before, size))
        call_kernel(load_int64(context, {GIVE}), context, block, 0)
    return made
"""


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler``."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")),
    )


@cache
def _handler(side: Side) -> tuple[Any, ...]:
    """The capsule for NumPy, and what it points to: arrays are freed by the handler that made them, however late."""
    texts = {"malloc": _ALLOCATE, "calloc": _CLEARED, "realloc": _RESIZE, "free": _GIVE}
    names = {"malloc": "allocate", "calloc": "cleared", "realloc": "resize", "free": "give"}
    kernels: dict[str, Kernel] = {k: compile_kernel(t.format(**_NAMES), names[k]) for k, t in texts.items()}
    library = ("posix_memalign", "mprotect", "memset", "memcpy", "free")
    symbols = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in library]
    addresses = {name: int(kernel.address) for name, kernel in kernels.items()}
    table = np.array([side == "end", *symbols, addresses["malloc"], addresses["free"]], np.int64)
    handler = _Handler(
        b"guarded", 1, table.ctypes.data, *(addresses[n] for n in ("malloc", "calloc", "realloc", "free"))
    )
    name = ctypes.create_string_buffer(b"mem_handler")
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    return new(ctypes.addressof(handler), ctypes.addressof(name), None), handler, table, kernels, name


_SET_HANDLER = 304  # where NumPy's C API has PyDataMem_SetHandler


@cache
def _set_handler() -> Callable[[Any], Any]:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = ctypes.c_void_p.from_address(pointer(API, None) + _SET_HANDLER * 8).value
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)


@contextlib.contextmanager
def guarded(side: Side) -> Iterator[None]:
    """Arrays that this thread makes have a forbidden page on that side."""
    before = _set_handler()(_handler(side)[0])
    try:
        yield
    finally:
        _set_handler()(before)


def main(first: int, last: int, backend: str = "numba") -> None:
    """Look at the programs of these seeds on both sides; the process ends where one leaves its arrays."""
    faulthandler.enable()
    sides: tuple[Side, ...] = ("end", "start")
    for side in sides:
        with guarded(side):
            look_at(first, last, backend)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
