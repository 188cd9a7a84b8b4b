"""Heads that count beside what they run over, and ranges from their end, are loops of one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

X = np.random.default_rng(0).random(40)
HEADS = {
    "enumerate with a start by name": "for i, v in enumerate(x, start=1):\n    s += i * v",
    "enumerate from a variable": "for i, v in enumerate(x, k):\n    s += i * v",
    "enumerate from a size": "for i, v in enumerate(x[1:], len(x) + 1):\n    s += i * v",
    "enumerate of zip with a start": "for i, (v, w) in enumerate(zip(x, x[::-1]), start=k):\n    s += i * v - w",
    "a start that the loop changes": "for i, v in enumerate(x, start=k):\n    k = i + 2\n    s += k * v",
    "zip with a range": "for i, v in zip(range(len(x)), x):\n    s += i * v",
    "zip with a range that starts": "for i, v in zip(range(1, len(x)), x[1:]):\n    s += i * v",
    "zip with a range from a variable": "for v, i in zip(x, range(k, len(x) + k)):\n    s += i * v",
    "zip with a shorter range": "for i, v in zip(range(len(x) - 1), x):\n    s += i * v",
    "zip with a longer range": "for i, v in zip(range(len(x) + 1), x):\n    s += i * v",
    "zip with a range of a number": "for i, v in zip(range(40), x):\n    s += i * v",
    "a range in steps from its end": "for i in reversed(range(0, len(x), 2)):\n    s = s * 0.5 + x[i]",
    "from a variable in steps, from its end": "for i in reversed(range(k, len(x), 3)):\n    s = s * 0.5 + x[i] * i",
    "down in steps, from its end": "for i in reversed(range(len(x) - 1, -1, -3)):\n    s = s * 0.5 + x[i] * i",
}
CALLS = [[x, k] for x in (X, X[:33], X[:12], X[:1], X[:0], X.astype("float32")) for k in (0, 3, -2)]


def _function(name: str) -> Any:
    inner = HEADS[name].replace("\n", "\n    ")
    return define(f"def f(x, k):\n    s = 0.0\n    i = 7\n    {inner}\n    return s, i, k\n", f"loop {name}", np=np)


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
@pytest.mark.parametrize("name", HEADS)
def test_the_outcome_is_that_of_plain_python(name: str, backend: str) -> None:
    """Whatever the lengths: also those without a round."""
    plain, compiled = _function(name), jm.compile(_function(name), backend=backend)
    for given in CALLS:
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", HEADS)
def test_they_are_regions(name: str) -> None:
    compiled = jm.compile(_function(name))
    outcome(compiled, [X, 3])
    found = loop_calls(compiled)
    assert found
    assert all(c.compiled is not None for c in found)
    assert not compiled.jit.breaks()
