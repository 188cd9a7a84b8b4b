"""Takes the two sides of ``a[...] = b``, tells whether NumPy's order of copying shows in what comes out.

NumPy reads the right side first where it makes a copy of it; between vectors whose strides point the same way it makes
none, and copies element by element: backwards if the source starts before the target and reaches into it, else
forwards. With unequal strides an element may then be overwritten before it is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["may_show_order", "shows_order"]

Array = np.ndarray[Any, Any]


def may_show_order(a: Array, b: Array) -> bool:
    """Whether it can, from the strides alone."""
    if a.ndim != 1 or not b.ndim or a.shape[0] < 2 or b.shape[-1] < 2:
        return False
    return a.strides[0] != b.strides[-1] and a.strides[0] * b.strides[-1] > 0


def shows_order(a: Array, b: Array) -> bool:
    """Whether an element of ``b`` is written, as one of ``a``, before it is read."""
    if not may_show_order(a, b) or not np.may_share_memory(a, b) or a.shape[0] != b.shape[-1]:
        return False
    n = a.shape[0]
    start_a, start_b = (x.__array_interface__["data"][0] for x in (a, b))
    step_a, step_b = a.strides[0], b.strides[-1]
    backwards = start_b < start_a < start_b + n * step_b
    order = np.arange(n)[:: -1 if backwards else 1]
    written, read = start_a + order * step_a, start_b + order * step_b
    places = {address: i for i, address in enumerate(written.tolist())}
    return any(places.get(address, n) < i for i, address in enumerate(read.tolist()))
