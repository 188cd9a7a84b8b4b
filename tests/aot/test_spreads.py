"""Variances taken apart have NumPy's bits, warnings and errors; what NumPy does otherwise is left to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def scores(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def whole(x: Any) -> Any:
    return (x - np.mean(x)) / np.std(x, ddof=1)


def rows(x: Any) -> Any:
    return np.var(x, axis=1, keepdims=True) + x


def several(x: Any) -> Any:
    return x.std(0), np.var(x.T, axis=-1, ddof=2), x.var(), np.var(x[::-1, ::2], axis=1)


def left_alone(x: Any) -> Any:
    return np.std(x, axis=(0, 1)), np.std(x.astype("f"), axis=0), np.std(x, keepdims=True), np.var(x > 0, axis=0)


def same(found: Any, wanted: Any) -> None:
    pairs = zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, wanted)), strict=True)
    for a, b in pairs:
        assert type(a) is type(b)
        assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        assert np.where(np.isnan(a), 0, a).tobytes() == np.where(np.isnan(b), 0, b).tobytes()


@pytest.mark.parametrize("program", [scores, whole, rows, several, left_alone], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [3, 40, 210])
def test_bits(program: Callable[..., Any], size: int) -> None:
    x = np.random.default_rng(size).normal(size=(size, size + 5)) * 100 - 30
    compiled = jm.compile(program)
    for values in (x, np.asfortranarray(x), x):
        same(compiled(values), program(values))
    assert compiled.jit.entries


def test_scores_are_loops_only() -> None:
    compiled = jm.compile(scores)
    compiled(np.random.default_rng(0).random((30, 40)))
    assert compiled.jit.frame.entries[0].lowered.extern_count == 0


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e300])
def test_warnings(bad: float) -> None:
    x = np.random.default_rng(1).random((20, 30))
    compiled = jm.compile(scores)
    compiled(x)
    x[3, 4] = bad
    seen = []
    for function in (compiled, scores):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = function(x)
        seen.append(([str(w.message) for w in caught], result))
    assert seen[0][0] == seen[1][0]
    same(seen[0][1], seen[1][1])


def test_a_count_of_zero_is_warned_of() -> None:
    def f(x: Any) -> Any:
        return np.var(x, axis=0, ddof=3) + 1.0

    x = np.ones((3, 4))
    compiled = jm.compile(f)
    for function in (compiled, f, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(x)
        assert any("Degrees of freedom" in str(w.message) for w in caught)
