"""The compiled code of native entries: takes it from the kernel store, or has it compiled apart from the notebook."""

from __future__ import annotations

import atexit
import ctypes
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.native import Kernel, compile_kernel, load_kernel
from jitmagic.backends.native.pool import pool_state
from jitmagic.config import current
from jitmagic.errors import InternalError
from jitmagic.runtime.native.apart_text import APART_TEXT
from jitmagic.runtime.native.door_text import DOOR_TEXT
from jitmagic.runtime.native.entry_text import ENTRY_TEXT, Head
from jitmagic.runtime.native.layout import API, ERRSTATE, is_known
from jitmagic.runtime.native.steps_text import STEPS_TEXT
from jitmagic.runtime.native.words import Words

__all__ = ["compile_apart", "entry_words", "is_ready", "make_builtin", "prepare", "write_head"]

_TEXTS = (("entry", ENTRY_TEXT), ("steps", STEPS_TEXT), ("door", DOOR_TEXT), ("apart", APART_TEXT))
_NEW_FROM_DESCR, _SCALAR = 94, 60  # where NumPy's C API has PyArray_NewFromDescr and PyArray_Scalar


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80
_kernels: dict[str, Kernel] = {}
_definitions: dict[str, _MethodDefinition] = {}  # a builtin only points to its definition, and that to the code


def prepare() -> bool:
    """Compile the code, or take it from the store; False where this build is not known."""
    if not is_known():
        return False
    for name, text in _TEXTS:
        _kernels.setdefault(name, compile_kernel(text, name))
    return True


def is_ready() -> bool:
    """Whether native entries can be made now: their code is loaded, or in the store."""
    if len(_kernels) == len(_TEXTS):
        return True
    if not is_known():
        return False
    found = {name: load_kernel(text, name) for name, text in _TEXTS}
    _kernels.update((name, kernel) for name, kernel in found.items() if kernel is not None)
    return len(_kernels) == len(_TEXTS)


@cache
def compile_apart() -> subprocess.Popen[bytes] | None:
    """Fill the store from a process of its own: compiling takes seconds, and a thread would stall this process.

    What is compiled after that gets native entries; until then generated Python serves the calls. With
    ``background=False`` it is compiled here and now. Gives the process, if one was started.
    """
    if is_ready() or not is_known():
        return None
    if not current().background:
        prepare()
        return None
    command = [sys.executable, "-c", _CHILD, str(current().cache_dir), *sys.path]
    none = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=none, stdout=none, stderr=none)
    except OSError:  # no process can be started here
        return None
    atexit.register(_end, process)
    return process


# The child imports what this process imports, fills the same store, and leaves the processor to others.
_CHILD = f"""
import os, pathlib, sys
sys.path[:] = sys.argv[2:]
if hasattr(os, "nice"):
    os.nice(10)
from jitmagic.config import configure
from {__name__} import prepare
configure(cache_dir=pathlib.Path(sys.argv[1]))
prepare()
"""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing behind; also collects a process that has ended by itself."""
    if process.poll() is None:
        process.kill()
    process.wait()


def make_builtin(name: str, owner: Any) -> Callable[..., Any]:
    """The builtin that runs the code ``name`` (entry, door or apart) for ``owner``, which it keeps alive."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    builtin: Callable[..., Any] = new(ctypes.addressof(_definition(name)), owner, None)
    return builtin


def entry_words() -> bytes:
    """Class and definition of every builtin that ``make_builtin("entry", ...)`` gives: two words."""
    return struct.pack("<qq", id(type(len)), ctypes.addressof(_definition("entry")))


def _definition(name: str) -> _MethodDefinition:
    if name not in _definitions:
        definition = _MethodDefinition(name.encode(), _kernels[name].address, _METH_FASTCALL, None)
        _definitions.setdefault(name, definition)
    return _definitions[name]


def write_head(words: Words, slow: Callable[..., Any], bailed: Callable[..., Any], modes: list[int]) -> None:
    """The first words of a table for calls with ``len(modes)`` arguments."""
    head: dict[Head, int] = {
        Head.COUNT: len(modes),
        Head.SLOW: words.keep(slow),
        Head.BAILED: words.keep(bailed),
        Head.BAIL: id(Bail),
        Head.ND_TYPE: id(np.ndarray),
        Head.FLOAT_TYPE: id(float),
        Head.INT_TYPE: id(int),
        Head.NONE: id(None),
        Head.ERRSTATE: id(ERRSTATE),
        Head.TYPE_TYPE: id(type),
        Head.FUNCTION_TYPE: id(type(write_head)),
        Head.STEPS: _kernels["steps"].address,
        Head.POOL: id(pool_state),
        Head.NEW_ARRAY: _numpy_function(_NEW_FROM_DESCR),
        Head.NEW_SCALAR: _numpy_function(_SCALAR),
    }
    words.add(*(head.get(place, 0) for place in Head if place is not Head.MODES), *modes)


@cache
def _numpy_function(index: int) -> int:
    """Its address, by its place in NumPy's C API."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    table = pointer(API, None)
    address = ctypes.c_void_p.from_address(table + index * 8).value if table else None
    if address is None:
        raise InternalError("NumPy's table of C functions is empty: native entries cannot make arrays")
    return address
