"""The contract between kernels and those who call them.

A kernel is machine code for ``int64 kernel(int64 *args, int64 lo, int64 hi)``. It works on the part
``lo <= i < hi`` of its outermost loop and gives a ``Status``. ``args`` is a block of 8-byte words
that the launcher packs in the order of the operands; a *form* such as ``"a1a2id"`` says what each
operand is:

    ====  ===========================  ==============================================
    form  operand                      words
    ====  ===========================  ==============================================
    aN    ndarray of N dimensions      data address, N sizes, N strides (in bytes)
    i     Python or NumPy integer      its value as int64
    u     Python or NumPy integer      its low 64 bits (for uint64)
    d     Python or NumPy float        the bits of the float64
    c     complex or numpy.complex128  the bits of the real, then of the imaginary part
    ====  ===========================  ==============================================
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import cache
from typing import NoReturn

import llvmlite.binding as llvm

from jitmagic.errors import InternalError

__all__ = [
    "FEW_TURNS",
    "Address",
    "FloatFlag",
    "Operand",
    "Status",
    "block_words",
    "can_stream",
    "has_half",
    "parse_form",
    "split_result",
]

WORD_BYTES = 8
MAX_DIMENSIONS = 64  # NPY_MAXDIMS of NumPy 2


class Status(IntEnum):
    """What a kernel reports; the numbers are part of stored object code and never change."""

    OK = 0
    INDEX_ERROR = 1  # an index was out of bounds
    OVERFLOW = 2  # a Python integer left the range of int64
    ZERO_DIVISION = 3  # a Python number was divided by zero
    OVERLAP = 4  # operands share memory in a way that the kernel does not allow
    SHAPE_ERROR = 5  # sizes known only at run time do not fit
    VALUE_ERROR = 6  # a value that NumPy refuses
    EXIT = 7  # the loop stopped early on purpose; the exit record says where
    INTERRUPTED = 8  # Ctrl-C
    MEMORY = 9  # no memory for a buffer
    INNER_LOOP = 10  # a strided inner loop of NumPy reported an error
    RAISED = 11  # a Numba function used in the kernel raised; kernels are written so that none does


class FloatFlag(IntFlag):
    """Floating-point conditions, numbered as NumPy numbers them (``NPY_FPE_*``)."""

    NONE = 0
    DIVIDE = 1
    OVER = 2
    UNDER = 4
    INVALID = 8


# The first line of a text whose loops turn a few times only: vectorised code would be slower, and longer.
FEW_TURNS = "# loops of few turns\n"


class Address(int):
    """A machine address that keeps its target alive: pass it on as it is, not as a plain int."""

    target: object
    size_bytes: int  # of the object code behind it

    def __new__(cls, value: int, target: object, size_bytes: int = 0) -> Address:
        self = super().__new__(cls, value)
        self.target = target
        self.size_bytes = size_bytes
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the address {int(self):#x} means nothing to another process; send the kernel's text")


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a form: its kind letter, its dimensions, and its words ``first .. first +
    words``.
    """

    kind: str
    ndim: int
    first: int
    words: int


_SCALAR_WORDS = {"i": 1, "u": 1, "d": 1, "c": 2}
_OPERAND = re.compile(r"a(\d+)|([iudc])")


def parse_form(form: str) -> tuple[Operand, ...]:
    """The operands of a form, each with its place in the args block."""
    operands: list[Operand] = []
    first = end = 0
    for match in _OPERAND.finditer(form):
        if match.start() != end:
            break
        end = match.end()
        operand = _operand(match, first)
        operands.append(operand)
        first += operand.words
    if end != len(form):
        raise InternalError(
            f"launch form {form!r} is not understood at {form[end:]!r}; "
            "write aN for an ndarray of N dimensions, and i, u, d, c for scalars"
        )
    return tuple(operands)


def _operand(match: re.Match[str], first: int) -> Operand:
    if match[1] is None:
        return Operand(match[2], 0, first, _SCALAR_WORDS[match[2]])
    ndim = int(match[1])
    if ndim > MAX_DIMENSIONS:
        raise InternalError(f"launch form asks for {ndim} dimensions; NumPy has {MAX_DIMENSIONS}")
    return Operand("a", ndim, first, 1 + 2 * ndim)


@cache
def has_half() -> bool:
    """Whether kernels on this CPU have ``load_float16`` and ``store_float16``."""
    if platform.machine().lower() in {"aarch64", "arm64"}:
        return True
    return bool(llvm.get_host_cpu_features().get("f16c", False))


@cache
def can_stream() -> bool:
    """Whether kernels on this CPU have ``stream_line``."""
    return platform.machine().lower() in {"x86_64", "amd64"}


def block_words(form: str) -> int:
    """How many 8-byte words the args block of a form has."""
    return sum(operand.words for operand in parse_form(form))


def split_result(result: int) -> tuple[Status, FloatFlag]:
    """What a launch gave, taken apart: the status in the low byte, floating-point flags above."""
    return Status(result & 0xFF), FloatFlag(result >> 8)
