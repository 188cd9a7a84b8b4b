"""Loops over whole arrays that end when the data say so, with variables that are of another type in the first round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

POWER = """
def f(a, v, tol, most):
    found = 0.0
    for k in range(most):
        v = a @ v
        v = v / np.sqrt(v @ v)
        new = v @ a @ v
        if abs(new - found) < tol:
            break
        found = new
    return found, v
"""
COUNTED = """
def f(a, v, tol, most):
    found = 0
    for k in range(most):
        v = a @ v
        v = v / v.sum()
        if v.max() < tol:
            break
        found = found + v.min()
    return found, v, k
"""
WHILE = """
def f(a, v, tol, most):
    found, k = 0, 0
    while k < most:
        v = a @ v
        v = v / v.sum()
        new = v.max()
        k += 1
        if abs(new - found) < tol:
            break
        found = new
    return found, v, k
"""
NESTED = """
def f(a, v, tol, most):
    total = 0.0
    for j in range(20):
        found = 0.0
        for k in range(100):
            v = a @ v
            v = v / v.sum()
            if v.max() < tol * (j % 3):
                break
            found = found + v.max()
        total = total + found
    return total, v
"""
BOUNDS = """
def f(a, v, tol, most):
    counts = (np.arange(20) * most) % 7
    total = 0.0
    for j in range(20):
        found = 0.0
        for k in range(counts[j]):
            v = a @ v
            v = v / v.sum()
            found = found + v.max() * k
        total = total + found
    return total, v
"""
PROGRAMS = {"power": POWER, "counted": COUNTED, "while": WHILE, "nested": NESTED, "bounds": BOUNDS}
CALLS: list[Callable[[np.random.Generator], list[Any]]] = [
    lambda rng: [rng.random((5, 5)), np.ones(5), 1e-10, 500],
    lambda rng: [rng.random((5, 5)), np.ones(5), 1e9, 500],
    lambda rng: [rng.random((5, 5)), np.ones(5), 1e-10, 3],
    lambda rng: [rng.random((5, 5)), np.ones(5), 1e-10, 0],
    lambda rng: [rng.random((5, 5)).astype(np.float32), np.ones(5, np.float32), 1e-3, 500],
    lambda rng: [np.zeros((5, 5)), np.ones(5), 1e-10, 500],
]


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_loop_is_kept_whenever_it_ends(text: str) -> None:
    """In the first round, where a variable still has the type that it had before the loop, later, or not at all."""
    plain, compiled = define(text, "loop", np=np), jm.compile(define(text, "loop", np=np))
    for make in (*CALLS, *CALLS):
        assert outcome(compiled, make(np.random.default_rng(0))) == outcome(plain, make(np.random.default_rng(0)))
    assert loop_calls(compiled)
    assert not compiled.jit.breaks()
