"""Loops over what is computed in their head, of a length that the arguments or only the data tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, outcome

COMPUTED = {
    "a call": "s = 0.0\nfor v in np.sort(x):\n    s += v * v\nreturn s",
    "zip of calls": "s = 0.0\nfor v, w in zip(np.sort(x), np.cumsum(x)):\n    s += v * w\nreturn s, v, w",
    "enumerate of a method": "s = 0.0\nfor i, v in enumerate(x.ravel()):\n    s += v * i\nreturn s, i",
    "enumerate of a sum": "y = x.copy()\nfor i, v in enumerate(x + y):\n    y[i] = v * 2\nreturn y",
    "a view that the loop writes": "y = x.copy()\nfor i, v in enumerate(y[::-1]):\n    y[i] = v * 2\nreturn y",
    "appends": "out = []\nfor v in np.sort(x):\n    out.append(v * 2)\nreturn out",
    "appends of zip": "out = []\nfor v, w in zip(np.sort(x), x):\n    out.append(v - w)\nreturn out",
    "draws": "g = np.random.default_rng(3)\ns = 0.0\nfor v in g.random(50):\n    s += v\nreturn s, g.random()",
}
COUNTED = {
    "a sum": "s = 0.0\nfor v in x[x > 1]:\n    s += v * v\nreturn s",
    "a search": "best = -1.0\nfor v in np.unique(x):\n    if v > best:\n        best = v\nreturn best",
    "appends": "out = []\nfor v in np.unique(x):\n    out.append(v * 2)\nreturn out",
    "some appends": "out = []\nfor n, v in enumerate(x[x > 1]):\n    if n % 2:\n        out.append(v)\nreturn out",
    "writes": "out = np.zeros_like(x)\nfor i in np.argwhere(x > 1)[:, 0]:\n    out[i] = x[i] * 2\nreturn out",
    "a list": "return [v for v in x[x > 1]]",
    "a list of floats": "return [float(v) * 2 for v in np.unique(x)]",
    "a list of ints": "return [int(i) for i in np.flatnonzero(x > 1)]",
    "zip of counts": "u, c = np.unique(x, return_counts=True)\nreturn [u * k for u, k in zip(u, c)]",
    "an array": "return np.array([v * 2 for v in x[x > 1]])",
    "an array of bools": "return np.array([v > 2 for v in x[x > 1]])",
    "two ways": "return [v if v > 2 else -v for v in x[x > 0]]",
}
ARRAYS = [
    np.array([3.0, 1.0, 2.0, 3.0, 3.0, 1.0]),
    np.zeros(2),
    np.zeros(0),
    np.array([1, 2, 3, 4]),
    np.array([5.0, 7.0], "f4"),
    np.arange(8.0)[::2],
    np.arange(300.0)[::-1],
]


def define_f(body: str) -> Callable[..., Any]:
    indented = body.replace("\n", "\n    ")
    return define(f"def f(x):\n    {indented}\n", "f", np=np)


PROGRAMS = {
    f"{kind}: {name}": text for kind, p in (("long", COMPUTED), ("counted", COUNTED)) for name, text in p.items()
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_for_every_length(name: str) -> None:
    plain = define_f(PROGRAMS[name])
    compiled = jm.compile(plain)
    for x in ARRAYS * 2:
        assert outcome(compiled, (x.copy(),)) == outcome(plain, (x.copy(),)), x
    if "that the loop writes" not in name:
        assert not jm.explain(plain)(np.arange(200.0)).breaks


def test_a_refusal_speaks_of_the_head_as_it_is_written() -> None:
    plain = define_f("d = {}\nfor i, v in enumerate(np.sort(x)):\n    d[str(v)] = i\nreturn d")
    told = jm.explain(plain)(np.arange(200.0)).breaks
    assert told
    assert all("_jm" not in b.reason + b.hint for b in told)


def test_a_refusal_has_the_names_of_a_comprehension_as_they_are_written() -> None:
    plain = define_f("p = np.poly1d([1, 2])\nreturn [p(v) for v in x]")
    told = jm.explain(plain)(np.arange(200.0)).breaks
    assert any("the call p(v)" in b.reason for b in told)
    assert all("_jm" not in b.reason for b in told)
