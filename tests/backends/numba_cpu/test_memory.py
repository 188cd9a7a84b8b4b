"""Peak memory is never above plain NumPy's: measured for each program of the benchmark, and for updates in place."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.benchmarks.programs import PROGRAMS

SIZE = "100000"
BOOKKEEPING = 4096  # bytes of Python objects, whatever the size of the arrays
CASES = [case for case in PROGRAMS if case.label == SIZE]


def peak(function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """Bytes at most that a call has allocated at one time; its arguments are not counted, its results are."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = function(*arguments)
        found = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del kept
    return found


def peaks(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> tuple[int, int]:
    """Of the compiled function once it is compiled, and of the plain one."""
    with jm.configure(demote=False):
        compiled = jm.compile(function)
        for _ in range(3):
            compiled(*make())
        assert compiled.jit.entries
        return peak(compiled, make()), peak(function, make())


@pytest.mark.slow  # every program is compiled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_no_program_of_the_benchmark_needs_more_memory(case: Any) -> None:
    compiled, plain = peaks(case.function, lambda: case.arguments(np.random.default_rng(0)))
    assert compiled <= plain + BOOKKEEPING


def update(x: Any) -> Any:
    y = x * 2
    y *= x
    y -= np.sort(y)
    return y


def chain(x: Any) -> Any:
    return np.cumsum(np.sort(x) * 2) - x[::-1]


def rejected(x: Any) -> Any:
    return x[x > 0.5].sum() + x[::2].copy().max()


def rolled(x: Any) -> Any:
    """What NumPy makes between kernels: their temporaries must not be kept beside it."""
    y = x.reshape(250, 400)
    a = np.tanh(np.roll(y, 1, axis=0) * 0.5) @ np.ones((400, 400))
    b = np.sort(np.roll(np.cumsum(y, axis=1), 1, axis=0), axis=-1)
    a -= np.mean(b, axis=1, keepdims=True)
    return a, np.floor(np.roll(a * y, 1, axis=0)) - a.max(axis=1, keepdims=True)


def over_a_sort(x: Any) -> Any:
    """The result of a kernel lies where the sorted array was."""
    return np.sort(x) * 3.0 - np.abs(x)


def ufunc_over_a_roll(x: Any) -> Any:
    return np.add(np.roll(x, 1).reshape(250, 400).T, 1.5)


@pytest.mark.parametrize(
    "function", [update, chain, rejected, rolled, over_a_sort, ufunc_over_a_roll], ids=lambda f: f.__name__
)
def test_temporaries_die_as_early_as_in_numpy(function: Callable[..., Any]) -> None:
    compiled, plain = peaks(function, lambda: (np.random.default_rng(0).random(100_000),))
    assert compiled <= plain + BOOKKEEPING


def test_the_measurement_sees_a_temporary() -> None:
    x = np.ones(100_000)
    assert peak(lambda x: (x + 1) + (x + 2), (x,)) >= peak(lambda x: x + 1, (x,)) + x.nbytes
