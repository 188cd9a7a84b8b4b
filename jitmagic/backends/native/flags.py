"""Floating-point flags: takes what the C library calls them here, gives NumPy's numbers for them.

The flags belong to a thread. A launch clears them before the kernel and reads them after it; the
workers of the pool do the same and their flags are joined. They say what *some* instruction of the
kernel met, not where: vectorised code may also compute lanes whose result is thrown away, so a flag
means "may have happened".
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any

from jitmagic.backends.native.abi import FloatFlag

__all__ = ["C_FLAGS", "clear", "read"]

_X86 = {
    FloatFlag.INVALID: 0x01,
    FloatFlag.DIVIDE: 0x04,
    FloatFlag.OVER: 0x08,
    FloatFlag.UNDER: 0x10,
}
_ARM = {
    FloatFlag.INVALID: 0x01,
    FloatFlag.DIVIDE: 0x02,
    FloatFlag.OVER: 0x04,
    FloatFlag.UNDER: 0x08,
}
_BY_MACHINE = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}

# FE_* of <fenv.h> for each of NumPy's flags; empty on a machine whose numbers are not known here
C_FLAGS: dict[FloatFlag, int] = _BY_MACHINE.get(platform.machine().lower(), {})
ALL_C_FLAGS = sum(C_FLAGS.values())


@cache
def _libm() -> Any:
    return ctypes.CDLL(None)


def read() -> FloatFlag:
    """The flags of the calling thread."""
    found: int = _libm().fetestexcept(ALL_C_FLAGS)
    result = FloatFlag.NONE
    for flag, bit in C_FLAGS.items():
        if found & bit:
            result |= flag
    return result


def clear() -> None:
    """Clear the flags of the calling thread."""
    _libm().feclearexcept(ALL_C_FLAGS)
