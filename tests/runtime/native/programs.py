"""Small programs for native entries, with the means to see what served their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm

SETTLED = 12  # calls after which the trial of an entry is over


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """``function`` compiled anew, whoever else compiled it; it has to be left compiled whatever that costs."""
    return jm.compile(function, **options)


def served_natively(function: Any) -> int:
    """Calls that compiled code answered or handed on."""
    return sum(int(entry.native_hits[0]) for entry in function.jit.frame.entries)


def goes_native(function: Any) -> bool:
    """Whether the newest entry is served without Python."""
    frame = function.jit.frame
    return frame.native is not None and frame.entries[0].goes_native


def same(found: Any, expected: Any) -> bool:
    """Bits, dtype, shape, strides and flags of arrays; tuples item by item."""
    if isinstance(expected, tuple):
        return type(found) is tuple and len(found) == len(expected) and all(map(same, found, expected))
    if type(found) is not type(expected) or found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if isinstance(found, np.ndarray) and (found.strides, found.flags.num) != (expected.strides, expected.flags.num):
        return False
    nan = np.isnan(expected) if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
    signs = np.signbit(found) == np.signbit(expected) if expected.dtype.kind == "f" else ~nan
    return bool(np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f") and signs[~nan].all())
