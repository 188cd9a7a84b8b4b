"""Determinants have exact gradients, at singular matrices too, where there is no inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.autograd.slopes import differences, gradient

RNG = np.random.default_rng(0)
MATRICES: dict[str, Any] = {
    "regular": RNG.random((4, 4)),
    "ones": np.ones((3, 3)),
    "rank 1": np.outer([0.1, 0.2, 0.3], [1, 2, 4.0]),
    "singular but for rounding": np.array([[0.1, 0.2], [0.3, 0.6]]),
    "zero": np.zeros((3, 3)),
    "one element": np.zeros((1, 1)),
    "rank 2 of 4": RNG.random((4, 2)) @ RNG.random((2, 4)),
    "stack": np.stack([np.ones((2, 2)), np.eye(2) * 2]),
    "no elements": np.zeros((0, 0)),
}


def volume(a):
    return np.linalg.det(a).sum()


@pytest.mark.parametrize("a", MATRICES.values(), ids=MATRICES)
def test_the_gradient_of_a_determinant(a: Any) -> None:
    wanted = differences(volume, a)
    for found in (jm.grad(volume)(a), gradient(volume, a)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("a", [a for a in MATRICES.values() if a.size], ids=[k for k, a in MATRICES.items() if a.size])
def test_the_second_derivatives_of_a_determinant(a: Any) -> None:
    slope = jm.grad(volume)
    for place in np.ndindex(a.shape):
        wanted = differences(lambda b, place=place: slope(b)[place], a, 1e-5)
        np.testing.assert_allclose(jm.hessian(volume)(a)[place], wanted, rtol=1e-4, atol=1e-6)


def test_complex_and_single_precision() -> None:
    z = np.outer([1, 2j, 3], [1, 1j, 2 + 1j])

    def parts(x, y):
        d = np.linalg.det(x + 1j * y)
        return d.real + 2 * d.imag

    by_x, by_y = (
        differences(f, p) for f, p in ((lambda x: parts(x, z.imag), z.real), (lambda y: parts(z.real, y), z.imag))
    )
    found = jm.grad(lambda z: np.linalg.det(z).real + 2 * np.linalg.det(z).imag)(z)
    np.testing.assert_allclose(found, by_x - 1j * by_y, atol=1e-7)
    single = jm.grad(volume)(np.outer([1, 2], [3, 4]).astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, [[8, -6], [-4, 3]], rtol=1e-5)


def test_the_logarithm_of_a_determinant() -> None:
    """At a singular matrix its derivative is infinite; where the cotangent is 0 it adds nothing."""
    a = np.stack([np.ones((2, 2)), np.array([[2.0, 1.0], [1.0, 3.0]])])
    chosen = jm.grad(lambda a: np.where(np.array([False, True]), np.linalg.slogdet(a)[1], 0.0).sum())(a)
    np.testing.assert_allclose(chosen, [np.zeros((2, 2)), np.linalg.inv(a[1]).T], atol=1e-15)
    everything = jm.grad(lambda a: np.linalg.slogdet(a)[1].sum())(a)
    assert everything[0].tolist() == [[np.inf, -np.inf], [-np.inf, np.inf]]
    np.testing.assert_allclose(everything[1], np.linalg.inv(a[1]).T)

    def log_volume(a):
        return np.linalg.slogdet(a)[1]

    rows = jm.hessian(log_volume)(a[1])
    for place in np.ndindex(2, 2):
        wanted = differences(lambda b, place=place: jm.grad(log_volume)(b)[place], a[1], 1e-5)
        np.testing.assert_allclose(rows[place], wanted, rtol=1e-5, atol=1e-9)
