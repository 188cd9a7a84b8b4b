"""Two dozen loop programs: kept as loops, compiled, and bit for bit what plain Python gives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import loop_calls, outcome
from tests.loops.programs import PROGRAMS

NARROW = {"float64": "float32", "int64": "int32"}
by_name = pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
Make = Callable[[np.random.Generator, int], tuple[Any, ...]]


def _arguments(make: Make, seed: int, size: int) -> list[Any]:
    return list(make(np.random.default_rng(seed), size))


def _narrow(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(NARROW.get(value.dtype.name, value.dtype.name))
    return value


def _check(compiled: Any, function: Any, arguments: list[Any]) -> None:
    assert outcome(compiled, arguments) == outcome(function, arguments)


def _is_kept(compiled: Any) -> bool:
    """One node for each loop, each with a kernel, and no graph break."""
    calls = loop_calls(compiled)
    return bool(calls) and all(c.compiled is not None for c in calls) and not compiled.jit.breaks()


@by_name
def test_the_loops_are_kernels_with_the_bits_of_plain_python(function: Any, make: Make) -> None:
    """For several sizes and random values."""
    compiled = jm.compile(function)
    for seed, size in enumerate((9, 9, 12, 5)):
        _check(compiled, function, _arguments(make, seed, size))
    assert _is_kept(compiled)


@by_name
def test_narrow_dtypes_give_the_bits_of_plain_python(function: Any, make: Make) -> None:
    """float32 and int32 arrays in the place of float64 and int64."""
    compiled = jm.compile(function)
    for seed in range(2):
        _check(compiled, function, [_narrow(a) for a in _arguments(make, seed, 12)])
    assert loop_calls(compiled)


@by_name
def test_short_arrays_raise_as_plain_python_does(function: Any, make: Make) -> None:
    """After the same writes, with the same text and line, whichever array is too short."""
    compiled = jm.compile(function)
    whole = _arguments(make, 0, 7)
    _check(compiled, function, whole)
    for position, value in enumerate(whole):
        if isinstance(value, np.ndarray):
            for kept in (value.shape[0] - 1, 1, 0):
                short = copy.deepcopy(whole)
                short[position] = value[:kept].copy()
                _check(compiled, function, short)


@by_name
def test_extreme_values_show_what_plain_python_shows(function: Any, make: Make) -> None:
    """nan, infinities and the ends of int64 in the arrays."""
    compiled = jm.compile(function)
    _check(compiled, function, _arguments(make, 0, 6))
    for extreme in (float("nan"), float("inf"), -1e308, 0.0):
        _check(compiled, function, [_extreme(a, extreme) for a in _arguments(make, 1, 6)])


def _extreme(value: Any, extreme: float) -> Any:
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    made = value.copy()
    if value.dtype.kind == "f":
        made.flat[value.size // 2] = extreme
    elif extreme < 0:
        made.flat[value.size // 2] = np.iinfo(value.dtype).max
    return made
