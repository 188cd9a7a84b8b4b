"""Takes object code, gives the address of a function in it; unloads it when nobody holds it any
more and the next is linked.

Links with LLVM's ORC linker. Only the symbols below are resolved, whatever else the process
exports: an object that asks for another one is refused with an error (MCJIT would end the process).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from jitmagic.backends.native.abi import Address
from jitmagic.backends.native.once import once
from jitmagic.errors import InternalError

__all__ = ["ALLOWED_SYMBOLS", "link"]

_LIBM = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1
    fabs fdim floor fma fmod frexp gamma hypot ldexp lgamma log log10 log1p log2 modf nearbyint
    nextafter pow remainder rint round sin sinh sqrt tan tanh tgamma trunc
""".split()  # noqa: SIM905  # sixty one-line entries would hide the rest
_LIBC = ["memcpy", "memmove", "memset", "feclearexcept", "feraiseexcept", "fetestexcept"]
_PTHREAD = [
    "pthread_cond_broadcast",
    "pthread_cond_wait",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
]
_CPYTHON = [
    "PyComplex_ImagAsDouble",
    "PyComplex_RealAsDouble",
    "PyContextVar_Get",
    "PyDict_GetItemWithError",
    "PyErr_Clear",
    "PyErr_ExceptionMatches",
    "PyErr_Occurred",
    "PyErr_SetInterrupt",
    "PyErr_SetObject",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyFloat_AsDouble",
    "PyFunction_GetClosure",
    "PyFunction_GetCode",
    "PyFunction_GetDefaults",
    "PyFunction_GetGlobals",
    "PyFunction_GetKwDefaults",
    "PyGILState_Check",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLongMask",
    "PyLong_FromLongLong",
    "PyOS_InterruptOccurred",
    "PyObject_CallNoArgs",
    "PyObject_GenericGetDict",
    "PyObject_RichCompareBool",
    "PyObject_Vectorcall",
    "PyTuple_New",
    "PyType_IsSubtype",
    "Py_DecRef",
    "Py_IncRef",
    "_PyType_Lookup",
]
ALLOWED_SYMBOLS = frozenset([*_LIBM, *(f"{name}f" for name in _LIBM), *_LIBC, *_PTHREAD, *_CPYTHON])

_SHARE = 32  # libraries that one linker loads: it keeps 9 kB of each, also after that is unloaded


class _Linker:
    """One of LLVM's linkers, with the libraries that it has in memory, by name.

    What it keeps of a library that was unloaded goes with the linker itself: so each loads a few only, and is disposed
    of when the last of them is gone. The last linker of a process never is, not even at interpreter exit: a daemon
    thread may be inside a kernel until the process ends.
    """

    def __init__(self) -> None:
        _initialise()
        machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="default")
        self.engine = llvm.create_lljit_compiler(machine, suppress_errors=True)
        self.trackers: dict[str, Any] = {}
        self.loaded = 0
        self.ended = False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.engine))  # else the end of the interpreter disposes of it

    @property
    def is_full(self) -> bool:
        return self.loaded >= _SHARE

    def load(self, builder: Any) -> tuple[str, Any]:
        name = f"jitmagic.{self.loaded}"
        self.loaded += 1
        tracker = self.trackers[name] = builder.link(self.engine, name)
        return name, tracker

    def unload(self, name: str) -> None:
        tracker = self.trackers.pop(name)
        with contextlib.suppress(RuntimeError):  # what cannot be unloaded stays, which harms nobody
            tracker.close()
        self.end()

    def end(self) -> None:
        """Dispose of the linker if nothing more will be loaded, and nothing is."""
        if self.is_full and not self.trackers and not self.ended:
            self.ended = True
            self.engine.close()
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(self.engine))


_lock = threading.RLock()  # re-entrant: a signal handler may compile in here
_linkers: list[_Linker] = []  # the one that loads what comes next
_dead: deque[tuple[_Linker, str]] = deque()  # libraries that nobody calls any more

if hasattr(os, "register_at_fork"):  # nobody forks while a library is loaded or unloaded
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _Loaded:
    """A library in memory. It may die anywhere, also in a garbage collection while another thread compiles.

    To unload it there would wait for that thread, with whatever locks the program holds: the next ``link`` does it.
    """

    __slots__ = ("linker", "name")

    def __init__(self, linker: _Linker, name: str) -> None:
        self.linker, self.name = linker, name

    def __del__(self, bury: Callable[[tuple[_Linker, str]], None] = _dead.append) -> None:
        bury((self.linker, self.name))


def _unload_dead() -> None:
    while _dead:
        linker, name = _dead.popleft()
        linker.unload(name)


def _free_linker() -> _Linker:
    """The linker that loads the next library. Hold the lock."""
    if not _linkers:
        _linkers.append(_Linker())
    elif _linkers[0].is_full:
        _linkers[0].end()
        _linkers[0] = _Linker()
    return _linkers[0]


@once
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _known_symbols() -> dict[str, int]:
    """Address of every allowed symbol that this process has."""
    found = ((name, llvm.address_of_symbol(name)) for name in sorted(ALLOWED_SYMBOLS))
    return {name: address for name, address in found if address}


_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym
_SYMBOL_TABLE = 2  # SHT_SYMTAB


def undefined_symbols(object_code: bytes) -> set[str]:
    """The names that a little-endian ELF object needs from elsewhere; for other formats the linker alone decides.

    Layouts: System V ABI, chapter 4. Raises InternalError for a damaged object.
    """
    if object_code[:6] != b"\x7fELF\x02\x01":
        return set()
    try:
        return _undefined(object_code) - {"", "_GLOBAL_OFFSET_TABLE_"}
    except (struct.error, IndexError, ValueError) as error:
        raise InternalError(f"object code is damaged: {error}") from error


def _undefined(object_code: bytes) -> set[str]:
    (table_at,) = struct.unpack_from("<Q", object_code, 0x28)
    _, count = struct.unpack_from("<HH", object_code, 0x3A)
    sections = [_SECTION.unpack_from(object_code, table_at + k * _SECTION.size) for k in range(count)]
    found = set()
    for _, kind, _, _, start, size, link_to, *_ in sections:
        if kind == _SYMBOL_TABLE:
            names_at = sections[link_to][4]
            for name_at, _, _, section, _, _ in _SYMBOL.iter_unpack(object_code[start : start + size]):
                if section == 0:
                    begin = names_at + name_at
                    found.add(object_code[begin : object_code.index(b"\0", begin)].decode())
    return found


def link(object_code: bytes, symbol: str) -> Address:
    """Load ``object_code`` and look up ``symbol``.

    Raises InternalError if the object needs a symbol that is not allowed, or lacks ``symbol``.
    """
    needed = undefined_symbols(object_code)
    foreign = sorted(needed - ALLOWED_SYMBOLS)
    if foreign:
        raise InternalError(
            f"object code of {symbol} cannot be linked: it needs {', '.join(foreign)}, and kernels may only call "
            "what ALLOWED_SYMBOLS lists; write the loop in the kernel text instead"
        )
    builder = llvm.JITLibraryBuilder().add_object_img(object_code).export_symbol(symbol)
    known = _known_symbols()
    for name in sorted(needed & known.keys()):  # each costs memory that is not given back
        builder.import_symbol(name, known[name])
    try:
        with _lock:
            _unload_dead()
            linker = _free_linker()
            name, tracker = linker.load(builder)
    except RuntimeError as error:
        raise InternalError(f"object code of {symbol} cannot be linked: {error}") from error
    return Address(tracker[symbol], _Loaded(linker, name), len(object_code))
