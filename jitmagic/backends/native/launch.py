"""Takes a form, gives the function that launches kernels with operands of that form.

The function is a builtin made of compiled code: it reads data, sizes and strides straight from the
ndarrays, packs the args block on its stack, decides between serial and threaded, and reports status
and floating-point flags. Its code depends on nothing but the form; what it needs from this process
(types, the pool) it finds in a table that the builtin carries as ``self``, so the code is stored
like any kernel.
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
from jitmagic.backends.native.abi import Operand, block_words, parse_form
from jitmagic.backends.native.compile import Kernel, compile_kernel
from jitmagic.backends.native.launch_fallback import make_fallback

__all__ = ["GIL_WORK", "POOL_WORK", "make_launcher"]

Launch = Callable[..., int]

# In units of work: about one arithmetic operation on one element, 0.3 to 1 ns.
GIL_WORK = 50_000  # above, the GIL is released; to get it back can cost a switch interval
POOL_WORK = 100_000  # above, the pool is used; waking it costs 5 to 50 us
CHUNK_WORK = 25_000  # no chunk has less work than this
CHUNKS_PER_THREAD = 4  # evens out cores of different speed
_ALIGN = 64  # long chunks are multiples of this, so that threads do not share cache lines

# Byte offsets of PyObject and PyArrayObject_fields (NumPy 2 ABI, 64 bits, builds with a GIL)
_TYPE, _DATA, _NDIM, _SIZES, _STRIDES = 8, 16, 24, 32, 40

# Words of the table
_ND_TYPE, _ERROR, _WRONG_COUNT, _WRONG_ARRAY, _POOL = range(5)


@cache
def make_launcher(form: str) -> Launch:
    """``launch(kernel_address, lo, hi, work, *operands) -> result``; see ``abi`` for forms and
    results.

    Runs the kernel over ``lo <= i < hi``. ``work`` estimates the units of work of one iteration: it
    decides whether the loop is long enough for releasing the GIL and for the pool; 0 keeps it
    serial and in the GIL. The result is ``status | flags << 8``, 0 if all is well. The kernel must
    be alive; operands are held by the call itself. Raises TypeError, before anything ran, if an
    operand does not fit the form.
    """
    if not _layout_is_known():
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
_kept: list[tuple[Kernel, _MethodDefinition]] = []  # a builtin only points to these; one per form


def _make_builtin(form: str) -> Launch:
    code = compile_kernel(launcher_source(form), "launch")
    method = _MethodDefinition(b"launch", code.address, _METH_FASTCALL, None)
    _kept.append((code, method))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    launch: Launch = new(ctypes.addressof(method), _table(), None)
    return launch


_REFERENCES: tuple[Any, ...] = (
    np.ndarray,
    TypeError,
    "launch(kernel_address, lo, hi, work, *operands): number of operands does not fit the form",
    "launch: an operand is not an ndarray of the dimensions that the form says",
    pool.pool_state,
)


@cache
def _table() -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([id(entry) for entry in _REFERENCES], np.int64)


# ---------------------------------------------------------------- the text of a launcher


def launcher_source(form: str) -> str:
    """The kernel-language text of the launcher for ``form``: a METH_FASTCALL function (self, argv,
    count).
    """
    operands = parse_form(form)
    lines = [
        "def launch(self, argv, count):",
        f"    table = load_int64(self, {_DATA})",
        *_fail(f"count != {4 + len(operands)}", _WRONG_COUNT),
        f"    block = stack({max(1, block_words(form)) * 8})",
        "    request = stack(48)",
        *_read_header(),
    ]
    for position, operand in enumerate(operands, start=4):
        lines.append(f"    item = load_int64(argv, {position * 8})")
        lines += _PACK[operand.kind](operand)
    return "\n".join([*lines, _TAIL.format(**_TAIL_CONSTANTS)])


def _fail(condition: str, message: int) -> list[str]:
    error, text = (f"load_int64(table, {slot * 8})" for slot in (_ERROR, message))
    return [f"    if {condition}:", f"        PyErr_SetObject({error}, {text})", "        return 0"]


def _unless_error(value: str, marker: str) -> list[str]:
    """CPython's conversions give -1 for an error, and for -1."""
    return [f"    if {value} == {marker} and PyErr_Occurred() != 0:", "        return 0"]


def _read_header() -> list[str]:
    lines = []
    for position, name in enumerate(("kernel", "lo", "hi", "work")):
        lines.append(f"    {name} = PyLong_AsLongLong(load_int64(argv, {position * 8}))")
        lines += _unless_error(name, "-1")
    return lines


def _pack_array(operand: Operand) -> list[str]:
    wanted = f"load_int64(table, {_ND_TYPE * 8})"
    kind = f"load_int64(item, {_TYPE})"
    lines = [
        *_fail(f"{kind} != {wanted} and PyType_IsSubtype({kind}, {wanted}) == 0", _WRONG_ARRAY),
        *_fail(f"load_int32(item, {_NDIM}) != {operand.ndim}", _WRONG_ARRAY),
        f"    store_int64(block, {operand.first * 8}, load_int64(item, {_DATA}))",
    ]
    word = operand.first + 1
    for source in (_SIZES, _STRIDES) if operand.ndim else ():
        lines.append(f"    words = load_int64(item, {source})")
        for axis in range(operand.ndim):
            lines.append(f"    store_int64(block, {word * 8}, load_int64(words, {axis * 8}))")
            word += 1
    return lines


def _pack_int(operand: Operand) -> list[str]:
    return [
        "    whole = PyLong_AsLongLong(item)",
        *_unless_error("whole", "-1"),
        f"    store_int64(block, {operand.first * 8}, whole)",
    ]


def _pack_unsigned(operand: Operand) -> list[str]:
    return [
        "    whole = PyLong_AsUnsignedLongLongMask(item)",
        *_unless_error("whole", "-1"),
        f"    store_int64(block, {operand.first * 8}, whole)",
    ]


def _pack_float(operand: Operand) -> list[str]:
    return _pack_real("PyFloat_AsDouble", operand.first)


def _pack_complex(operand: Operand) -> list[str]:
    return [
        *_pack_real("PyComplex_RealAsDouble", operand.first),
        *_pack_real("PyComplex_ImagAsDouble", operand.first + 1),
    ]


def _pack_real(function: str, word: int) -> list[str]:
    return [
        f"    real = {function}(item)",
        *_unless_error("real", "-1.0"),
        f"    store_float64(block, {word * 8}, real)",
    ]


_PACK: dict[str, Callable[[Operand], list[str]]] = {
    "a": _pack_array,
    "i": _pack_int,
    "u": _pack_unsigned,
    "d": _pack_float,
    "c": _pack_complex,
}

_TAIL_CONSTANTS = {
    "GIL_WORK": float(GIL_WORK),
    "POOL_WORK": float(POOL_WORK),
    "CHUNK_WORK": float(CHUNK_WORK),
    "CHUNKS_PER_THREAD": CHUNKS_PER_THREAD,
    "ALIGN": _ALIGN,
    "POOL": _POOL * 8,
    "SIZE": pool.SIZE_OFFSET,
    "RUN": pool.RUN_OFFSET,
}

# The work is a float64, because a product of two int64 may be out of range.
_TAIL = """\
    total_work = float(hi - lo) * float(work)
    flags = 0
    if total_work < {GIL_WORK}:
        clear_float_flags()
        status = call_kernel(kernel, block, lo, hi)
        return PyLong_FromLongLong(status | float_flags() << 8)
    state = 0
    if total_work >= {POOL_WORK} and hi - lo > 1:
        answer = PyObject_CallNoArgs(load_int64(table, {POOL}))
        if answer == 0:
            return 0
        state = PyLong_AsLongLong(answer)
        Py_DecRef(answer)
    thread = PyEval_SaveThread()
    clear_float_flags()
    if state == 0:
        status = call_kernel(kernel, block, lo, hi)
    else:
        pieces = load_int64(state, {SIZE}) * {CHUNKS_PER_THREAD}
        if total_work < {CHUNK_WORK} * float(pieces):
            pieces = np.int64(total_work / {CHUNK_WORK})
        chunk = (hi - lo - 1) // pieces + 1
        if chunk > 16 * {ALIGN}:
            chunk = ((chunk - 1) // {ALIGN} + 1) * {ALIGN}
        store_int64(request, 0, kernel)
        store_int64(request, 8, block)
        store_int64(request, 16, lo)
        store_int64(request, 24, hi)
        store_int64(request, 32, chunk)
        status = call_kernel(load_int64(state, {RUN}), state, request, 0)
        flags = load_int64(request, 40)
    flags |= float_flags()
    PyEval_RestoreThread(thread)
    return PyLong_FromLongLong(status | flags << 8)
"""
