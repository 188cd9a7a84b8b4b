"""What kernels and rules have no form for: loops that a backward kernel leaves, sizes that a rule cannot compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.autograd.slopes import differences

X = np.array([1.5, 0.7, 2.0, 1.2, 0.9])


def unequal_slices(x):
    total = 0.0
    for a, b in zip(x, x[2:], strict=False):
        total += a * b
    return total


def unequal_slices_written(x):
    found = x * 2
    for k, (a, b) in enumerate(zip(x, x[:-2], strict=False)):
        found[k] *= a
        found[k + 1] += found[k] * b
    return (found * found).sum()


def scaled(x, factor):
    total = 0.0
    for a, b in zip(x, x[:3], strict=False):
        total += a * b * factor
    return total * total


@pytest.mark.parametrize("f", [unequal_slices, unequal_slices_written])
def test_a_loop_whose_backward_kernel_stops(f: Any) -> None:
    for way in (jm.aot.aot_function(f, jm.aot.aot_eager), jm.compile(f)):
        for _ in range(2):
            leaf = jm.Tensor(X.copy(), requires_grad=True)
            found = way(leaf)
            assert found.item() == f(X)
            found.backward()
            np.testing.assert_allclose(leaf.grad, differences(f, X), rtol=1e-5)


def test_a_number_that_goes_into_such_a_loop() -> None:
    leaf, factor = jm.Tensor(X.copy(), requires_grad=True), jm.Tensor(np.array(1.5), requires_grad=True)
    found = jm.aot.aot_function(scaled, jm.aot.aot_eager)(leaf, factor)
    found.backward()
    np.testing.assert_allclose(leaf.grad, differences(lambda x: scaled(x, 1.5), X), rtol=1e-5)
    np.testing.assert_allclose(factor.grad, 2 * found.item() / 1.5)


REFUSED: list[Callable[[Any], Any]] = [
    lambda x: np.bincount([0, 1, 1, 0, 2], weights=x).prod() + np.unique(x)[1],
]


@pytest.mark.parametrize("f", REFUSED)
def test_sizes_of_the_data_that_a_rule_compares_are_named(f: Any) -> None:
    with pytest.raises(jm.UserError, match=r"a decision depends on a size that only the data tell.*Try: "):
        jm.aot.aot_function(f, jm.aot.aot_eager)(jm.Tensor(X, requires_grad=True))
    np.testing.assert_allclose(jm.grad(f)(X), differences(f, X), rtol=1e-5)


@pytest.mark.parametrize("name", ["fft", "rfft", "ifft", "hfft"])
def test_transforms_have_their_rules_for_tensors_too(name: str) -> None:
    def f(x):
        return (np.abs(getattr(np.fft, name)(x)) ** 2 * 1.5).sum()

    for way in (jm.aot.aot_function(f, jm.aot.aot_eager), jm.compile(f)):
        leaf = jm.Tensor(X.copy(), requires_grad=True)
        way(leaf).backward()
        np.testing.assert_allclose(leaf.grad, differences(f, X), rtol=1e-5)
