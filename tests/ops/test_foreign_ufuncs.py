"""Ufuncs that are not NumPy's fuse by their inner loops; functions of Numba are called, never traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special

import jitmagic as jm

X = np.linspace(0.1, 2.0, 3000)
called: list[int] = []


@numba.vectorize(["float64(float64, float64)"])
def typed(a, b):  # type: ignore[no-untyped-def]  # Numba types it
    return a * b + 1.0


@numba.vectorize
def untyped(a, b):  # type: ignore[no-untyped-def]  # Numba types it
    return a * b + a


@numba.njit
def total(a):  # type: ignore[no-untyped-def]  # Numba types it
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


FUSED: list[Callable[..., Any]] = [
    lambda x: scipy.special.erf(x) * 2 + scipy.special.gammaln(x + 1),
    lambda x: scipy.special.expit(x - 1) / scipy.special.j0(x),
    lambda x: typed(x, x) * 2 + 1,
    lambda x: untyped(x, x * 2) - x,
    lambda x: untyped(x.astype(np.float32), x.astype(np.float32)) + 1,
]


@pytest.mark.parametrize("function", FUSED)
def test_foreign_ufuncs_share_a_kernel_with_their_neighbours(function: Callable[..., Any]) -> None:
    compiled = jm.compile(function)
    for x in (X, X[::-1], X[:0]):
        found, expected = compiled(x), function(x)
        assert np.array_equal(found, expected)
        assert found.dtype == expected.dtype
    assert not compiled.jit.record.breaks
    lowered = compiled.jit.frame.entries[0].lowered
    assert lowered.kernels
    assert lowered.extern_count == 0


def test_a_kernel_with_foreign_loops_runs_on_one_thread() -> None:
    """They may keep notes; the launcher is told that there is no work to share."""
    compiled = jm.compile(lambda x: typed(x, x) * 2 + scipy.special.erf(x))
    with jm.configure(threads=4):
        big = np.linspace(0, 1, 400_000)
        assert np.array_equal(compiled(big), typed(big, big) * 2 + scipy.special.erf(big))
    host = compiled.jit.frame.entries[0].lowered.host
    assert "k0, 0, 400000, 0, " in host


def test_functions_of_numba_are_called() -> None:
    def function(x: Any) -> Any:
        return total(x * 2) + (x + 1).sum()

    compiled = jm.compile(function)
    for _ in range(2):
        assert compiled(X) == function(X)
    assert [b.code for b in compiled.jit.record.breaks] == ["call"]


def test_another_ufunc_under_the_name_is_noticed() -> None:
    scope: dict[str, Any] = {"u": typed}
    function = eval("lambda x: u(x, x) * 2 + 1", scope)
    compiled = jm.compile(function)
    assert np.array_equal(compiled(X), function(X))
    scope["u"] = untyped
    assert np.array_equal(compiled(X), function(X))


def test_operands_that_it_does_not_take_raise_as_in_numba() -> None:
    compiled = jm.compile(lambda x: typed(x, x) + 1)
    with pytest.raises(TypeError) as plain:
        typed(X * 1j, X * 1j)
    with pytest.raises(TypeError) as found:
        compiled(X * 1j)
    assert str(found.value) == str(plain.value)
