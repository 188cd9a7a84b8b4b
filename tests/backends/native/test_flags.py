"""Flags of this thread, in NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.native import FloatFlag, compile_kernel, flags
from jitmagic.backends.native.launch_fallback import make_fallback

RAISE = """
def kernel(args, lo, hi):
    store_float64(arg(args, 2), 0, arg_float64(args, 0) / arg_float64(args, 1))
    return 0
"""


@pytest.mark.parametrize(
    ("x", "y", "flag"),
    [
        (1.0, 0.0, FloatFlag.DIVIDE),
        (0.0, 0.0, FloatFlag.INVALID),
        (1e300, 1e-300, FloatFlag.OVER),
        (1e-300, 1e300, FloatFlag.UNDER),
    ],
)
def test_reading_leaves_flags_and_clearing_removes_them(x: float, y: float, flag: FloatFlag) -> None:
    kernel = compile_kernel(RAISE, "kernel")
    make_fallback("dda1")(kernel.address, 0, 1, 0, x, y, np.zeros(1))
    assert flag in flags.read()
    assert flag in flags.read()
    flags.clear()
    assert flags.read() == FloatFlag.NONE
