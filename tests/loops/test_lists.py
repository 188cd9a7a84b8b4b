"""Loops over lists of numbers are regions, and show what plain Python shows: values, types, effects, errors."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.list_programs import CAPTURED, OTHERS, REPEATS
from tests.loops.outcomes import define, loop_calls, outcome, outcome_on

BACKENDS = ["eager", "aot_eager", "numba"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*CAPTURED, *OTHERS])
def test_the_outcome_is_that_of_plain_python(name: str, backend: str) -> None:
    """Also after calls with other lengths and types of lists."""
    text, calls = (CAPTURED | OTHERS)[name]
    plain, compiled = (define(text + "\n", f"loop {name} {backend}", np=np) for _ in range(2))
    compiled = jm.compile(compiled, backend=backend)
    for given in calls * REPEATS:
        assert outcome(compiled, given) == outcome(plain, given)


@pytest.mark.parametrize("name", CAPTURED)
def test_the_loops_are_regions(name: str) -> None:
    """With a kernel, without a graph break, and without rounds that are written out."""
    text, calls = CAPTURED[name]
    compiled = jm.compile(define(text + "\n", f"loop {name}", np=np))
    outcome(compiled, calls[0])
    found = loop_calls(compiled)
    assert found
    assert all(c.compiled is not None for c in found)
    assert not compiled.jit.breaks()


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_arguments_that_are_one_list(backend: str) -> None:
    """What is written under one name is read under the other."""
    text = "def f(u, w):\n    for i in range(len(w)):\n        u[i] = w[i - 1] + 1.0\n    return u is w\n"
    plain, compiled = (define(text, f"loop one list {backend}") for _ in range(2))
    compiled = jm.compile(compiled, backend=backend)
    for shared in (False, True, False, True):
        mine, theirs = ([float(i) for i in range(20)] for _ in range(2))
        given = [[a, a if shared else list(a)] for a in (mine, theirs)]
        assert outcome_on(compiled, given[0]) == outcome_on(plain, given[1])


def test_a_list_of_another_length_is_no_new_version() -> None:
    """From the second length on."""
    compiled = jm.compile(
        define("def f(w):\n    s = 0.0\n    for v in w:\n        s += v\n    return s\n", "loop lengths")
    )
    for n in (20, 30, 40, 50, 60):
        assert compiled([0.5] * n) == n / 2
    assert len(compiled.jit.frame.entries) == 2
