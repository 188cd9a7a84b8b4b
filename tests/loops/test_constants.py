"""Loops over short lists of constants, membership in them, and functions of ints, in loops that are one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph.region_call import RegionCall
from tests.loops.outcomes import define, loop_calls, outcome

OFFSETS = ((-1, 0), (1, 0), (0, -1), (0, 1))
SCOPE = {"np": np, "math": math, "OFFSETS": OFFSETS, "ROWS": [-1, 1], "COLUMNS": [0, 1]}
PLACES = {  # statements at the place i, j of x
    "pairs": "for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):\n    s += x[i + di, j + dj]",
    "a list": (
        "for di in [-1, 0, 1]:\n    for dj in (-1, 0, 1):\n        if di or dj:\n            s += x[i + di, j + dj]"
    ),
    "a variable": "for di, dj in near:\n    s += x[i + di, j + dj]\nelse:\n    s += di",
    "a global": "for di, dj in OFFSETS:\n    if x[i + di, j + dj] > 2:\n        break\n    s += 1\nelse:\n    s += 100",
    "numbered": "for k, (di, dj) in enumerate(near):\n    if k == 2:\n        continue\n    s += x[i + di, j + dj] * k",
    "zipped": "for di, dj in zip(ROWS, COLUMNS):\n    s += x[i + di, j + dj]",
    "weights of two types": "for w in (1, 0.5, True):\n    s += x[i, j] * w",
    "a generator": "s += sum(x[i + di, j + dj] for di, dj in OFFSETS)",
    "all around": "s += sum(x[i + a, j + b] for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0))",
    "among pairs": "if (i, j) in ((1, 1), (2, 3)):\n    s += x[i, j]",
    "not among": "if i not in (1, 5) and j not in [2]:\n    s += x[i, j]",
    "in a set": "if (i + j) % 3 in {0, 1}:\n    s += x[i, j]",
    "a float among": "s += x[i, j] in (0.5, 1, 2)",
    "equal pairs": "if (i, j) == (2, 2) or (i, 1) == (j, 1):\n    s += x[i, j]",
}
INTS = {  # expressions of the round i
    "a power of two": "2 ** i",
    "a sign": "(-1) ** i * x[i]",
    "a power with a negative exponent": "2 ** -i",
    "a power of constants": "2 ** -1 + 2 ** 10 + x[i]",
    "a high power": "(i % 7) ** 9",
    "a power of zero": "0 ** i",
    "a negative base": "(-3) ** (i % 5)",
    "of the builtin": "(i + 1) ** (i % 3)",
    "a bit": "1 << i",
    "bits": "((-1000) >> i) + ((i % 2 == 0) << 3) + (12345 >> i)",
    "a shift by less than nothing": "(i >> (i - 4))",
    "a factor": "math.gcd(i * 6, 44 - i)",
    "a multiple": "math.lcm(i, 6)",
    "a factorial": "x[i] / math.factorial(i % 12)",
    "a large factorial": "math.factorial(i)",
    "a coefficient": "math.comb(i, 3) + math.comb(5, i)",
    "a root": "math.isqrt(i * i * 1000 + i)",
    "a complement": "~i + ~k[i]",
    "of NumPy's ints": "math.gcd(k[i], 12) + math.comb(10, k[i])",
    "of what is refused": "math.factorial(i - 3)",
    "of a float": "math.gcd(x[i], 2)",
}
ARRAYS = [np.random.default_rng(0).random((9, 8)) * 4, np.full((6, 6), np.nan), np.arange(64).reshape(8, 8) % 3]


def of_places(body: str) -> Callable[..., Any]:
    inner = body.replace("\n", "\n            ")
    text = f"""def f(x):
    near = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    s = 0.0
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            {inner}
    return s
"""
    return define(text, "loop", **SCOPE)


def of_ints(expression: str) -> Callable[..., Any]:
    text = f"def f(x, k):\n    s = 0\n    for i in range(len(x)):\n        s = s + {expression}\n    return s\n"
    return define(text, "loop", **SCOPE)


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    """The same answer; one loop without a break."""
    plain = of_places(PLACES[name])
    compiled = jm.compile(plain)
    for x in ARRAYS:
        for _ in range(2):
            assert outcome(compiled, (x,)) == outcome(plain, (x,))
    assert not jm.explain(plain)(ARRAYS[0]).breaks
    assert all(isinstance(call, RegionCall) for call in loop_calls(compiled))
    assert loop_calls(compiled)


@pytest.mark.parametrize("name", INTS)
def test_ints(name: str) -> None:
    """The same answer, also where it does not fit into a machine's int, is a float, or an error."""
    plain = of_ints(INTS[name])
    compiled = jm.compile(plain)
    for n in (10, 80):
        x = np.random.default_rng(0).random(n)
        for k in (np.arange(n) % 9, np.arange(n, dtype="u1"), np.arange(n, dtype="i2") - 3):
            assert outcome(compiled, (x, k)) == outcome(plain, (x, k))


@pytest.mark.parametrize(
    "name", [n for n in INTS if n not in ("of a float", "of what is refused", "a shift by less than nothing")]
)
def test_ints_are_in_the_kernel(name: str) -> None:
    plain = of_ints(INTS[name])
    given = np.random.default_rng(0).random(12), np.arange(12)
    compiled = jm.compile(plain)
    compiled(*given)
    assert not jm.explain(plain)(*given).breaks
    assert [type(call) for call in loop_calls(compiled)] == [RegionCall]


def test_a_list_that_was_changed_is_another_list() -> None:
    near = [(0, 1), (1, 0)]
    text = """def f(x):
    s = 0.0
    for i in range(len(x) - 3):
        for di, dj in near:
            s += x[i + di, dj]
    return s
"""
    plain = define(text, "loop", near=near)
    compiled = jm.compile(plain)
    x = ARRAYS[0]
    for change in (lambda: None, lambda: near.append((2, 2)), lambda: near.__setitem__(0, (3, 3)), near.clear):
        change()
        assert outcome(compiled, (x,)) == outcome(plain, (x,))


WRITTEN = {  # a list or a size that the loop itself changes is looked at anew in each round
    "gone through": "for i in range(len(x)):\n    for d in near:\n        s += x[i] * d\n    near[0] = i",
    "looked into": "for i in range(len(x)):\n    if i in near:\n        s += x[i]\n    near[1] += 1",
    "by another name": "for i in range(len(x)):\n    for d in near:\n        s += x[i] * d\n    other[2] = i",
    "a size in it": "for t in range(3):\n    for i in np.ndindex(near[0]):\n        s += x[i]\n    near[0] += 1",
    "sizes": "for t in range(3):\n    for i, j in np.ndindex(n, 2):\n        s += x[i] + j\n    n += 1",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_the_loop_changes_is_no_constant(name: str) -> None:
    body = WRITTEN[name].replace("\n", "\n    ")
    plain = define(f"def f(x, near, other):\n    s = 0.0\n    n = 2\n    {body}\n    return s, near\n", "loop", np=np)
    compiled = jm.compile(plain)
    for _ in range(2):
        ours, theirs = [2, 3, 5], [2, 3, 5]
        assert outcome(compiled, (np.arange(40.0), ours, ours)) == outcome(plain, (np.arange(40.0), theirs, theirs))
