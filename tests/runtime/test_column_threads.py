"""Sums along the first axis use the thread pool on every path of a call, where their columns are wide enough."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native.pool import pool_state


def halves(x):
    y = np.where(x > 0, x, x * 0.5)
    return y, y.sum(0)


@pytest.mark.parametrize(("shape", "jobs"), [((100, 4000), 1), ((400, 65), 1), ((4000, 64), 0), ((20000, 16), 0)])
def test_wide_columns_go_to_the_pool_and_narrow_ones_stay(shape: tuple[int, int], jobs: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    with jm.configure(threads=2, background=False, demote=False):
        compiled = jm.compile(halves)
        for _ in range(4):
            compiled(x)
        posted = ctypes.c_int64.from_address(pool_state())  # the first word of its state counts jobs
        before = posted.value
        found = compiled(x)
        assert posted.value - before == jobs
    for mine, theirs in zip(found, halves(x), strict=True):
        assert mine.tobytes() == theirs.tobytes()
