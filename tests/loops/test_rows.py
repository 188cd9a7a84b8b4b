"""Sums, means and extremes of parts of arrays in loops: windows, rows and columns, with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

WINDOWS = {
    "mean of a window": (
        "out = np.empty(n - m + 1)\nfor i in range(len(out)):\n    out[i] = x[i:i + m].mean()\nreturn out"
    ),
    "np.mean": "out = np.empty(n - m + 1)\nfor i in range(len(out)):\n    out[i] = np.mean(x[i:i + m])\nreturn out",
    "sum": "out = np.empty(n - m + 1)\nfor i in range(len(out)):\n    out[i] = x[i:i + m].sum()\nreturn out",
    "largest, appended": (
        "out = []\nfor i in range(n - m + 1):\n    out.append(np.max(x[i:i + m]))\nreturn np.array(out)"
    ),
    "smallest so far": "out = np.zeros(n)\nfor i in range(n):\n    out[i] = np.min(x[max(0, i - m):i + 1])\nreturn out",
    "mean so far": "out = np.zeros(n)\nfor i in range(n):\n    out[i] = np.mean(x[max(0, i - m):i + 1])\nreturn out",
    "negative bounds": "s = 0.0\nfor i in range(n):\n    s += x[-m - i:-1].sum() - x[i - 3:m].sum()\nreturn s",
    "all of it": "s = 0\nfor i in range(n):\n    s += x[i] - x.mean()\nreturn s",
    "written meanwhile": "for i in range(n - m):\n    x[i] = x[i:i + m].max()\nreturn x",
    "a list of its type": "t = []\nfor i in range(n - m):\n    t.append(x[i:i + m].sum())\nreturn t",
    "a comparison": (
        "c = 0\nfor i in range(m, n):\n    w = x[i - m:i].mean()\n    if x[i] > w:\n        c += 1\nreturn c"
    ),
    "the largest of nothing": "s = 0.0\nfor i in range(n):\n    s += x[i:i - m].max()\nreturn s",
    "the mean of nothing": "s = 0.0\nfor i in range(n):\n    s += x[i:i - m].mean()\nreturn s",
}
ROWS = {
    "sums of rows": "out = np.zeros(n)\nfor i in range(n):\n    out[i] = x[i].sum()\nreturn out",
    "means of columns": "out = np.zeros(k)\nfor j in range(k):\n    out[j] = x[:, j].mean()\nreturn out",
    "parts of rows": (
        "out = np.zeros(n)\nfor i in range(n):\n    out[i] = np.max(x[i, 1:-1]) - x[i][m:].min()\nreturn out"
    ),
    "rows that are divided": (
        "for i in range(n):\n    s = x[i].sum()\n    for j in range(k):\n        x[i, j] = x[i, j] / s\nreturn x"
    ),
    "a row too many": "s = 0.0\nfor i in range(n + 1):\n    s += x[i].sum()\nreturn s",
}


def _function(body: str, name: str) -> Any:
    lines = "\n    ".join(body.split("\n"))
    return define(f"def f(x, m):\n    n, k = len(x), x.shape[-1]\n    {lines}\n", f"loop {name}", np=np)


def _vectors() -> list[list[Any]]:
    rng = np.random.default_rng(0)
    many = (rng.standard_normal(900) * 10.0 ** rng.integers(-8, 8, 900)).astype(float)
    zeros = np.array([0.0, -0.0] * 40)
    holes = np.where(rng.random(90) < 0.1, np.nan, rng.random(90))
    made: list[list[Any]] = [[many, 300], [many[:200], 5], [many.astype("f4"), 133], [zeros, 3], [holes, 4]]
    made += [[many[::-3], 9], [rng.integers(-9, 9, 100), 7], [rng.integers(0, 200, 60).astype("u1"), 4]]
    return [*made, [rng.random(60) > 0.5, 3], [many[:30], 0]]


def _tables() -> list[list[Any]]:
    rng = np.random.default_rng(0)
    made: list[list[Any]] = [[rng.random((20, 30)), 3], [rng.random((40, 200)).astype("f4"), 3]]
    made += [[np.asfortranarray(rng.random((20, 30))), 3], [rng.integers(0, 9, (12, 15)).astype("i4"), 2]]
    return [*made, [rng.random((20, 30)) > 0.5, 3], [rng.random((30, 9))[::2, ::-1], 3]]


@pytest.mark.parametrize("name", [*WINDOWS, *ROWS])
def test_the_numbers_are_those_of_numpy(name: str) -> None:
    """In NumPy's order of summing, with NaN, zeros of both signs, and what raises or warns."""
    text = {**WINDOWS, **ROWS}[name]
    plain, compiled = _function(text, name), jm.compile(_function(text, name))
    for given in _vectors() if name in WINDOWS else _tables():
        for _ in range(2):
            assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", [*WINDOWS, *ROWS])
def test_they_are_regions(name: str) -> None:
    """One kernel, without a graph break."""
    text = {**WINDOWS, **ROWS}[name]
    compiled = jm.compile(_function(text, name))
    outcome(compiled, (_vectors() if name in WINDOWS else _tables())[1 if name in WINDOWS else 0])
    calls = loop_calls(compiled)
    assert calls
    assert all(getattr(call, "compiled", None) is not None for call in calls)
    assert not compiled.jit.breaks()


def test_means_of_ints_are_summed_in_pieces_as_numpy_casts_them() -> None:
    """Longer parts are left to NumPy."""
    text = "out = np.zeros(20)\nfor i in range(20):\n    out[i] = x[i:i + m].mean()\nreturn out"
    plain, compiled = _function(text, "long"), jm.compile(_function(text, "long"))
    x = np.random.default_rng(0).integers(-(2**60), 2**60, 30_000)
    for m in (8000, 8192, 8193, 20_000):
        assert outcome(compiled, [x, m]) == outcome(plain, [x, m])
