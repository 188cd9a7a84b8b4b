"""``np.frompyfunc``: one region that runs the function on Python numbers and gives an array of Python objects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

SIGNED = """
def signed(v):
    if v > 0.5:
        return v * 2.0
    return v - 1.0
"""
KEPT = {
    "made in the function": "def f(x, k):\n    return np.frompyfunc(lambda v: v * 2 + 1, 1, 1)(x)\n",
    "made before": SIGNED + "ufunc = np.frompyfunc(signed, 1, 1)\ndef f(x, k):\n    return ufunc(x)\n",
    "cast": SIGNED + "ufunc = np.frompyfunc(signed, 1, 1)\ndef f(x, k):\n    return ufunc(x).astype(float).sum()\n",
    "a number": "def f(x, k):\n    return np.frompyfunc(lambda v, w: v * w - w, 2, 1)(x, k)\n",
    "two arrays": "def f(x, k):\n    return np.frompyfunc(lambda v, w: v / (w + k), 2, 1)(x, x + 1)\n",
    "twice": "def f(x, k):\n    y = np.frompyfunc(lambda v: v + k, 1, 1)(x)\n    return y, y, len(y), y.shape\n",
    "two results": "def f(x, k):\n    return np.frompyfunc(lambda v: (v, v + 1), 1, 2)(x)\n",
    "two results, cast": """def f(x, k):
    p, q = np.frompyfunc(lambda v, w: (v * w, v > w), 2, 2)(x, k)
    return p.astype(float), q.astype(bool)
""",
    "truth": "def f(x, k):\n    return np.frompyfunc(lambda v: v > k, 1, 1)(x).astype(bool)\n",
}
PLAIN = {
    "several types": "def f(x, k):\n    return np.frompyfunc(lambda v: v if v > 0.5 else 'low', 1, 1)(x)\n",
    "reduce": "def f(x, k):\n    return np.frompyfunc(lambda v, w: v + w, 2, 1).reduce(x)\n",
    "a method of the result": "def f(x, k):\n    return np.frompyfunc(lambda v: v + 1, 1, 1)(x).tolist()\n",
    "out": "def f(x, k):\n    return np.frompyfunc(lambda v: v + 1, 1, 1)(x, out=np.empty(x.shape, object))\n",
    "numbers of NumPy": "def f(x, k):\n    return np.frompyfunc(np.sqrt, 1, 1)(x)\n",
}


def _arguments() -> list[list[Any]]:
    x = np.random.default_rng(0).random(40)
    arrays = [x, x, (x * 9).astype(np.int64), (x * 200).astype(np.uint8), x.astype(np.float32), x > 0.5, x[::-1]]
    arrays += [x.reshape(5, 8), x.reshape(5, 8).T, x[:1], x[:0], np.full(9, 2**62), np.array(1.5), -x]
    return [[a, k] for a in arrays for k in (2, np.float64(0.5), 0)]


def _check(text: str) -> Any:
    plain = define(text, f"loop {hash(text)}", np=np, math=math)
    compiled = jm.compile(define(text, f"loop {hash(text)}", np=np, math=math))
    for given in _arguments():
        assert outcome(compiled, given) == outcome(plain, given)
    return compiled


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT.keys())
def test_the_function_is_run_by_a_kernel(text: str) -> None:
    """On the numbers that NumPy makes of the elements: ints are exact, division by zero raises."""
    compiled = _check(text)
    assert loop_calls(compiled)
    first = jm.compile(define(text, f"loop {hash(text)}", np=np, math=math))
    first(np.arange(30.0), 2)
    assert not first.jit.breaks()


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
def test_what_is_no_array_of_equal_numbers_is_left_to_numpy(text: str) -> None:
    """With the same answer."""
    _check(text)


def test_the_same_array_is_returned_twice() -> None:
    """Not two equal ones."""
    compiled = jm.compile(define(KEPT["twice"], "loop twice", np=np))
    first, second, _, _ = compiled(np.arange(30.0), 1)
    assert first is second


def test_what_the_function_reads_may_change() -> None:
    """A global, its own code: never a stale answer."""
    scope: dict[str, Any] = {"np": np, "shift": 1.0}
    text = "def g(v):\n    return v + shift\nufunc = np.frompyfunc(g, 1, 1)\ndef f(x):\n    return ufunc(x)\n"
    compiled = jm.compile(define(text, "loop shift", **scope))
    x = np.arange(20.0)
    assert compiled(x).tolist() == (x + 1).tolist()
    compiled.__globals__["shift"] = 2.0
    assert compiled(x).tolist() == (x + 2).tolist()
    compiled.__globals__["g"].__code__ = (lambda v: v * 3).__code__
    assert compiled(x).tolist() == (x * 3).tolist()
