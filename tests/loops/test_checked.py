"""An index is looked at once in a block, and again as soon as it may be another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.regions.emit import emit
from tests.loops.outcomes import define, loop_calls, outcome

N = 24
CHANGING = {
    "set between": "for i in range(n):\n    s += x[k]\n    k = where[i]\n    s += x[k]",
    "set in a branch": "for i in range(n):\n    s += x[k]\n    if x[i] > 0:\n        k = where[i]\n    s += x[k]",
    "set in an inner loop": (
        "for i in range(n):\n    s += x[k]\n    for j in range(i):\n        k = where[j]\n    s += x[k]"
    ),
    "set in the last round": "s += x[k]\nfor i in range(n):\n    s += x[k]\n    k = where[i]",
    "looked at in a branch": "for i in range(n):\n    if x[i] > 1:\n        s += x[k]\n    s += x[k]\n    k = where[i]",
    "behind `and`": "for i in range(n):\n    s += x[i] > 0 and x[where[i]] > 0\n    s += x[where[i]]",
    "a choice": "for i in range(n):\n    k = where[i]\n    s += (x[k] if x[i] > 0 else 1) + x[k]",
    "in the head of `while`": "i = 0\nwhile i < n and x[k] > -9:\n    k = where[i]\n    s += x[k]\n    i += 1",
    "an index from an array that changes": (
        "for i in range(n):\n    s += x[where[0]]\n    where[0] += 1\n    s += x[where[0]]"
    ),
    "negative": "for i in range(n):\n    s += x[i - 2] + x[k - i] * x[i - 2]\n    x[i - 2] += x[k - i]",
    "two sizes": "for i in range(n):\n    s += x[k + i]\n    where[k + i] += 1",
}


def _function(name: str) -> Any:
    inner = CHANGING[name].replace("\n", "\n    ")
    return define(f"def f(x, where, n, k):\n    s = 0.0\n    {inner}\n    return s, k\n", f"loop {name}", np=np)


@pytest.mark.parametrize("name", CHANGING)
def test_the_outcome_is_that_of_python(name: str) -> None:
    """Indices in range, and out of range at either end, in the first round and later."""
    plain, compiled = _function(name), jm.compile(_function(name))
    rng = np.random.default_rng(0)
    for n, k, low, high in ((N, 1, -N, N), (N, 1, -N - 2, N), (N, 1, 0, N + 2), (N, N, 0, N), (N, -N - 1, 0, N)):
        for _ in range(6):
            given = [rng.standard_normal(N), rng.integers(low, high, N), n, k]
            assert outcome(compiled, given) == outcome(plain, given)
    assert loop_calls(compiled)


def test_an_index_is_looked_at_once_in_a_statement() -> None:
    compiled = jm.compile(
        define(
            "def f(x, i, n):\n    for _ in range(n):\n        i += int(x[i] > x[i] * x[i])\n    return i",
            "loop once",
            np=np,
        )
    )
    compiled(np.ones(20), 3, 12)
    (call,) = loop_calls(compiled)
    assert emit(call.region).text.count("return INDEX_ERROR") == 1
