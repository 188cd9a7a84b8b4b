"""Variables of loops that are None or a number: the kind of the moment is part of the region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

TEXTS = {
    "the largest so far": """
    best, where = None, -1
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
            where = i
    return best, where
""",
    "the smallest of some": """
    best = None
    for v in x:
        if v > 0.5 and (best is None or v < best):
            best = v
    return -1.0 if best is None else best * 2
""",
    "one after the other": """
    best, arg = None, None
    for i, v in enumerate(x):
        if best is None:
            best, arg = v, i
        elif v > best:
            best = v
            arg = i
    return arg
""",
    "the last one": """
    last = None
    s = 0.0
    for v in x:
        if last is not None:
            s += abs(v - last)
        last = v
    return s
""",
    "None again": """
    start = None
    longest = 0
    for i in range(len(x)):
        if x[i] > 0.3:
            if start is None:
                start = i
        else:
            if start is not None:
                longest = max(longest, i - start)
            start = None
    if start is not None:
        longest = max(longest, len(x) - start)
    return longest
""",
    "never a number": """
    t = None
    s = 0
    for v in x:
        s += v > 0.5
        t = None
    return s, t
""",
    "its truth": """
    t = None
    s = 0
    for v in x:
        if not t:
            s += 1
        t = v if v > 0.5 else None
    return s
""",
    "a function that may find nothing": """
    def find(t):
        for i in range(len(x)):
            if x[i] > t:
                return i
    s = 0
    for k in range(20):
        r = find(0.7 + k * 0.02)
        if r is None:
            break
        s += r
    return s
""",
    "arithmetic": """
    b = None
    s = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            b = 1.0
        s += b
    return s
""",
    "a parameter": """
    s = 0.0
    for i in range(len(x)):
        if w is None:
            s += x[i]
        else:
            s += x[i] * w[i]
    return s
""",
}


def _function(name: str) -> Any:
    return define(f"def f(x, w=None):{TEXTS[name]}", f"loop {name}", np=np)


@pytest.mark.parametrize("name", TEXTS)
def test_they_show_what_plain_python_shows(name: str) -> None:
    """Also where there is nothing to find, and an exception for arithmetic with None."""
    plain, compiled = _function(name), jm.compile(_function(name))
    rng = np.random.default_rng(0)
    for x in (rng.random(40), rng.random(25), np.zeros(0), np.zeros(20), np.full(30, np.nan), np.arange(20)):
        for given in ([x], [x, x * 2]):
            for _ in range(2):
                assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", TEXTS)
def test_they_are_regions(name: str) -> None:
    """With a kernel, and without a graph break."""
    compiled = jm.compile(_function(name))
    outcome(compiled, [np.random.default_rng(1).random(40)])
    calls = loop_calls(compiled)
    assert calls
    assert all(c.compiled is not None for c in calls)
    assert not compiled.jit.breaks()
