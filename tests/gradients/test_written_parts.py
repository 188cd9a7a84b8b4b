"""Cotangents of parts of arrays: values and derivatives of programs whose backward pass is all writes into parts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def heat(k: Any, u0: Any) -> Any:
    u = u0.copy()
    for _ in range(5):
        flux = k * (u[1:] - u[:-1])
        u[1:-1] += 0.2 * (flux[1:] - flux[:-1])
    return np.sum(u * u)


def cleared(k: Any, u0: Any) -> Any:
    u = u0 * k[0]
    v = u[2:] * 3.0
    u[2:] = v * v
    u[1:-1] = u[:-2] - 2.0 * u[2:]
    return np.sum(u * u0)


def block(k: Any, u0: Any) -> Any:
    a = np.outer(u0, u0) * k[0]
    a[1:, :-1] = a[:-1, 1:] * 0.5 + a[1:, 1:]
    a[::2] *= 2.0
    return np.sum(a * a)


def differences(f: Any, k: Any, u: Any, step: float = 1e-6) -> Any:
    found = np.zeros_like(k)
    for i in range(k.size):
        e = np.zeros_like(k)
        e[i] = step
        found[i] = (f(k + e, u) - f(k - e, u)) / (2 * step)
    return found


@pytest.mark.parametrize("program", [heat, cleared, block])
@pytest.mark.parametrize("n", [4, 9])
def test_programs_that_write_parts(program: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    k, u = 1 + rng.random(n - 1), rng.random(n)
    compiled = jm.value_and_grad(program)
    for _ in range(3):
        value, gradient = compiled(k, u)
        assert value.tobytes() == program(k, u).tobytes()
        np.testing.assert_allclose(gradient, differences(program, k, u), rtol=1e-5, atol=1e-7)
    assert not compiled.jit.breaks().records


def test_each_part_is_written_where_it_belongs() -> None:
    """No array in between, no copy of a part, no cotangent that nobody reads."""
    k, u = np.ones(1999), np.linspace(0, 1, 2000)
    with jm.configure(background=False):
        compiled = jm.value_and_grad(heat)
        for _ in range(3):
            compiled(k, u)
    (entry,) = compiled.jit.frame.entries
    lines = [line.strip() for line in entry.lowered.host.splitlines()]
    assert not [line for line in lines if line.startswith("t") and "] = t" in line and "scratch" not in line]
    assert sum("zeros(" in line for line in lines) <= 6


@pytest.mark.parametrize("factor", [0.5, 3, -2.0])
def test_a_constant_factor_hides_nothing_that_is_masked(factor: float) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, factor * np.sqrt(x) / 2.0, 0.0))

    x = np.array([0.0, 1.0, 4.0, -0.0])
    _, gradient = jm.value_and_grad(f)(x)
    np.testing.assert_array_equal(gradient, [0.0, factor / 4, factor / 8, 0.0])


@pytest.mark.parametrize("factor", [np.inf, np.nan, 0.0])
def test_a_factor_that_is_not_finite_is_masked(factor: float) -> None:
    def f(x: Any) -> Any:
        return np.sum((factor * x)[1:]) + 0.0 * np.sum(x)

    x = np.array([1.0, 2.0, 3.0])
    _, gradient = jm.value_and_grad(f)(x)
    assert gradient[0] == 0.0
    np.testing.assert_array_equal(gradient[1:], np.full(2, factor))


def test_what_two_kernels_compute_is_reported_once_and_not_lost() -> None:
    """``x * x`` overflows; it is computed again where the backward pass reads it."""

    def f(x: Any) -> Any:
        y = x * x
        return np.sum(np.where(y > 1.0, np.sqrt(y[::-1] * y), 0.0)) + np.sum(y)

    compiled = jm.value_and_grad(f)
    compiled(np.ones(500))
    compiled(np.ones(500))
    large = np.ones(500)
    large[7] = 1e200
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(large)
        told = {str(w.message) for w in caught}
    assert any("overflow" in text for text in told)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        compiled(large)
