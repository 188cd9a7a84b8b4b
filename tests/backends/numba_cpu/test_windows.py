"""Sums of the rows of ``sliding_window_view`` are added in the loop of what reads them, in NumPy's order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import jitmagic as jm


@pytest.mark.parametrize("width", [2, 5, 7, 8])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_bits_of_sums_and_means(width: int, dtype: str) -> None:
    """From eight on NumPy adds otherwise, and a step between the elements makes no difference."""

    def program(x: Any) -> Any:
        rows = sliding_window_view(x, width)
        return rows.mean(-1), rows.sum(axis=1) + 1, sliding_window_view(x * 2, width).sum(-1), rows.sum(0)

    compiled = jm.compile(program)
    x = (np.random.default_rng(width).normal(size=400) * 100).astype(dtype)
    for values in (x, x[::-1], x[::2], x[:9]):
        for found, expected in zip(compiled(values), program(values), strict=True):
            assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
            assert found.tobytes() == expected.tobytes()


def test_a_mean_of_windows_is_a_kernel() -> None:
    def program(x: Any) -> Any:
        return sliding_window_view(x, 3).mean(-1) * 2

    compiled = jm.compile(program)
    x = np.random.default_rng(0).random(5000)
    assert compiled(x).tobytes() == program(x).tobytes()
    lowered = compiled.jit.frame.entries[0].lowered
    assert (lowered.kernel_count, lowered.extern_count) == (1, 0)
