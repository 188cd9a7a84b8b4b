"""Loops over the places of an array: ``np.ndindex`` and ``np.ndenumerate``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.runtime.once import run_once
from tests.loops.outcomes import define, loop_calls, outcome, seen

CAPTURED = {
    "numbers and element": "s = 0.0\nfor (i, j), v in np.ndenumerate(x):\n    s += v * i - j\nreturn s, i, j, v",
    "a place and its element": (
        "for at, v in np.ndenumerate(x):\n    out[at] = v * at[0] if v > 1 else -v\nreturn at, v"
    ),
    "a shape": "for at in np.ndindex(x.shape):\n    out[at] = x[at] ** 2\nreturn at",
    "a shape that is spread out": "for i, j in np.ndindex(*x.shape):\n    out[i, j] = x[i, j] + i * 10 + j",
    "two sizes": "n, m = x.shape\nfor i, j in np.ndindex(n, m):\n    out[i, j] = x[i, j] * 2\nreturn i + j",
    "a tuple of sizes": "for i, j in np.ndindex((len(x), x.shape[1])):\n    out[i, j] = x[i, j] - j",
    "known sizes": "s = 0\nfor i, j, k in np.ndindex(3, 4, 5):\n    s += i * j - k\nreturn s, i, j, k",
    "a part of the shape": "for (i,) in np.ndindex(x.shape[:1]):\n    out[i, 0] = i",
    "the first axis": "for at in np.ndindex(x.shape[0]):\n    out[at[0], -1] = at[0]\nreturn at",
    "break": (
        "s = 0.0\nfor i, j in np.ndindex(x.shape):\n    if x[i, j] > 2.9:\n"
        "        break\n    s += x[i, j]\nreturn s, i, j"
    ),
    "break and else": (
        "s = 0.0\nfor at, v in np.ndenumerate(x):\n    if v > 2.9:\n        break\n"
        "    s += v\nelse:\n    s = -1.0\nreturn s"
    ),
    "else": "s = 0.0\nfor at, v in np.ndenumerate(x):\n    s += v\nelse:\n    s = -s\nreturn s",
    "continue": "s = 0.0\nfor at, v in np.ndenumerate(x):\n    if v > 1:\n        continue\n    s += v\nreturn s",
    "a search": "for (i, j), v in np.ndenumerate(x):\n    if v > 2:\n        return i * 100 + j\nreturn -1",
    "in a time loop": (
        "for t in range(3):\n    for i, j in np.ndindex(x.shape):\n        out[i, j] = out[i, j] * 0.5 + x[i, j] * t"
    ),
    "a grid in a grid": (
        "s = 0.0\nfor i, j in np.ndindex(x.shape):\n"
        "    for k, l in np.ndindex(3, 3):\n        s += x[i, j] * (k - l)\nreturn s"
    ),
    "a break in a grid in a grid": (
        "s = 0.0\nfor i, j in np.ndindex(x.shape):\n    for k, l in np.ndindex(3, 3):\n        if k * l > i:\n"
        "            break\n        s += x[i, j]\n    if s > 30:\n        break\nreturn s, i, j"
    ),
    "unpacked later": "for at in np.ndindex(x.shape):\n    i, j = at\n    out[j % len(x), i % 2] += x[at]",
    "targets that the body changes": (
        "s = 0\nfor i, j in np.ndindex(x.shape):\n    s += i\n    i = j * 2\n    s -= i\nreturn s, i"
    ),
    "an element that is written first": (
        "for (i, j), v in np.ndenumerate(out):\n    out[i, (j + 1) % out.shape[1]] = v + 1"
    ),
    "an error": "for i, j in np.ndindex(x.shape):\n    out[i, j + 1] = x[i, j]",
}
PLAIN = {  # left to plain Python, with the same answer
    "a place that is kept": (
        "found = []\nfor at, v in np.ndenumerate(x):\n    found.append((at, float(v)))\nreturn found"
    ),
    "a text of it": "d = {}\nfor at in np.ndindex(2, 2):\n    d[str(at)] = x[at]\nreturn d",
    "a size below zero": "for i, j in np.ndindex(len(x), -1):\n    out[i, j] = 1",
    "a size that a round changes": (
        "n = len(x)\nfor i, j in np.ndindex(n, n):\n    n = 1\n    out[0, 0] += i * j\nreturn n"
    ),
    "a number of NumPy": "for i, j in np.ndindex(np.int64(2), 2):\n    out[i, j] = 1\nreturn i",
    "one target too few": "for i, j in np.ndindex(2, 2, 2):\n    out[i, j] = 1",
    "a place read after its loop": (
        "at = (7, 8)\ns = 0.0\nfor t in range(20):\n    for at in np.ndindex(x.shape):\n        s += x[at]\n"
        "    s += at[0]\nreturn s, at"
    ),
    "a place read before its loop": (
        "at = (7, 8)\ns = 0.0\nfor t in range(20):\n    s += at[1]\n    for at in np.ndindex(x.shape):\n"
        "        s += x[at]\nreturn s, at"
    ),
    "a place read in its else": (
        "at = (7, 8)\ns = 0.0\nfor at, v in np.ndenumerate(x):\n    s += v\nelse:\n    s += at[0]\nreturn s, at"
    ),
    "what was computed": "s = 0.0\nfor at, v in np.ndenumerate(x * 2):\n    s += v\nreturn s",
}
ARRAYS = [
    np.arange(12.0).reshape(3, 4) / 4,
    np.arange(12.0).reshape(4, 3).T / 4,
    np.zeros((0, 4)),
    np.zeros((4, 0)),
    np.arange(2400.0).reshape(40, 60) / 800,
    np.arange(24, dtype="i4").reshape(4, 6)[::-1, ::2],
]


def define_f(body: str) -> Callable[..., Any]:
    indented = body.replace("\n", "\n    ")
    return define(f"def f(x, out):\n    {indented}\n", "loop", np=np)


@pytest.mark.parametrize("name", [*CAPTURED, *PLAIN])
def test_the_same_for_every_shape(name: str) -> None:
    plain = define_f((CAPTURED | PLAIN)[name])
    compiled = jm.compile(plain)
    for x in ARRAYS * 2:
        given = (x.copy(), np.zeros(x.shape))
        assert outcome(compiled, given) == outcome(plain, given), x


@pytest.mark.parametrize("name", CAPTURED)
def test_it_is_one_loop_without_a_break(name: str) -> None:
    plain = define_f(CAPTURED[name])
    given = (np.ones((40, 60)), np.zeros((40, 61)))
    assert not jm.explain(plain)(*given).breaks
    compiled = jm.compile(plain)
    compiled(*given)
    assert len(loop_calls(compiled)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "for at, v in np.ndenumerate(x):\n    out[at] = v + at[1]",
        "for i, j in np.ndindex(x.shape):\n    out[i, j] = x[i, j]",
        "for at in np.ndindex(*x.shape):\n    s += x[at]\n    if s > 9:\n        break",
    ],
)
def test_a_cell_is_left_with_what_the_plain_cell_leaves(text: str) -> None:
    namespaces = [{"np": np, "s": 0.0, "x": np.arange(12.0).reshape(3, 4), "out": np.zeros((3, 4))} for _ in range(2)]
    exec(text, namespaces[0])
    (loop,) = ast.parse(text).body
    assert run_once(loop, namespaces[1], "<cell>")  # type: ignore[arg-type]  # a loop
    left = [{k: seen(v) for k, v in n.items() if k not in ("np", "__builtins__")} for n in namespaces]
    assert left[0] == left[1]
