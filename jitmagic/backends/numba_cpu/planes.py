"""Takes arrays of (batch, channels, *spatial), gives what kernels that go over their planes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.backends.numba_cpu.text import Text

__all__ = ["DTYPES", "WORDS", "as_planes", "planes_text", "with_rows"]

DTYPES = "fd"
WORDS = 9  # of an array of four axes: address, sizes, strides


def as_planes(x: Any) -> Any:
    """With four axes, the elements of a row next to each other; an array with one spatial axis has one row."""
    x = x if x.ndim == 4 else x[:, :, None]
    return x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x)


def with_rows(setting: Any, one: Any) -> Any:
    """A setting for rows and columns; ``one`` for the rows of data without."""
    return tuple(setting) if len(setting) == 2 else (one, *setting)


def planes_text(text: Text, sizes: tuple[int, int] | None, out: tuple[int, int] | None, operand: int = 1) -> None:
    """Begins a kernel whose first operand are planes of ``sizes``, and whose operand of that number are of ``out``."""
    text.open("def kernel(args, lo, hi):")
    text.add(f"first, second = arg(args, 0), arg(args, {WORDS})")
    text.add("channels, apart, deep, down = arg(args, 2), arg(args, 5), arg(args, 6), arg(args, 7)")
    for names, known, at in (("high, wide", sizes, 3), ("rows, across", out, WORDS * operand + 3)):
        text.add(f"{names} = {known[0]}, {known[1]}" if known else f"{names} = arg(args, {at}), arg(args, {at + 1})")
