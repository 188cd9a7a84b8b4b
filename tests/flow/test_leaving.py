"""Loops over arrays that a ``return`` leaves, or that have an ``else``: they are one part of the graph."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import explained, same_everywhere

BEFORE = """
x = np.array([1.5, -2.25, 3.0]); log = []
M = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
def solve(v, limit, n=40):
    for i in range(n):
        v = v / 2
        if np.abs(v).max() < limit:
            return v, i
    return v, n
def f(x, limit=0.1, n=40):
"""
CALLS = ("f(x)", "f(x, 1e-30)", "f(x, 100.0)", "f(x, 0.1, 2)", "f(x, 0.1, 0)", "f(x[::-1])", "f(np.zeros(3))", "log")
STEP = "    v = v / 2\n"
SMALL = "    if np.abs(v).max() < limit:\n"
FOR = "v = x\nfor i in range(n):\n"
CAPTURED = {
    "a value and a number": FOR + STEP + SMALL + "        return v, i\nreturn v, n",
    "computed where it returns": FOR + STEP + SMALL + "        return v * 2, i + 1, v.sum()\nreturn v, n, v.max()",
    "None in the end": FOR + STEP + SMALL + "        return v\nreturn None",
    "None inside": FOR + STEP + SMALL + "        return\nreturn v",
    "forever": "v = x\nn = 0\nwhile True:\n"
    + STEP
    + "    n += 1\n    if np.abs(v).max() <= limit or n > 200:\n        return v, n",
    "two returns": FOR
    + STEP
    + SMALL
    + "        return v, 'small'\n    if v.sum() > 50:\n        return None, i\nreturn v, n",
    "returns on both ways": FOR
    + STEP
    + SMALL
    + "        if v.sum() > 0:\n            return 1\n        else:\n            return -1\nreturn 0",
    "return and break": FOR + STEP + SMALL + "        return v\n    if v[0] < 1:\n        break\nreturn v + 1",
    "return and continue": FOR
    + STEP
    + "    if v[0] > 1:\n        continue\n"
    + SMALL
    + "        return v\nreturn v + 1",
    "an else that raises": FOR + STEP + SMALL + "        break\nelse:\n    raise RuntimeError('no end')\nreturn v, i",
    "an else that computes": FOR + STEP + SMALL + "        break\nelse:\n    v = v + 100\nreturn v",
    "an else that prints": FOR
    + STEP
    + SMALL
    + "        break\nelse:\n    print('no end', v)\n    log.append(v)\nreturn v",
    "an else and a return": FOR + STEP + SMALL + "        return v\nelse:\n    v = v - 1\nreturn v",
    "else of a while": "v = x\nk = 0\nwhile np.abs(v).max() > limit and k < 100:\n    k += 1\n"
    + STEP
    + "    if k > n:\n        break\nelse:\n    k = -1\nreturn v, k",
    "in a callee": "v, i = solve(x, limit, n)\nreturn v * 2, i",
    "the argument itself": FOR + SMALL + "        return v, i\n" + STEP + "return v, n",
    "a matrix": "v = np.ones(3)\nlam = 0.0\nfor k in range(n):\n    w = M @ v\n    v = w / np.linalg.norm(w)\n"
    "    new = v @ M @ v\n    if abs(new - lam) < limit:\n        lam = new\n        break\n    lam = new\n"
    "else:\n    raise RuntimeError('no end')\nreturn lam, v, k",
    "effects before and after": "print('in')\n"
    + FOR
    + STEP
    + SMALL
    + "        return v\nprint('out', v)\nlog.append(1)\nreturn v",
    "an exception where it returns": FOR + STEP + SMALL + "        return v[[i - 4]]\nreturn v",
    "rows with numbers": "for i, v in enumerate(np.outer(x, x)):\n    if v.sum() > limit:\n        return i\nreturn 0",
}
SPLIT = {
    "a return in a with": FOR
    + "    with np.errstate(all='ignore'):\n    "
    + STEP
    + "    "
    + SMALL
    + "            return v\nreturn 0",
    "a try around": "v = x\ntry:\n    while True:\n    "
    + STEP
    + "    "
    + SMALL
    + "            return v\nfinally:\n    log.append(1)",
}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_each_way_out_is_the_one_of_plain_python(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_other_loops_mean_the_same(body: str) -> None:
    same_everywhere(program(body), CALLS[2:])
    assert explained(program(body), "f(x)").break_count > 0


def _converged(x):
    for _ in range(50):
        y = np.cos(x)
        if np.abs(y - x).max() < 1e-3:
            return (y * y).sum()
        x = y
    return x.sum()


@pytest.mark.parametrize("rounds", [0.5, 0.7390851332])
def test_the_derivative_is_that_of_the_way_taken(rounds: float) -> None:
    x, e = np.full(3, rounds), 1e-6
    found = jm.grad(_converged)(x)
    for i in range(3):
        up, down = x.copy(), x.copy()
        up[i] += e
        down[i] -= e
        assert abs(found[i] - (_converged(up) - _converged(down)) / (2 * e)) < 1e-6
