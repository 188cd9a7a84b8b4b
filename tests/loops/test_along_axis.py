"""``np.apply_along_axis`` over the rows or columns of a matrix is a region where the function gives numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

HEAD = """
def decayed(row, rate):
    s = 0.0
    for i in range(len(row)):
        s = s * rate + row[i]
    return s
def spread(row):
    low, high = row[0], row[0]
    for i in range(1, row.size):
        if row[i] < low:
            low = row[i]
        elif row[i] > high:
            high = row[i]
    return high - low
"""
CAPTURED = {
    "a sum": "return np.apply_along_axis(lambda r: r.sum(), 1, x)",
    "over columns": "return np.apply_along_axis(lambda r: r.sum() * k, 0, x)",
    "from the end": "return np.apply_along_axis(lambda r: r[1:].max() - r[:-1].min(), -1, x)",
    "NumPy's function": "return np.apply_along_axis(np.mean, 0, x)",
    "an argument": "return np.apply_along_axis(lambda r, a: r[0] * a + r[-1], 1, x, k)",
    "a loop": "return np.apply_along_axis(decayed, 1, x, k)",
    "a loop over columns": "return np.apply_along_axis(spread, 0, x) * 2",
    "a function of the frame": "def g(r):\n        return r[0] * k\n    return np.apply_along_axis(g, -2, x)",
}
OTHERS = {
    "arrays": "return np.apply_along_axis(lambda r: r / r.max(), 1, x)",
    "NumPy's arrays": "return np.apply_along_axis(np.cumsum, 0, x)",
    "pairs": "return np.apply_along_axis(lambda r: (r[0], r[1]), 0, x)",
    "a vector": "return np.apply_along_axis(lambda r: r.sum(), 0, x[0])",
    "three axes": "return np.apply_along_axis(lambda r: r.sum(), 1, x[None])",
    "no rows": "return np.apply_along_axis(lambda r: r.sum(), 1, x[:0])",
    "empty rows": "return np.apply_along_axis(lambda r: r.sum(), 1, x[:, :0])",
    "no such axis": "return np.apply_along_axis(lambda r: r.sum(), 2, x)",
    "an index out of range": "return np.apply_along_axis(lambda r: r[10 ** 6], 0, x)",
    "an int first": "return np.apply_along_axis(lambda r: 0 if r[0] > 0.5 else r[0], 1, x)",
    "by name": "return np.apply_along_axis(lambda r, a: r[0] * a, 1, x, a=k)",
    "effects": "seen = []\n    y = np.apply_along_axis(lambda r: seen.append(1) or r[0], 1, x)\n    return y, seen",
}


def _function(body: str, name: str) -> Any:
    return define(f"{HEAD}\ndef f(x, k):\n    {body}\n", f"loop {name}", np=np)


def _inputs() -> list[list[Any]]:
    rng = np.random.default_rng(0)
    made = [rng.random((20, 30)), rng.random((40, 25)), rng.random((20, 30)).astype("f4"), rng.random((30, 20)).T]
    return [[x, 0.75] for x in (*made, rng.integers(-9, 9, (12, 15)), rng.random((12, 11)) > 0.5)]


@pytest.mark.parametrize("name", [*CAPTURED, *OTHERS])
def test_the_results_are_those_of_numpy(name: str) -> None:
    """With dtypes, exceptions and warnings."""
    text = {**CAPTURED, **OTHERS}[name]
    plain, compiled = _function(text, name), jm.compile(_function(text, name))
    for given in _inputs():
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", CAPTURED)
def test_they_are_regions(name: str) -> None:
    """With a kernel, and without a graph break."""
    compiled = jm.compile(_function(CAPTURED[name], name))
    for given in _inputs()[:2]:
        outcome(compiled, given)
    calls = loop_calls(compiled)
    assert calls
    assert all(c.compiled is not None for c in calls)
    assert not compiled.jit.breaks()
