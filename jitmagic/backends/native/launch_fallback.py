"""The launcher in plain Python: same interface and results, for builds whose objects look
different.

Takes a form, gives ``launch(kernel_address, lo, hi, work, *operands)``. Slower (tens of
microseconds), always serial, releases the GIL around every kernel.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.backends.native import flags
from jitmagic.backends.native.abi import Operand, parse_form

__all__ = ["make_fallback"]

_KERNEL = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)


def make_fallback(form: str) -> Callable[..., int]:
    """The launcher of ``form`` through ctypes."""
    operands = parse_form(form)

    def launch(kernel_address: int, lo: int, hi: int, work: int, *values: Any) -> int:
        if len(values) != len(operands):
            raise TypeError(f"launch got {len(values)} operands; the form {form!r} has {len(operands)}")
        words = [w for o, v in zip(operands, values, strict=True) for w in _PACK[o.kind](o, v)]
        block = struct.pack(f"={len(words)}Q", *words)
        buffer = ctypes.create_string_buffer(block, max(1, len(block)))
        flags.clear()
        status = _KERNEL(kernel_address)(ctypes.addressof(buffer), lo, hi)
        return int(status) | int(flags.read()) << 8

    return launch


def _unsigned(value: int) -> int:
    return value & 0xFFFF_FFFF_FFFF_FFFF


def _pack_array(operand: Operand, value: Any) -> Iterator[int]:
    if not isinstance(value, np.ndarray) or value.ndim != operand.ndim:
        raise TypeError(f"launch: expected an ndarray of {operand.ndim} dimensions, got {value!r}")
    yield value.ctypes.data
    yield from value.shape
    yield from map(_unsigned, value.strides)


def _pack_int(operand: Operand, value: Any) -> Iterator[int]:
    whole = value.__index__()
    if not -(2**63) <= whole < 2**63:
        raise OverflowError(f"launch: {whole} does not fit into int64")
    yield _unsigned(whole)


def _pack_unsigned(operand: Operand, value: Any) -> Iterator[int]:
    yield _unsigned(value.__index__())


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("=d", value), _BYTE_ORDER)


def _pack_float(operand: Operand, value: Any) -> Iterator[int]:
    yield _bits(float(value))


def _pack_complex(operand: Operand, value: Any) -> Iterator[int]:
    if not isinstance(value, complex):  # numpy.complex64 would lose its imaginary part on the way, as CPython reads it
        raise TypeError(f"launch: an operand is not a complex number of 128 bits, but {value!r}")
    yield _bits(value.real)
    yield _bits(value.imag)


_BYTE_ORDER: Any = "little" if np.little_endian else "big"
_PACK: dict[str, Callable[[Operand, Any], Iterator[int]]] = {
    "a": _pack_array,
    "i": _pack_int,
    "u": _pack_unsigned,
    "d": _pack_float,
    "c": _pack_complex,
}
