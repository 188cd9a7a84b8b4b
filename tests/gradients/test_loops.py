"""Gradients of loops: one kernel runs them forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.aot.joint.loop_reverse import reverse_region
from jitmagic.graph.region_call import RegionCall
from tests.gradients.differences import agree, central_differences


def recurrence(x, n):
    out = np.zeros(n)
    out[0] = x[0]
    for i in range(1, n):
        out[i] = out[i - 1] * np.sin(x[i % len(x)]) + 0.5
    return np.sum(out * out)


def test_a_loop_of_any_length_is_kept_a_loop() -> None:
    """Tapes grow: more rounds than the first tape is long; the count is a number of the call."""
    f = jm.value_and_grad(recurrence)
    x = np.linspace(0.5, 1.5, 6)
    for n in (30, 5000, 40):
        value, gradient = f(x, n)
        assert value == recurrence(x, n)
        agree(gradient, central_differences(lambda x, n=n: recurrence(x, n), (x,), 0))
    names = [node.op.name for node in f.jit.frame.entries[0].capture.graph.calls()]
    assert "loop" in names
    assert not f.jit.record.fallbacks


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::-1], lambda x: np.stack([x, x])[0]])
def test_arrays_of_other_dtypes_and_strides(dtype: str, make) -> None:
    def scan(x):
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + x[i] * x[i]
        return s

    x = make(np.linspace(1, 2, 12).astype(dtype))
    gradient = jm.grad(scan)(x)
    assert gradient.dtype == x.dtype
    expected = central_differences(scan, (x.astype(float),), 0)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_that_are_read_again_go_over_the_tape(dtype: str) -> None:
    """Numbers and elements of both widths, and elements of a written integer array."""

    def f(x, places):
        s = x[0]
        out = np.zeros_like(x)
        for i in range(len(x)):
            places[i] = (places[i] + i) % len(x)
            out[places[i]] = s * x[i] + out[places[i]] * out[places[i]]
            s = s * out[places[i]] + x[places[i]]
        return np.sum(out) * s

    x = np.linspace(0.2, 0.8, 10).astype(dtype)
    places = np.arange(10)[::-1].copy()
    gradient = jm.grad(f)
    found = gradient(x, places.copy())
    assert not gradient.jit.record.fallbacks
    expected = central_differences(lambda x: f(x, places.copy()), (x.astype(float),), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_kinks_inside_a_loop_are_finite() -> None:
    """``if`` takes the branch, ``max`` gives the first of equal numbers, ``abs`` has the derivative 0 at 0."""

    def f(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.0:
                s += np.sqrt(x[i])
            s += max(x[i], 0.0) + abs(x[i])
        return s

    x = np.array([0.0, 4.0] * 6)
    assert jm.grad(f)(x).tolist() == [1.0, 2.25] * 6


def test_a_hessian_of_a_loop_falls_back_to_the_tape() -> None:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] ** 3
        return s

    x = np.arange(1.0, 11.0)
    np.testing.assert_allclose(jm.hessian(f)(x), np.diag(6 * x))


def test_only_what_is_read_again_is_pushed() -> None:
    """A sum is not: its derivative needs no old value."""

    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    f = jm.grad(total)
    f(np.ones(12))
    calls = [n.op.call for n in f.jit.frame.entries[0].capture.graph.calls()]
    region = next(c.region for c in calls if isinstance(c, RegionCall))
    reverse = reverse_region(region, frozenset(a.name for a in region.arrays))
    assert "tape_f, 0" not in str(reverse.region.body[2:])
    pushes = str(reverse.region.body).count("Store(array='tape_f'")
    assert pushes == 0
