"""Loops over the rows of several arrays at once, and over numbered rows, that carry whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, outcome

PROGRAMS = {
    "enumerate": "for k, row in enumerate(X):\n    e = row.sum() - row @ w\n    w = w + 0.1 * e * row\nreturn w, k, e",
    "enumerate from a number": "for k, row in enumerate(X, 3):\n    w = w * 0.9 + row * k\nreturn w, k",
    "zip": "for row, t in zip(X, X[:, 0] * 2):\n    w = w + 0.1 * (t - row @ w) * row\nreturn w",
    "zip of other lengths": "for a, b in zip(X, X[5:]):\n    w = w * 0.9 + a - b\nreturn w",
    "rows that are written": (
        "for i, row in enumerate(X, 1):\n    row -= row.mean()\n    if i < len(X):\n        X[i] += row\nreturn X"
    ),
    "a window": (
        "y = np.empty(len(X))\nfor i, v in enumerate(X[:, 0]):\n    w = np.roll(w, 1)\n    w[0] = v\n"
        "    y[i] = np.median(w)\nreturn w, y"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_stay_rows(name: str) -> None:
    body = PROGRAMS[name].replace("\n", "\n    ")
    plain = define(f"def f(X):\n    w = np.zeros(4)\n    {body}\n", "f", np=np)
    compiled = jm.compile(plain)
    rng = np.random.default_rng(1)
    for rows in (100, 100, 7, 1, 0, 60, 101):
        x = rng.random((rows, 4))
        assert outcome(compiled, (x.copy(),)) == outcome(plain, (x.copy(),)), rows
    assert not jm.explain(plain)(rng.random((100, 4))).breaks
