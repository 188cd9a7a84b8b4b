"""Takes a form, gives the function that launches kernels with operands of that form.

The function is a builtin made of compiled code: it reads data, sizes and strides straight from the
ndarrays, packs the args block on its stack, decides between serial and threaded, and reports status
and floating-point flags. One piece of code serves every form (a compile per form took 0.2 s): the
form, and what the code needs from this process (types, the pool), stand in a table that the builtin
carries as ``self``. So the code is stored like any kernel.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jitmagic.backends.native import pool
from jitmagic.backends.native.abi import Operand, Status, block_words, parse_form
from jitmagic.backends.native.compile import Kernel, compile_kernel
from jitmagic.backends.native.launch_fallback import make_fallback
from jitmagic.backends.native.once import once

__all__ = ["GIL_WORK", "POOL_WORK", "make_launcher", "prepare"]

Launch = Callable[..., int]

# In units of work: about one arithmetic operation on one element, 0.3 to 1 ns.
GIL_WORK = 50_000  # above, the GIL is released; to get it back can cost a switch interval
POOL_WORK = 100_000  # above, the pool is used; waking it costs 5 to 50 us
CHUNK_WORK = 25_000  # no chunk has less work than this
CHUNKS_PER_THREAD = 4  # evens out cores of different speed
ALIGN = 64  # long chunks, and all of columns, are multiples of this, so that threads do not share cache lines

# Byte offsets of PyObject and PyArrayObject_fields (NumPy 2 ABI, 64 bits, builds with a GIL)
_TYPE, _DATA, _NDIM, _SIZES, _STRIDES = 8, 16, 24, 32, 40

# Words of the table; one code per operand follows: dimensions of an ndarray, or a scalar kind
_ND_TYPE, _ERROR, _WRONG_COUNT, _WRONG_ARRAY, _POOL, _COMPLEX_TYPE, _WRONG_COMPLEX, _COUNT, _CODES = range(9)
_SCALAR_CODES = {"i": -1, "u": -2, "d": -3, "c": -4}
_MAX_BLOCK_BYTES = 8192


@cache
def make_launcher(form: str) -> Launch:
    """``launch(kernel_address, lo, hi, work, *operands) -> result``; see ``abi`` for forms and results.

    Runs the kernel over ``lo <= i < hi``. ``work`` estimates the units of work of one iteration: it decides
    whether the loop is long enough for releasing the GIL and for the pool; 0 keeps it serial and in the GIL.
    Below 0 it is as much, and iterations write side by side, time and again: threads get whole cache lines of them.
    The result is ``status | flags << 8``, 0 if all is well. The call keeps ``Kernel.address`` and the operands
    alive. Raises TypeError, before anything ran, if an operand does not fit the form.
    """
    if not _layout_is_known() or block_words(form) * 8 > _MAX_BLOCK_BYTES:
        return make_fallback(form)
    return _make_builtin(form)


@cache
def _layout_is_known() -> bool:
    """Whether objects of this build look as the launcher assumes; checked on a real array."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") or sys.implementation.name != "cpython":
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.platform == "win32":
        return False
    sample = np.zeros((3, 5), np.float32)[:, ::2]
    start = id(sample)
    word = ctypes.c_int64.from_address
    return (
        word(start + _TYPE).value == id(np.ndarray)
        and word(start + _DATA).value == sample.ctypes.data
        and ctypes.c_int32.from_address(start + _NDIM).value == 2
        and tuple((ctypes.c_int64 * 2).from_address(word(start + _SIZES).value)) == sample.shape
        and tuple((ctypes.c_int64 * 2).from_address(word(start + _STRIDES).value)) == sample.strides
    )


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80


@once
def prepare() -> tuple[Kernel, Kernel, Kernel]:
    """Compile (or load) the code of launcher and pool, kept for the life of the process."""
    return _method()[1], *pool.prepare()


@once
def _method() -> tuple[_MethodDefinition, Kernel]:
    """A builtin only points to its method definition, and that to the code: both are kept."""
    code = compile_kernel(_LAUNCH.format(**_CONSTANTS), "launch")
    return _MethodDefinition(b"launch", code.address, _METH_FASTCALL, None), code


def _make_builtin(form: str) -> Launch:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    method, _ = _method()
    launch: Launch = new(ctypes.addressof(method), _table(parse_form(form)), None)
    return launch


# What the table points to lives as long as this module.
_REFERENCES: tuple[Any, ...] = (
    np.ndarray,
    TypeError,
    "launch(kernel_address, lo, hi, work, *operands): number of operands does not fit the form",
    "launch: an operand is not an ndarray of the dimensions that the form says",
    pool.pool_state,
    complex,
    "launch: an operand is not a complex number of 128 bits",
)


def _table(operands: tuple[Operand, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    codes = (o.ndim if o.kind == "a" else _SCALAR_CODES[o.kind] for o in operands)
    return np.array([*map(id, _REFERENCES), len(operands), *codes], np.int64)


_CONSTANTS = {
    "TYPE": _TYPE,
    "DATA": _DATA,
    "NDIM": _NDIM,
    "SIZES": _SIZES,
    "STRIDES": _STRIDES,
    "ND_TYPE": _ND_TYPE * 8,
    "ERROR": _ERROR * 8,
    "WRONG_COUNT": _WRONG_COUNT * 8,
    "WRONG_ARRAY": _WRONG_ARRAY * 8,
    "POOL": _POOL * 8,
    "COMPLEX_TYPE": _COMPLEX_TYPE * 8,
    "WRONG_COMPLEX": _WRONG_COMPLEX * 8,
    "COUNT": _COUNT * 8,
    "CODES": _CODES * 8,
    "UNSIGNED": _SCALAR_CODES["u"],
    "INTEGER": _SCALAR_CODES["i"],
    "COMPLEX": _SCALAR_CODES["c"],
    "MAX_BLOCK_BYTES": _MAX_BLOCK_BYTES,
    "GIL_WORK": float(GIL_WORK),
    "POOL_WORK": float(POOL_WORK),
    "CHUNK_WORK": float(CHUNK_WORK),
    "CHUNKS_PER_THREAD": CHUNKS_PER_THREAD,
    "ALIGN": ALIGN,
    "SIZE": pool.SIZE_OFFSET,
    "RUN": pool.RUN_OFFSET,
    "INNER_LOOP": int(Status.INNER_LOOP),
}

# A METH_FASTCALL function: (self, argv, count) -> object. CPython's conversions give -1 for an
# error, and for -1. The work is a float64, because a product of two int64 may be out of range. A
# loop of NumPy may leave a Python error behind (integer powers do): the caller finds it again by
# running NumPy.
_LAUNCH = """
def launch(self, argv, count):
    table = load_int64(self, {DATA})
    operands = load_int64(table, {COUNT})
    if count != operands + 4:
        PyErr_SetObject(load_int64(table, {ERROR}), load_int64(table, {WRONG_COUNT}))
        return 0
    block = stack({MAX_BLOCK_BYTES})
    request = stack(48)
    for position in range(4):
        whole = PyLong_AsLongLong(load_int64(argv, position * 8))
        if whole == -1 and PyErr_Occurred() != 0:
            return 0
        store_int64(request, position * 8, whole)
    kernel = load_int64(request, 0)
    lo = load_int64(request, 8)
    hi = load_int64(request, 16)
    total_work = float(hi - lo) * float(load_int64(request, 24))
    least = 1
    if total_work < 0.0:
        total_work = -total_work
        least = {ALIGN}
    place = block
    for position in range(operands):
        item = load_int64(argv, (position + 4) * 8)
        code = load_int64(table, {CODES} + position * 8)
        if code >= 0:
            kind = load_int64(item, {TYPE})
            wanted = load_int64(table, {ND_TYPE})
            fits = kind == wanted or PyType_IsSubtype(kind, wanted) != 0
            if not fits or load_int32(item, {NDIM}) != code:
                PyErr_SetObject(load_int64(table, {ERROR}), load_int64(table, {WRONG_ARRAY}))
                return 0
            store_int64(place, 0, load_int64(item, {DATA}))
            place += 8
            sizes = load_int64(item, {SIZES})
            strides = load_int64(item, {STRIDES})
            for axis in range(code):
                store_int64(place, axis * 8, load_int64(sizes, axis * 8))
                store_int64(place, (code + axis) * 8, load_int64(strides, axis * 8))
            place += code * 16
        elif code >= {UNSIGNED}:
            if code == {INTEGER}:
                whole = PyLong_AsLongLong(item)
            else:
                whole = PyLong_AsUnsignedLongLongMask(item)
            if whole == -1 and PyErr_Occurred() != 0:
                return 0
            store_int64(place, 0, whole)
            place += 8
        else:
            if code == {COMPLEX}:
                if PyType_IsSubtype(load_int64(item, {TYPE}), load_int64(table, {COMPLEX_TYPE})) == 0:
                    PyErr_SetObject(load_int64(table, {ERROR}), load_int64(table, {WRONG_COMPLEX}))
                    return 0
                real = PyComplex_RealAsDouble(item)
                store_float64(place, 8, PyComplex_ImagAsDouble(item))
            else:
                real = PyFloat_AsDouble(item)
            if real == -1.0 and PyErr_Occurred() != 0:
                return 0
            store_float64(place, 0, real)
            place += 8
            if code == {COMPLEX}:
                place += 8
    state = 0
    if total_work >= {POOL_WORK} and hi - lo > least:
        answer = PyObject_CallNoArgs(load_int64(table, {POOL}))
        if answer == 0:
            return 0
        state = PyLong_AsLongLong(answer)
        Py_DecRef(answer)
    thread = 0
    if total_work >= {GIL_WORK}:
        thread = PyEval_SaveThread()
    clear_float_flags()
    flags = 0
    if state == 0:
        status = call_kernel(kernel, block, lo, hi)
    else:
        pieces = load_int64(state, {SIZE}) * {CHUNKS_PER_THREAD}
        if total_work < {CHUNK_WORK} * float(pieces):
            pieces = np.int64(total_work / {CHUNK_WORK})
        chunk = (hi - lo - 1) // pieces + 1
        if least > 1 or chunk > 16 * {ALIGN}:
            chunk = ((chunk - 1) // {ALIGN} + 1) * {ALIGN}
        store_int64(request, 0, kernel)
        store_int64(request, 8, block)
        store_int64(request, 16, lo)
        store_int64(request, 24, hi)
        store_int64(request, 32, chunk)
        status = call_kernel(load_int64(state, {RUN}), state, request, 0)
        flags = load_int64(request, 40)
    flags |= float_flags()
    if thread != 0:
        PyEval_RestoreThread(thread)
    if PyErr_Occurred() != 0:
        PyErr_Clear()
        status = {INNER_LOOP}
    return PyLong_FromLongLong(status | flags << 8)
"""
