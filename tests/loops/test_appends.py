"""Loops that append numbers to lists are one region, and leave the lists that plain Python leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

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
