"""What loops may hold besides arithmetic: arrays to walk over, calls of Python functions, errors that are raised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

CLIP = """
def clip(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v
"""
WALK = (
    CLIP
    + """
def f(x):
    s = 0.0
    for v in x:
        s += clip(v, 0.2, 0.5)
    return s
"""
)
ZIP = """
def f(x):
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        out[i] = v * 2 + i
    t = 0
    for a, b in zip(x, out):
        t += a * b
    return out, t, i, v, a, b
"""
EFFECTS = (
    CLIP
    + """
def put(a, i, v):
    a[i] = v + clip(v, 0.0, 0.25)
def f(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        put(y, i, x[i])
    return y
"""
)
RAISE = """
def f(x):
    total = 0
    for v in x:
        if v < 0:
            raise ValueError(f"{v} is negative")
        total += v
    return total
"""
UNBOUND = """
def f(x):
    for i in range(len(x)):
        if x[i] > 0.5:
            best = x[i]
    return best
"""
TYPES = """
def f(x):
    s = 0
    for i in range(len(x)):
        if x[i] > 0.5:
            s = i
        elif x[i] > 0.25:
            s = x[i]
        else:
            s = s + 0.5
    return s
"""
HEADS = {
    "enumerate of zip": """
def f(x):
    s = 0.0
    for i, (a, (b, c)) in enumerate(zip(x, zip(x, x)), 3):
        s = s * 0.5 + a * b - c * i
    return s, i, a, b, c
""",
    "reversed": """
def f(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + v
    for i, v in enumerate(reversed(x)):
        s -= v / (i + 1)
    return s, v, i
""",
    "reversed range": """
def f(x):
    s = 0.0
    n = len(x)
    for i in reversed(range(n)):
        s = s * 0.5 + x[i]
        for j in reversed(range(1, i)):
            s -= x[j]
        for j in reversed(range(i, -1, -1)):
            s -= x[j]
    return s, i
""",
    "slices": """
def f(x):
    s = 0.0
    for a, b in zip(x[:-1], x[1:]):
        s = s * 0.5 + a * b
    for i, v in enumerate(x[: len(x) // 2][::-1]):
        s -= v * i
    return s, a, b
""",
    "a slice that is written": """
def f(x):
    y = x.copy()
    for i, v in enumerate(y[1:]):
        y[i] = v * 2
    for v in reversed(x):
        y[0] += v
    return y
""",
}
ROWS = {"walk": WALK, "zip": ZIP, "effects": EFFECTS, "raise": RAISE, "unbound": UNBOUND, "types": TYPES, **HEADS}


def _arguments() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.random(20), rng.random(20), -rng.random(20), np.zeros(0), rng.random(11), np.full(9, 0.3)]


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS.keys())
def test_the_loop_is_kept_and_shows_what_plain_python_shows(text: str) -> None:
    """For arrays with which it ends in each of its ways."""
    plain = define(text, f"loop {hash(text)}", np=np, math=math)
    compiled = jm.compile(define(text, f"loop {hash(text)}", np=np, math=math))
    for x in _arguments():
        assert outcome(compiled, [x]) == outcome(plain, [x])
    calls = loop_calls(compiled)
    assert calls
    assert all(call.compiled is not None for call in calls)


def test_a_callee_that_is_bound_anew_is_compiled_anew() -> None:
    """The body of the old one does not live on in the loop."""
    scope: dict[str, Any] = {"np": np}
    function = define(WALK, "loop callee", **scope)
    compiled = jm.compile(function)
    x = np.random.default_rng(0).random(20)
    first = compiled(x)
    compiled.__globals__["clip"] = lambda v, low, high: v
    assert compiled(x) == sum(x.tolist())
    assert compiled(x) != first


def test_a_loop_that_runs_plainly_says_why() -> None:
    """The break names what the loop holds."""

    def f(x):
        d = {}
        for i in range(len(x)):
            d[i % 3] = x[i]
        return d

    compiled = jm.compile(f)
    x = np.random.default_rng(0).random(300)
    assert outcome(compiled, [x]) == outcome(f, [x])
    (found,) = compiled.jit.breaks()
    held = "an int that is a key of a dict or a member of a set"
    assert found.reason == f"the loop over range(len(x)) runs as plain Python because it holds {held}"


NO_ROUNDS = {
    "a counter": """
def f(x, n):
    s = 0.0
    for i in range(1, n):
        s += x[i - 1]
    return s, i
""",
    "a counter that was another number": """
def f(x, n):
    i = 0.5
    for i in range(1, n):
        x[i - 1] += i
    return i * 2
""",
    "an inner counter": """
def f(x, n):
    s = 0
    for i in range(3):
        for j in range(1, n):
            x[j - 1] += i
        s += j
    return s
""",
    "a position and an element": """
def f(x, n):
    s = 0.0
    y = x[: n - 1]
    for i, v in enumerate(y):
        s += v
    return s, i, v
""",
}


@pytest.mark.parametrize("text", NO_ROUNDS.values(), ids=NO_ROUNDS.keys())
def test_what_a_loop_binds_has_no_value_if_the_loop_has_no_rounds(text: str) -> None:
    """Or the value that it had before, after calls in which the loop had rounds, too."""
    plain, compiled = (define(text, "loop", np=np) for _ in range(2))
    compiled = jm.compile(compiled)
    for n in (30, 20, 25, 1, 0, 30, 1):
        assert outcome(compiled, [np.arange(40.0), n]) == outcome(plain, [np.arange(40.0), n])
    assert loop_calls(compiled)
