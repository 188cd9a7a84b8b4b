"""An index that an array holds is looked at, whatever the head of the loop that takes it from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

LOOPS = {
    "updates": "for i in ix:\n    a[i] += 1",
    "writes": "for i in ix:\n    a[i] = 2",
    "reads": "for i in ix:\n    s += a[i]",
    "counted": "for n, i in enumerate(ix):\n    a[i] += n",
    "beside another": "for i, v in zip(ix, b):\n    a[i] += v",
    "the second of two": "for v, i in zip(b, ix):\n    a[i] += v",
    "from the end": "for i in reversed(ix):\n    a[i] += 1",
    "of a part": "for i in ix[1:]:\n    a[i - 1] += 1",
    "inside another": "for k in range(2):\n    for i in ix:\n        a[i] += k",
    "by a counter": "for k in range(len(ix)):\n    i = ix[k]\n    a[i] += k",
    "summed": "for i in ix:\n    s += i\n    a[i] += 1",
    "a remainder": "for i in ix:\n    a[i % 7] += 1",
}
INDICES = ([0, 1, 4], [0, 1, 7, 2], [4, 2**20, 0], [3, -5, 1], [3, -6, 1], [], [-(2**31)])


def _function(name: str) -> Any:
    inner = LOOPS[name].replace("\n", "\n    ")
    return define(f"def f(a, ix, b):\n    s = 0.0\n    i = 7\n    {inner}\n    return s, i\n", f"held {name}", np=np)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
@pytest.mark.parametrize("name", LOOPS)
def test_an_index_that_an_array_holds(name: str, dtype: str) -> None:
    """Out of range it raises what plain Python raises, and what was written before is the same."""
    plain, compiled = _function(name), jm.compile(_function(name))
    for indices in INDICES:
        given = [np.zeros(5), np.array(indices).astype(dtype), np.arange(4.0)]
        assert outcome(compiled, given) == outcome(plain, given), indices


@pytest.mark.parametrize("name", LOOPS)
def test_they_are_regions(name: str) -> None:
    compiled = jm.compile(_function(name))
    outcome(compiled, [np.zeros(5), np.arange(40) % 5, np.arange(40.0)])
    assert any(c.compiled is not None for c in loop_calls(compiled))
