"""Gradients of whole programs: equal to central differences, and the value bit for bit that of the plain function."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import jitmagic as jm
from tests.gradients.differences import agree, central_differences
from tests.gradients.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_against_central_differences(name: str) -> None:
    """Captured whole: falling back to the tape would not be noticed otherwise."""
    function, make, argnums = PROGRAMS[name]
    args = make(np.random.default_rng(7))
    expected = [central_differences(function, args, n) for n in argnums]
    plain = function(*copy.deepcopy(args))
    compiled = jm.value_and_grad(function, argnums)
    for _ in range(2):
        given = copy.deepcopy(args)
        value, gradients = compiled(*given)
        assert type(value) is type(plain)
        assert np.asarray(value).tobytes() == np.asarray(plain).tobytes()
        agree(gradients, tuple(expected))
    assert not compiled.jit.breaks().records, name
    assert not compiled.jit.record.fallbacks, name


def test_loops_over_whole_arrays_are_written_out() -> None:
    """More rounds than are unrolled elsewhere; kept as one node they would have no derivative."""

    def f(x):
        y = x
        for _ in range(40):
            y = y + 0.05 * np.sin(y) * x
        return np.sum(y)

    gradient = jm.grad(f)
    x = np.linspace(0.5, 1.0, 5)
    agree(gradient(x), central_differences(f, (x,), 0))
    assert not gradient.jit.record.fallbacks
    assert not gradient.jit.breaks().records
