"""Takes a kernel that accumulates along an axis, gives its loops as text.

The largest so far mostly stays what it is: where a whole block has nothing larger, the block is filled, and no element
waits for the one before it. Floats are compared among integers (see ``merging``). Where NaN or zeros of either sign
could matter the block is walked through, with NumPy's choice: what comes later wins unless it is smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Load, Scan, Store
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.merging import key_of, least_and_greatest

__all__ = ["emit_scans"]

BLOCK = 128
DType = np.dtype[Any]


def emit_scans(owner: Any) -> None:
    """The loops of ``owner.kernel``, by where its axis lies in memory."""
    kernel = owner.kernel
    scan = next(s for s in kernel.body if isinstance(s, Scan))
    places = [s.access for s in kernel.body if isinstance(s, Load | Store)]
    source, result = (owner.names[owner.over.get(place, place)] for place in places)
    others = " * ".join(f"n{axis}" for axis in kernel.order if axis not in kernel.reduced) or "1"
    length = f"n{kernel.reduced[0]}"
    lines = _along if kernel.shape in ("S", "KS") else _across
    for line in lines(scan, scan.out.dtype, source, result, length, others):
        owner.text.add(line)


def _along(scan: Scan, dtype: DType, source: str, result: str, length: str, others: str) -> list[str]:
    """One row of memory after the other."""
    size = dtype.itemsize
    lines = [
        "for row in range(lo, hi):",
        f"    x = {source} + row * {length} * {size}",
        f"    y = {result} + row * {length} * {size}",
        f"    state = load_{dtype}(x, 0)",
        f"    store_{dtype}(y, 0, state)",
    ]
    if scan.kind in _STEPS:
        return [
            *lines,
            f"    for j in range(1, {length}):",
            f"        state = {typed(_STEPS[scan.kind].format('state', f'load_{dtype}(x, j * {size})'), dtype)}",
            f"        store_{dtype}(y, j * {size}, state)",
        ]
    return [*lines, *(f"    {line}" for line in _blocks(scan.kind, dtype, length))]


def _blocks(kind: str, dtype: DType, length: str) -> list[str]:
    size = dtype.itemsize
    least, greatest, below, above = least_and_greatest(dtype)
    stays = f"top <= mine and low >= {below}" if kind == "max" else f"low >= mine and top <= {above}"
    keeps = "state > value or state != state" if kind == "max" else "state < value or state != state"
    return [
        f"for first in range(1, {length}, {BLOCK}):",
        f"    last = min(first + {BLOCK}, {length})",
        f"    top, low = {least}, {greatest}",
        "    for j in range(first, last):",
        f"        bits = {dtype}_to_bits(load_{dtype}(x, j * {size}))",
        f"        key = {key_of('bits', dtype)}",
        "        top = select(top < key, key, top)",
        "        low = select(key < low, key, low)",
        f"    bits = {dtype}_to_bits(state)",
        f"    mine = {key_of('bits', dtype)}",
        f"    if state != 0.0 and {stays}:",
        "        for j in range(first, last):",
        f"            store_{dtype}(y, j * {size}, state)",
        "    else:",
        "        for j in range(first, last):",
        f"            value = load_{dtype}(x, j * {size})",
        f"            if {keeps}:",
        "                value = state",
        "            state = value",
        f"            store_{dtype}(y, j * {size}, value)",
    ]


def _across(scan: Scan, dtype: DType, source: str, result: str, length: str, others: str) -> list[str]:
    """Row after row of memory; the range is over what lies in a row."""
    size = dtype.itemsize
    old, new = f"load_{dtype}(before, j * {size})", f"load_{dtype}(x, j * {size})"
    if scan.kind in _STEPS:
        value = typed(_STEPS[scan.kind].format(old, new), dtype)
    else:
        sides = ("new", "old") if scan.kind == "max" else ("old", "new")
        value = typed(f"select(less_{dtype}({sides[0]}, {sides[1]}) | (old != old), old, new)", dtype)
    return [
        "for j in range(lo, hi):",
        f"    store_{dtype}({result}, j * {size}, load_{dtype}({source}, j * {size}))",
        f"for row in range(1, {length}):",
        f"    x = {source} + row * ({others}) * {size}",
        f"    y = {result} + row * ({others}) * {size}",
        f"    before = y - ({others}) * {size}",
        "    for j in range(lo, hi):",
        f"        old = {old}",
        f"        new = {new}",
        f"        store_{dtype}(y, j * {size}, {value})",
    ]


_STEPS = {"cumsum": "{0} + {1}", "cumprod": "{0} * {1}"}
