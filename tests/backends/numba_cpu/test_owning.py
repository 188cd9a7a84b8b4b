"""Memory of arrays that NumPy has made is taken for results where nobody else can see it, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.numba_cpu.owning import owned

N = 30_000  # smaller arrays are not asked about


def test_an_array_of_its_own_is_itself() -> None:
    array = np.sort(np.ones(N))
    address = array.ctypes.data
    array = owned(array)
    assert array.ctypes.data == address


def test_what_somebody_else_holds_is_copied() -> None:
    held = np.arange(float(N))
    array = held
    array = owned(array)
    assert not np.shares_memory(array, held)
    assert np.array_equal(array, held)


@pytest.mark.parametrize(
    "make",
    [
        lambda base: base[::-1],
        lambda base: base.T,
        lambda base: np.broadcast_to(base, (2, *base.shape)),
        lambda base: np.frombuffer(bytes(64)),
        lambda base: np.ma.array(base).view(np.matrix),
    ],
    ids=["view", "turned", "read-only", "foreign", "subclass"],
)
def test_what_is_no_array_with_memory_of_its_own_is_copied(make: Callable[[Any], Any]) -> None:
    base = np.arange(12.0).reshape(3, 4)
    array = make(base)
    before = array.copy()
    array = owned(array)
    array[...] = 7
    assert np.array_equal(base, np.arange(12.0).reshape(3, 4))
    assert not np.shares_memory(array, base)
    assert array.shape == before.shape


def sorted_twice(x: Any) -> Any:
    y = np.sort(x)
    return y * 2.0 - 1.0, x


def both(x: Any) -> Any:
    y = np.sort(x)
    return np.sqrt(y) * 2.0, y


def itself(x: Any) -> Any:
    """NumPy gives the very array that it was given."""
    return np.ascontiguousarray(x) * 2.0 + 1.0, np.require(x) * 3.0 + x


def turned(x: Any) -> Any:
    return np.swapaxes(np.fft.fft(x.reshape(300, 100), axis=0), 0, 1) * 2.0 + 1.0


def picked(x: Any) -> Any:
    y = np.partition(x, 5)
    y[y > 0.5] = 0.25
    return y


def looped(x: Any) -> Any:
    y = np.cumsum(np.roll(x, 3))
    z = np.sort(y)
    for i in range(1, z.shape[0]):
        z[i] = z[i - 1] * 0.5 + z[i]
    return z, y


def alone(x: Any) -> Any:
    return np.logaddexp(np.sort(x), np.roll(x, 1))


PROGRAMS = [sorted_twice, both, itself, turned, picked, looped, alone]


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=str)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_those_of_numpy(function: Callable[..., Any], dtype: Any) -> None:
    compiled = jm.compile(function)
    kept = []
    for seed in range(4):
        x = np.random.default_rng(seed).random(N).astype(dtype)
        given = x.copy()
        kept.append((compiled(x), function(given)))
        assert np.array_equal(x, given)
        for found, expected in kept:
            agrees(found, expected)


def agrees(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for pair in zip(found, expected, strict=True):
            agrees(*pair)
        return
    assert found.tobytes() == expected.tobytes()
    assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
    assert (found.base is None, found.flags.owndata) == (expected.base is None, expected.flags.owndata)


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("function", [sorted_twice, both, alone], ids=lambda f: f.__name__)
def test_of_few_elements(function: Callable[..., Any], size: int) -> None:
    compiled = jm.compile(function)
    x = np.linspace(1.0, 0.0, size)
    for _ in range(2):
        agrees(compiled(x), function(x))
