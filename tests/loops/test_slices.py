"""Assignments to slices in loops are loops of the region, element by element, with what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

CAPTURED = {
    "a row": "for i in range(n):\n    b[i, :] = a[i, :] * 2.0 + c",
    "part of a row": "for i in range(n):\n    b[i, 1:-1] = a[i, 2:] - a[i, :-2] / 3",
    "rows without slices": "for i in range(n):\n    b[i] = a[i] * c - a[i, 0]",
    "a column": "for j in range(n):\n    b[:, j] = a[:, j] * k",
    "elimination": (
        "for i in range(1, n):\n    for j in range(i):\n        a[i, j:] -= a[i, j] / (a[j, j] + 9) * a[j, j:]"
    ),
    "its own first element": "for i in range(n):\n    a[i, :] = a[i, :] / a[i, 0]",
    "in place": "for i in range(n):\n    a[i] *= k\n    c[1:] += a[i, 1:]",
    "bounds that move": "for i in range(n):\n    b[i, i:] = a[i, i:]\n    b[i, : i - 3] = c[: i - 3]",
    "bounds beyond": "for i in range(n):\n    b[i, 2:99] = a[i, 2:99]\n    b[i, -99:2] = a[i, -99:2] + 1",
    "a number": "for i in range(n):\n    b[i, 1:] = k\n    c[:] = 0",
    "nothing": "for i in range(n):\n    b[i, 5:3] = a[i, 6:2] * 2",
    "a negative": "for i in range(n):\n    b[i] = -a[n - 1 - i]",
}
OTHERS = {
    "its neighbours": "for i in range(n):\n    c[1:-1] = c[2:] + c[:-2]",
    "itself, moved": "for i in range(n):\n    a[i, 1:] = a[i, :-1]",
    "spread": "for i in range(n):\n    b[i, :] = a[i, :1]",
    "unequal": "for i in range(n):\n    b[i, :] = a[i, 1:]",
    "an index out of range": "for i in range(n + 1):\n    b[i, :] = a[i, :]",
    "steps": "for i in range(n):\n    b[i, ::2] = a[i, ::2]",
    "two axes": "for i in range(n):\n    b[:, :] = a * i",
    "powers": "for i in range(n):\n    b[i] = a[i] ** 2 + np.sin(a[i])",
    "sums": "for i in range(n):\n    b[i] = a[i] - a[i].sum()",
    "whole numbers": "for i in range(n):\n    d[i] += 1\n    d[i, 1:] = a[i, 1:] * 3",
    "floats into ints": "for i in range(n):\n    d[i] += 0.5",
    "division by zero": "for i in range(n):\n    b[i, :] = a[i, :] / (k - k)",
}


def _function(body: str, name: str) -> Any:
    inner = body.replace("\n", "\n    ")
    text = f"def f(a, b, c, d, k):\n    n = a.shape[0]\n    {inner}\n    return c.copy()\n"
    return define(text, f"loop {name}", np=np)


def _inputs(dtype: str) -> list[list[Any]]:
    rng = np.random.default_rng(0)
    made = []
    for n in (12, 12, 15):
        a, b, c = (rng.random(shape).astype(dtype) * 4 - 1 for shape in ((n, n), (n, n), (n,)))
        made.append([a, b, c, np.zeros((n, n), int), 0.75])
    made.append([made[0][0].T, np.asfortranarray(made[0][1]), made[0][2], made[0][3], 2])
    return made


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*CAPTURED, *OTHERS])
def test_the_arrays_are_those_of_numpy(name: str, dtype: str) -> None:
    """Also where one array is passed under two names, and where one is too short."""
    text = {**CAPTURED, **OTHERS}[name]
    plain, compiled = _function(text, name), jm.compile(_function(text, name))
    for given in _inputs(dtype):
        for changed in (given, [given[0], given[1], given[2][:-1], *given[3:]]):
            assert outcome(compiled, changed) == outcome(plain, changed)


@pytest.mark.parametrize("name", CAPTURED)
def test_they_are_regions(name: str) -> None:
    """The whole nest is one kernel."""
    compiled = jm.compile(_function(CAPTURED[name], name))
    for given in _inputs("float64")[:2]:
        outcome(compiled, given)
    (call,) = loop_calls(compiled)
    assert call.compiled is not None
    assert not compiled.jit.breaks()
