"""Loops that may return, with code after them, and returns of numbers of several types, stay compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

X = np.random.default_rng(0).random(400)
SEARCH = "for v in x:\n    if v > t:\n        return v\nreturn 0"
PROGRAMS = {
    "a float or an int": SEARCH,
    "pairs of several types": "for i in range(len(x)):\n    if x[i] > t:\n        return i, 1.0\nreturn -1, 0",
    "ints alone": "for i in range(len(x)):\n    if x[i] > t:\n        return i\nreturn -1",
    "a truth or a number": "for i in range(len(x)):\n    if x[i] > t:\n        return True\nreturn x[0]",
    "a sum that begins as an int": (
        "s = 0\nfor v in x:\n    if v > t:\n        return s\n    s += float(v)\nif s > 5:\n    return s\nreturn 0"
    ),
    "a branch after the loop": (
        "c = 0\nfor v in x:\n    if v > t:\n        return 1.5\n    c += 1\n"
        "if c > 10:\n    c = c * 2\nelse:\n    c = 0\nreturn c"
    ),
    "branches and a loop after it": (
        "n = 0\nwhile n < len(x):\n    if x[n] > t:\n        return n\n    n += 1\n"
        "if n > 350:\n    for i in range(n):\n        n += i % 3\nelif n > 100:\n    return n / 2\nreturn n"
    ),
    "a float in the end": (
        "c = 0.0\nfor v in x:\n    if v > t:\n        return -1\n    c += v\nm = c / len(x)\n"
        "if m > 0.4:\n    m = m - 0.25\nreturn m"
    ),
}
OTHERS = {
    "arrays": (
        "out = np.zeros(len(x))\nfor i in range(len(x)):\n    if x[i] > t:\n        return out\n    out[i] = x[i] * 2\n"
        "total = out.sum()\nif total > 10:\n    out /= total\nelse:\n    total = 0\nreturn out, total"
    ),
    "text": (
        "c = 0.0\nfor v in x:\n    if v > t:\n        return -1\n    c += v\n"
        "if c > 100:\n    k = 'high'\nelse:\n    k = 'low'\n    c = 0\nreturn c, k"
    ),
    "None": (
        "c = 0\ns = 0.0\nfor v in x:\n    if v > t:\n        return None\n    c += 1\n    s += v\n"
        "if c > 10:\n    c = c * 2\n    s = s / c\nreturn c, s, x * s"
    ),
    "one name of two types": (
        "n = 0\nfor v in x:\n    if v > t:\n        return n\n    n += 1\n"
        "if n > 350:\n    r = n\nelse:\n    r = float(n)\nif r > 360:\n    r += 1\nreturn r"
    ),
    "an error": "n = 0\nfor v in x:\n    if v > t:\n        return n\n    n += 1\nif n > 350:\n    n = x[n]\nreturn n",
}
CALLS = [[x, t] for t in (0.5, 99.0, 0.99) for x in (X, X[:300], X * 0.001, X[:5], X[:0], X.astype("float32"))]


def _function(text: str, name: str) -> Any:
    inner = text.replace("\n", "\n    ")
    return define(f"def f(x, t):\n    {inner}\n", f"loop {name}", np=np)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "numba"])
@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_the_outcome_is_that_of_plain_python(name: str, backend: str) -> None:
    text = (PROGRAMS | OTHERS)[name]
    plain, compiled = _function(text, name), jm.compile(_function(text, name), backend=backend)
    for given in CALLS:
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_regions(name: str) -> None:
    """The whole function is one of them."""
    compiled = jm.compile(_function(PROGRAMS[name], name))
    outcome(compiled, CALLS[0])
    found = loop_calls(compiled)
    assert len(found) == 1
    assert found[0].compiled is not None
    assert not compiled.jit.breaks()


@pytest.mark.parametrize("limit", [0.5, 99.0])
def test_no_type_is_left_to_plain_python(limit: float) -> None:
    """The compiled form gives each of them by itself."""
    compiled = jm.compile(_function(SEARCH, "types"))
    for _ in range(3):
        compiled(X, limit)
    (entry,) = compiled.jit.frame.entries
    assert entry.bails == 0
