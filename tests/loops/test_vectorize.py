"""``np.vectorize`` is a region with the dtype and the numbers that NumPy finds; ``np.frompyfunc`` gives its objects."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

HEAD = """
def clipped(v, low, high):
    if v < low:
        return low
    return high if v > high else v
def both(v, w):
    if v < w:
        return v, v * w
    return v + v, 0.5
def horner(v, c):
    s = 0.0
    for each in c:
        s = s * v + each
    return s
def scaled(v, by=2.0):
    return v * by if v > 0.5 else by
def dot(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s
def above(a, low):
    for i in range(len(a)):
        if a[i] > low:
            return i
    return -1
def sums(a):
    s = t = 0.0
    for v in a:
        s += v
        t += v * v
    return s, t
plain = np.vectorize(clipped)
floats = np.vectorize(clipped, otypes=[float])
"""
CAPTURED = {
    "a lambda": "return np.vectorize(lambda v: v * v + 1.0 if v > 0.5 else -v)(x)",
    "a function": "return np.vectorize(clipped)(x, 0.25, k)",
    "made before": "return plain(x, 0.25, k)",
    "otypes": "return floats(x, 0, 1)",
    "otypes of ints": "return np.vectorize(clipped, otypes='i')(x * 9, 1, 5)",
    "a function of the frame": "def g(v):\n        return v * k\n    return np.vectorize(g)(x)",
    "two arrays": "return np.vectorize(lambda a, b: a if a > b else b)(x, x[::-1].copy())",
    "two axes": "return np.vectorize(lambda v: v * 2)(x[:18].reshape(3, 6))",
    "math": "return np.vectorize(math.sqrt)(x * x)",
    "math of what is no number": "return np.vectorize(math.sqrt)(x)",
    "int or float": "return np.vectorize(lambda v: 0 if v > 0.2 else v)(x)",
    "always ints": "return np.vectorize(lambda v: 0 if v > -99 else v)(x)",
    "truths": "return np.vectorize(lambda v: v > 0.25)(x)",
    "spread": "return np.vectorize(lambda v, w: v * w)(x[:18].reshape(3, 6), x[:6])",
    "a column": "return np.vectorize(lambda v, w: v - w)(x[:18].reshape(3, 6), x[:3].reshape(3, 1))",
    "pairs": "return np.vectorize(lambda v: (v, v * 2.0))(x)",
    "results of several types": "return np.vectorize(both)(x, k)",
    "several otypes": "return np.vectorize(both, otypes='fd')(x, k)",
    "one of several results": "p, q = np.vectorize(both)(x, k)\n    return q - p",
    "excluded": "return np.vectorize(lambda v, w: v * w, excluded=[1])(x, k)",
    "excluded by name": "return np.vectorize(lambda v, w: v * w.sum(), excluded=['w'])(x, w=x)",
    "an excluded table": "return np.vectorize(horner, excluded={1})(x, x[:3])",
    "an excluded list": "return np.vectorize(horner, excluded=['c'])(x, c=[1.0, 2.0, 0.5])",
    "by name": "return np.vectorize(lambda v, w: v * w)(x, w=k)",
    "all by name": "return np.vectorize(lambda v, w: v * w)(w=x, v=x[::-1])",
    "a default": "return np.vectorize(scaled)(x), np.vectorize(scaled)(x, by=3)",
    "lists": "return np.vectorize(lambda v, w: v * w)(x.tolist(), x)",
    "both are spread": "return np.vectorize(lambda v, w: v * w)(x, x[:, None])",
    "a cache": "return np.vectorize(lambda v: v * 2, cache=True)(x)",
    "a cache that counts": "return np.vectorize(lambda v: 1 / v, cache=True)(x * (x < x[0]))",
    "otypes without elements": "return np.vectorize(lambda v: v * 2, otypes=['f'])(x[:k < 0])",
    "rows": "return np.vectorize(dot, signature='(n),(n)->()')(x[:18].reshape(3, 6), x[:6])",
    "rows of both": "return np.vectorize(dot, signature='(n),(n)->()')(x[:18].reshape(3, 6), -x[:18].reshape(3, 6))",
    "rows and numbers": "return np.vectorize(above, signature='(n),()->()', otypes=[int])(x[:18].reshape(3, 6), k)",
    "two sums of rows": "return np.vectorize(sums, signature='(n)->(),()')(x[:18].reshape(3, 6))",
    "division": "return np.vectorize(lambda v: 1 / (v - v))(x)",
}
OTHERS = {
    "objects": "return np.frompyfunc(lambda v: v * 2.0, 1, 1)(x)",
    "objects of two": "return np.frompyfunc(lambda a, b: a * b + k, 2, 1)(x, x)",
    "objects made floats": "return np.frompyfunc(lambda v: float(v) * 2.0, 1, 1)(x).astype(float)",
    "printing": "return np.vectorize(lambda v: print(v))(x)",
    "no elements": "return np.vectorize(lambda v: v * 2)(x[:0])",
    "arrays from rows": "return np.vectorize(lambda r: r - r[0], signature='(n)->(n)')(x[:18].reshape(3, 6))",
    "a reduction of rows": "return np.vectorize(lambda r: r.sum(), signature='(n)->()')(x[:18].reshape(3, 6))",
    "rows of other lengths": "return np.vectorize(dot, signature='(n),(n)->()')(x[:18].reshape(3, 6), x[:5])",
    "three axes": "return np.vectorize(sums, signature='(n)->(),()')(x[:18].reshape(3, 2, 3))",
    "an argument twice": "return np.vectorize(lambda v, w: v * w)(x, x, v=x)",
    "other numbers of results": "return np.vectorize(lambda v: (v, v) if v > 0.5 else v)(x)",
    "otypes of too many": "return np.vectorize(lambda v: v, otypes='dd')(x)",
    "a number": "return np.vectorize(lambda v: v * 2)(k)",
    "another order": "return np.vectorize(lambda v: v * 2)(np.asfortranarray(x[:18].reshape(3, 6)))",
    "text": "return np.vectorize(lambda v: str(v))(x)",
    "objects of NumPy": "return np.frompyfunc(lambda v: np.sin(v), 1, 1)(x)",
    "two objects": "return np.frompyfunc(lambda v: (v, v), 1, 2)(x)",
}


def _function(body: str, name: str) -> Any:
    return define(f"{HEAD}\ndef f(x, k):\n    {body}\n", f"loop {name}", np=np, math=math)


def _inputs(dtype: str) -> list[list[Any]]:
    rng = np.random.default_rng(0)
    return [[(rng.random(n) * 4 - 1).astype(dtype), 0.75] for n in (20, 20, 31)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
@pytest.mark.parametrize("name", [*CAPTURED, *OTHERS])
def test_the_results_are_those_of_numpy(name: str, dtype: str) -> None:
    """With dtypes, exceptions and warnings."""
    text = {**CAPTURED, **OTHERS}[name]
    plain, compiled = _function(text, name), jm.compile(_function(text, name))
    for given in _inputs(dtype):
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", CAPTURED)
def test_they_are_regions(name: str) -> None:
    """With a kernel, and without a graph break."""
    compiled = jm.compile(_function(CAPTURED[name], name))
    for given in _inputs("float64")[:2]:
        outcome(compiled, given)
    calls = loop_calls(compiled)
    assert calls
    assert all(c.compiled is not None for c in calls)
    assert not compiled.jit.breaks()


@pytest.mark.parametrize("name", ["text", "arrays from rows", "printing"])
def test_what_stays_plain_is_told_without_names_of_ours(name: str) -> None:
    compiled = jm.compile(_function(OTHERS[name], name))
    outcome(compiled, _inputs("float64")[0])
    found = str(compiled.jit.breaks())
    assert "runs as plain Python" in found
    assert "_jm" not in found
    assert "region:" not in found
