"""Loops whose rounds are independent run on several threads, and show what plain Python shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.regions import parts
from jitmagic.backends.regions.emit import emit
from tests.loops.outcomes import define, loop_calls, outcome
from tests.loops.programs import PROGRAMS

SPREAD = {"lu", "jacobi", "heat_1d", "wave_2d", "mandelbrot", "game_of_life", "nbody", "kmeans_assign", "bilateral"}
SPREAD |= {"csr_matvec", "matmul", "edit_distance", "julia"}
SERIAL = """
def f(x, y):
    for i in range(1, len(x)):
        {0}
    return x, y
"""
CARRIED = {
    "the element before": "x[i] = x[i - 1] + y[i]",
    "one element for all": "y[0] = x[i]",
    "any element": "y[int(x[i])] = x[i]",
    "the last element": "x[i] = x[-1] + y[i]",
    "the last element, computed": "x[i] = x[i - i - 1] + x[2 - 3]",
    "two elements of a round": "x[i] = y[i]; x[i - 1] = y[i]",
}


@pytest.fixture
def eager_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads, however short a loop is."""
    monkeypatch.setattr(parts, "SPREAD_WORK", -1.0)
    monkeypatch.setattr(parts, "CHUNK_WORK", 1.0)
    with jm.configure(threads=2):
        yield


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_threads_give_the_bits_of_plain_python(function: Any, make: Any) -> None:
    """Also where an array is too short, or an element is such that the loop has to be left."""
    compiled = jm.compile(function)
    whole = list(make(np.random.default_rng(0), 40))
    for _ in range(3):
        assert outcome(compiled, whole) == outcome(function, whole)
    assert (function.__name__ in SPREAD) == any(emit(c.region).spreads for c in loop_calls(compiled))
    for position, value in enumerate(whole):
        if isinstance(value, np.ndarray):
            changed = copy.deepcopy(whole)
            changed[position] = value[:-1].copy()
            assert outcome(compiled, changed) == outcome(function, changed)


@pytest.mark.parametrize("statement", CARRIED.values(), ids=CARRIED.keys())
def test_rounds_that_meet_in_an_element_stay_in_order(statement: str) -> None:
    """Nothing of such a loop is given to threads."""
    compiled = jm.compile(define(SERIAL.format(statement), f"loop {statement}", np=np))
    compiled(np.arange(30.0), np.arange(30.0))
    (call,) = loop_calls(compiled)
    assert call.compiled is not None
    assert not emit(call.region).spreads


@pytest.mark.usefixtures("eager_threads")
def test_floating_point_conditions_of_workers_are_heard() -> None:
    """A warning is raised whichever thread met what it is about."""
    plain = define("def f(x, y):\n    for i in range(len(x)):\n        y[i] = 1.0 / x[i]\n", "loop warns", np=np)
    compiled = jm.compile(plain)
    x = np.ones(5000)
    compiled(x, np.zeros(5000))
    for place in (0, 2500, 4999):
        x = np.ones(5000)
        x[place] = 0.0
        assert outcome(compiled, [x, np.zeros(5000)])["warnings"]
