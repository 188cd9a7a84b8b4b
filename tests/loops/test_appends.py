"""Loops that append numbers to lists are one region, and leave the lists that plain Python leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome, outcome_on

CAPTURED = {
    "every round": "for v in x:\n    s = s * 0.5 + v\n    out.append(s)",
    "some rounds": "for i in range(len(x)):\n    if x[i] > 0.25:\n        out.append(i)",
    "no round": "for v in x:\n    if v > 1e9:\n        out.append(v)",
    "no int": "for i in range(len(x)):\n    if x[i] > 1e9:\n        out.append(i)",
    "twice": "for v in x:\n    out.append(v)\n    out.append(v * k)",
    "two lists": "for v in x:\n    out.append(v)\n    if v > 0:\n        more.append(v * k)",
    "nested": "for v in x:\n    for w in x:\n        if v < w:\n            out.append(v - w)",
    "a triangle": "for i in range(len(x)):\n    for j in range(i):\n        out.append(x[i] - x[j])",
    "broken off": "for v in x:\n    out.append(v)\n    if v < -0.5:\n        break\nelse:\n    s = 99.0",
    "zip and enumerate": "for i, v in enumerate(x):\n    s += v\n    out.append(s * i)",
    "while": "t = 0.0\nwhile t < 3.0:\n    out.append(t)\n    t += 0.125",
    "while some": "i = 0\nwhile i * i < 400:\n    if i % 3 == 0:\n        out.append(i)\n    i += 1",
    "writes": "for i in range(1, len(x)):\n    y[i] = y[i - 1] + x[i]\n    out.append(y[i])",
    "python numbers": "for v in x:\n    out.append(math.sqrt(abs(v)))",
    "truths": "for v in x:\n    out.append(v > k)",
}
ENDS = {
    "array": "np.array(out), np.array(more), s",
    "list": "out, more, s",
    "asked": "len(out), np.sum(out), bool(more)",
    "aliases": "out, also, out is also",
}


def _function(body: str, end: str, name: str) -> Any:
    inner = body.replace("\n", "\n    ")
    text = "def f(x, y, k):\n    out = []\n    also = out\n    more = []\n    s = 0.0\n"
    text += f"    {inner}\n    return {ENDS[end]}\n"
    return define(text, f"loop {name} {end}", np=np, math=math)


def _inputs(dtype: str) -> list[list[Any]]:
    rng = np.random.default_rng(0)
    return [[(rng.random(n) * 4 - 1).astype(dtype), np.zeros(n), 0.5] for n in (20, 20, 31, 12)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("name", CAPTURED)
def test_the_lists_are_those_of_plain_python(name: str, dtype: str) -> None:
    """Their numbers with types, and what is made of them, call after call."""
    for end in ENDS:
        plain, compiled = (_function(CAPTURED[name], end, name) for _ in range(2))
        compiled = jm.compile(compiled)
        for given in _inputs(dtype):
            assert outcome(compiled, given) == outcome(plain, given), end


@pytest.mark.parametrize("name", CAPTURED)
def test_the_loops_are_regions(name: str) -> None:
    """With a kernel, and without a graph break."""
    compiled = jm.compile(_function(CAPTURED[name], "list", name))
    for given in _inputs("float64")[:2]:
        outcome(compiled, given)
    calls = loop_calls(compiled)
    assert calls
    assert all(c.compiled is not None for c in calls)
    assert not compiled.jit.breaks()


OTHERS = {
    "not empty": "out.append(1.5)\nfor v in x:\n    out.append(v)",
    "read": "for v in x:\n    out.append(v + len(out))",
    "two kinds": "for v in x:\n    out.append(0 if v < 0 else v)",
    "strings": "for v in x:\n    out.append(str(v))",
    "pairs": "for v in x:\n    out.append((v, k))",
    "an error": "for i in range(len(x) + 1):\n    out.append(x[i])",
    "caught": "try:\n    for i in range(len(x) + 1):\n        out.append(x[i])\nexcept IndexError:\n    s = 1.0",
    "later": "for v in x:\n    out.append(v)\nout.append(s)\nmore.extend(out)",
    "rebound": "for v in x:\n    out.append(v)\n    more = [v]",
    "drawn once": "r = np.random.default_rng(1)\nfor v in r.random(20):\n    out.append(v)\ns = r.random()",
    "unknown length and writes": "i = 0\nwhile i < len(x):\n    y[i] = x[i]\n    out.append(y[i])\n    i += 1",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_such_loop_shows_the_same(name: str) -> None:
    """Whatever becomes of it."""
    for end in ENDS:
        plain, compiled = (_function(OTHERS[name], end, name) for _ in range(2))
        compiled = jm.compile(compiled)
        for given in (*_inputs("float64"), [np.ones(3), np.zeros(3), 0.5], [np.ones(0), np.zeros(0), 0.5]):
            assert outcome(compiled, given) == outcome(plain, given), end


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "numba"])
@pytest.mark.parametrize("writes", ["", "y[0] += 1; x[2:] *= 2"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_list_that_stays_empty_is_the_plain_program_s(backend: str, writes: str, shared: bool) -> None:
    """With values of an array and no list to tell their type from: what had been written by then is not done twice."""
    text = f"""
def f(x, y, t):
    {writes or "pass"}
    peaks = []
    for i in range(1, len(x) - 1):
        y[i] = x[i] + i
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > t:
            peaks.append(i)
    if not peaks:
        return np.array([], dtype=int), None
    return np.array(peaks)
"""
    plain, compiled = (define(text, f"empty {backend} {shared}", np=np) for _ in range(2))
    compiled = jm.compile(compiled, backend=backend)
    for limit in (100.0, 0.5, 100.0, 0.5):
        x = np.random.default_rng(0).random(50)
        first, second = ([a, a if shared else np.zeros(50), limit] for a in (x, x.copy()))
        assert outcome_on(compiled, second) == outcome_on(plain, first)
