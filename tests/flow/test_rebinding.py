"""Loops that call a function which rebinds a variable of the function around them (``nonlocal``)."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import same_everywhere

BODIES = {
    "numbers": ("s = 0.0", "s = s + v", "for v in x:\n    add(v)\nreturn s"),
    "other classes": ("s = 0", "s += v", "for v in x:\n    add(v)\nreturn s"),
    "lists": ("s = []", "s = s + [v]", "for v in x:\n    add(v)\nreturn s"),
    "texts": ("s = ''", "s += f'{v:.1f};'", "for v in x:\n    add(v)\nreturn s"),
    "constants": ("s = ''", "s += 'a'", "for v in x:\n    add(v)\nreturn s, x + 1"),
    "arrays": ("s = x", "s = s + v", "for i in range(50):\n    add(x * i)\nreturn s"),
    "rows": ("s = 0.0", "s = s + v.sum()", "for v in np.outer(np.arange(40.0), x):\n    add(v)\nreturn s"),
    "a while loop": ("s, y = 0.0, x", "s = s + v", "while y.max() < 99:\n    y = y * 2\n    add(y.sum())\nreturn s, y"),
    "a branch": ("s = 0.0", "s = s + v", "if x.sum() > 1:\n    add(x.max())\nreturn s"),
    "a branch in a loop": ("s = 0.0", "s = s + v", "for v in x:\n    if v > 1:\n        add(v)\nreturn s"),
}


@pytest.mark.parametrize("parts", BODIES.values(), ids=BODIES)
def test_what_the_callee_binds_is_not_lost(parts: tuple[str, str, str]) -> None:
    before, change, body = parts
    lines = [before, "def add(v):", "    nonlocal s", f"    {change}", *body.split("\n")]
    text = "x = np.array([1.5, -2.25, 3.0])\ndef f(x):\n" + "\n".join(f"    {line}" for line in lines)
    same_everywhere(text, ["f(x)", "f(np.arange(50.0))", "f(x)"])


def test_a_variable_that_is_only_read_keeps_the_loop_whole() -> None:
    text = """
x = np.array([1.5, -2.25, 3.0])
def f(x):
    k = x * 2
    def g(v): return v + k
    y = x
    for row in np.outer(np.arange(40.0), x):
        y = g(y) + row
    return y, k
"""
    same_everywhere(text, ["f(x)", "f(np.arange(5.0))"], [1, 2])


def shrinking_steps(v: np.ndarray, n: int) -> np.ndarray:
    for _ in range(n):
        v = 0.5 * (v[:-1] + v[1:])
    return v


def test_a_variable_that_changes_its_shape_is_named() -> None:
    """Too many rounds to write out: the reason is the variable, not an error that Python would not raise."""
    told = jm.explain(shrinking_steps)(np.arange(101.0), 100).breaks
    assert [b.code for b in told] == ["plain-loop"]
    assert "v, whose type, dtype or shape is not the same every time" in told[0].reason
    compiled, plain = (f(np.arange(101.0), 100) for f in (jm.compile(shrinking_steps), shrinking_steps))
    assert compiled.tobytes() == plain.tobytes()
