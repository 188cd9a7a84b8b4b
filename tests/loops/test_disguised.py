"""Loops in disguise are one region: comprehensions, ``sum`` and its kin, ``map``, with what plain Python shows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

CAPTURED = {
    "array of a list": "return np.array([v * v + 1.0 for v in x])",
    "array of a list of ints": "return np.array([i * i for i in range(len(x))])",
    "by index": "return np.array([x[i] * i for i in range(1, len(x))])",
    "steps": "return np.array([x[i] for i in range(0, len(x), 3)])",
    "backwards": "return np.array([x[i] for i in range(len(x) - 1, -1, -1)])",
    "a condition": "return np.array([v for v in x if v > 0.25])",
    "nothing passes": "return np.array([v for v in x if v > 1e9])",
    "ints that pass": "return np.array([i for i in range(len(x)) if x[i] > 0.25])",
    "no int passes": "return np.array([i for i in range(len(x)) if x[i] > 1e9])",
    "two kinds": "return np.array([0 if v < 0.25 else v for v in x])",
    "two kinds, one seen": "return np.array([0 if v < 1e9 else v for v in x])",
    "python and numpy floats": "return np.array([1.0 if v < 0.25 else v for v in x])",
    "truths": "return np.array([v > 0.25 for v in x])",
    "python truths": "return np.array([i > 3 for i in range(len(x))])",
    "a dtype": "return np.array([v for v in x], dtype=np.float32)",
    "a dtype of ints": "return np.array([i for i in range(len(x))], dtype=np.int8)",
    "ints from floats": "return np.asarray([v * 9 for v in x], int)",
    "zip": "return np.array([v * w for v, w in zip(x[1:], x[:-1])])",
    "unequal zip": "return np.array([v * w for v, w in zip(x[1:], x)])",
    "enumerate": "return np.array([v * i for i, v in enumerate(x)])",
    "enumerate from 2": "return np.array([v * i for i, v in enumerate(x[2:], 2)])",
    "two loops": "return np.array([v - w for v in x for w in x])",
    "two loops and a condition": "return np.array([v - w for v in x for w in x if v > w])",
    "lists of lists": "return np.array([[v * w + i for i, v in enumerate(x)] for w in x])",
    "rows of another length": "return np.array([[v * j for j in range(12)] for v in x])",
    "list of map": "return np.array(list(map(lambda v: v * k, x)))",
    "map of two": "return np.array(list(map(lambda v, w: v * w - k, x, x)))",
    "fromiter": "return np.fromiter((v * 2 for v in x), dtype=np.float32)",
    "fromiter of ints": "return np.fromiter((i for i in range(len(x)) if x[i] > 0), int)",
    "sum": "return sum(v * v for v in x)",
    "sum of a list": "return sum([v * v for v in x])",
    "sum of an array": "return sum(x)",
    "sum with a start": "return sum((v * 2 for v in x), 1.5)",
    "count": "return sum(1 for v in x if v > 0.25)",
    "count truths": "return sum(v > 0.25 for v in x)",
    "sum of python floats": "return sum(math.sqrt(abs(v)) * 1e-3 for v in x)",
    "cancelling python floats": "return sum(float(v) * (-1) ** 1 * 10.0 ** 3 for v in x)",
    "sum of ints": "return sum(i * i for i in range(len(x)))",
    "double sum": "return sum(v * w for v in x for w in x)",
    "sum of sums": "return sum(sum(v * w for w in x) for v in x)",
    "max": "return max(v * v for v in x)",
    "min where": "return min(v for v in x if v > 0.1)",
    "max of nothing": "return max(v for v in x if v > 1e9)",
    "max of an array": "return max(x), min(x)",
    "max of ints": "return max(i * (7 - i) for i in range(len(x)))",
    "any and all": "return any(v > 0.75 for v in x), all(v < 1e9 for v in x), any(x), all(x)",
    "map and sum": "return sum(map(lambda v, w: v * w, x, x))",
    "named function": "return sum(map(math.sqrt, x * x))",
    "reduce": "return functools.reduce(lambda a, b: a * 0.5 + b, x)",
    "reduce with a start": "return functools.reduce(lambda a, b: a + b * b, x, 0)",
    "a list returned": "return [v * 2.0 for v in x]",
    "a list of python numbers": "return [float(v) for v in x]",
    "a list of ints": "return [i * 2 for i in range(len(x))]",
    "lists of lists returned": "return [[v * w for v in x] for w in x]",
    "a list for NumPy": "t = [v * k for v in x]\n    return np.mean(t), np.sum(t), len(t), x + t",
    "a list twice": "t = [v * k for v in x]\n    return t, np.array(t), t is t",
    "an element of a list": "t = [v * k for v in x]\n    return t[3] + t[-1]",
    "an inner loop": (
        "y = np.zeros(len(x))\n    for i in range(len(x)):\n"
        "        y[i] = sum(x[j] * x[i] for j in range(i + 1))\n    return y"
    ),
    "a function of the frame": "def g(v):\n        return v * k if v > 0.25 else -v\n    return sum(g(v) for v in x)",
    "a name that hides": "v = 3.5\n    s = sum(v * 2 for v in x)\n    return s, v",
    "int overflow": "return sum(i * 2**61 for i in range(len(x)))",
    "division by zero": "return np.array([1.0 / i for i in range(len(x))])",
    "numpy's division by zero": "return np.array([v / (x[0] - x[0]) for v in x])",
    "index out of range": "return np.array([x[i + 1] for i in range(len(x))])",
}
KEEPS_GOING = {  # what ends plainly, since only plain Python shows it
    "two kinds, one seen",
    "no int passes",
    "max of nothing",
    "int overflow",
    "division by zero",
    "index out of range",
}


def _function(text: str, name: str) -> Any:
    return define(f"def f(x, k):\n    {text}\n", f"loop {name}", np=np, math=math, functools=functools)


def _inputs(dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    made = [(rng.random(n) * 4 - 1).astype(dtype) for n in (20, 20, 31)]
    made.append(rng.random((20, 2)).astype(dtype)[:, 0])
    return made


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("name", CAPTURED)
def test_they_show_what_plain_python_shows(name: str, dtype: str) -> None:
    """Values, dtypes, types of numbers, exceptions and warnings, call after call."""
    plain, compiled = _function(CAPTURED[name], name), jm.compile(_function(CAPTURED[name], name))
    for x in _inputs(dtype):
        given = [x, 0.5]
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", CAPTURED)
def test_they_are_regions(name: str) -> None:
    """With a kernel, and without a graph break."""
    compiled = jm.compile(_function(CAPTURED[name], name))
    x = np.random.default_rng(1).random(40)
    for _ in range(2):
        outcome(compiled, [x, 0.5])
    calls = loop_calls(compiled)
    assert calls
    assert all(c.compiled is not None for c in calls)
    assert not compiled.jit.breaks()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [n for n in CAPTURED if n not in KEEPS_GOING])
def test_their_plain_form_is_the_same(name: str, backend: str) -> None:
    """What backends without kernels run."""
    plain, compiled = _function(CAPTURED[name], name), jm.compile(_function(CAPTURED[name], name), backend=backend)
    x = np.random.default_rng(2).random(24)
    assert outcome(compiled, [x, 0.5]) == outcome(plain, [x, 0.5])


OTHERS = {
    "few rounds": "return np.array([v * k for v in x[:3]])",
    "no rounds": "return np.array([v * k for v in x[:0]])",
    "printing": "return [print(v) for v in x]",
    "arrays": "return [x * i for i in range(12)]",
    "max of a few": "return max(x[0], x[1])",
    "strings": "return [str(v) for v in x]",
    "pairs": "return [(v, v * k) for v in x]",
    "an empty sum": "return sum(v for v in x[:0])",
    "a list that grows": "t = [v * k for v in x]\n    t.append(1)\n    return t",
    "a list twice as long": "t = [v * k for v in x]\n    return t + t, t * 2",
    "the same list": "t = u = [v * k for v in x]\n    u[0] = 5\n    return t, u is t",
    "a long list one by one": "t = [v * k for v in x]\n    s = 0.0\n    for v in t:\n        s += v\n    return s",
    "ints from not a number": "return np.array([v - k for v in x], dtype=np.int32)",
    "nan to int": "t = [v * k for v in x]\n    return np.array(t, dtype=int)",
    "an iterator used up": "it = iter([v for v in x])\n    next(it)\n    return sum(it)",
    "keys": "return max((v for v in x), key=lambda v: -v), max((v for v in x), default=3)",
    "a generator kept": "g = (v for v in x)\n    return sum(g), sum(g)",
    "drawn once": "r = np.random.default_rng(3)\n    return np.array([v * k for v in r.random(20)]), r.random()",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_such_loop_shows_the_same(name: str) -> None:
    """Whatever becomes of it."""
    plain, compiled = _function(OTHERS[name], name), jm.compile(_function(OTHERS[name], name))
    for x in (*_inputs("float64"), np.full(20, np.nan), np.random.default_rng(4).random(300)):
        given = [x, 0.5]
        assert outcome(compiled, given) == outcome(plain, given)
