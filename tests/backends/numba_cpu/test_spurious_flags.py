"""Kernels report the conditions that NumPy would meet, and no others: each report costs a plain run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("fold", ["sum", "mean"])
def test_the_fold_of_an_array_that_numpy_made(dtype: str, fold: str) -> None:
    def f(x: Any) -> Any:
        return getattr(np.sort(x), fold)()

    compiled: Any = jm.compile(f)
    x = np.linspace(0.5, 2, 5).astype(dtype)
    assert compiled(x) == f(x)
    (entry,) = compiled.jit.frame.entries
    assert entry.lowered.run([x]) == [f(x)]  # a Bail is an exception


def test_the_mean_of_nothing_is_left_to_numpy() -> None:
    def f(x: Any) -> Any:
        return np.sort(x).mean()

    compiled: Any = jm.compile(f, dynamic=True)
    compiled(np.ones(5))
    compiled(np.ones(7))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.isnan(compiled(np.ones(0)))
        told = [str(w.message) for w in caught]
        f(np.ones(0))
    assert told == [str(w.message) for w in caught[len(told) :]]
    assert any("Mean of empty slice" in text for text in told)
