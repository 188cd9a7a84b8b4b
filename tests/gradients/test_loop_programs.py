"""Loop programs of scientific notebooks, differentiated: their gradients equal central differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.gradients.differences import central_differences
from tests.loops.programs import PROGRAMS

SIZE = 4
MADE = [(function, make(np.random.default_rng(0), SIZE)) for function, make, *_ in PROGRAMS]
REAL = [(f, args) for f, args in MADE if any(isinstance(a, np.ndarray) and a.dtype == float for a in args)]


def measured(function: Callable[..., Any]) -> Callable[..., Any]:
    """One number that depends on every real result, and on what was written into the arguments."""

    def measure(*args: Any) -> Any:
        results = function(*args)
        total = 0.0
        for found in results if isinstance(results, tuple) else (results,):
            if isinstance(found, np.ndarray) and found.dtype.kind == "f":
                total = total + np.sum(found * np.cos(np.arange(found.size).reshape(found.shape)))
            elif isinstance(found, float):
                total = total + found
        for given in args:
            if isinstance(given, np.ndarray) and given.dtype.kind == "f":
                total = total + 0.3 * np.sum(given * np.sin(np.arange(given.size).reshape(given.shape)))
        return total

    return measure


@pytest.mark.parametrize(("function", "args"), REAL, ids=[f.__name__ for f, _ in REAL])
def test_a_loop_program_against_central_differences(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    places = tuple(i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype == float)
    objective = measured(function)
    gradient = jm.value_and_grad(objective, places)
    value, found = gradient(*copy.deepcopy(args))
    assert value == objective(*copy.deepcopy(args))
    for place, each in zip(places, found, strict=True):
        np.testing.assert_allclose(each, central_differences(objective, args, place), rtol=1e-4, atol=1e-6)
    assert not gradient.jit.record.fallbacks
