"""Python numbers that are differentiated keep their say: none in the dtype of what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from tests.gradients.differences import agree, central_differences

X = np.linspace(0.5, 1, 5, dtype="f4")

REAL: list[Callable[[Any, Any], Any]] = [
    lambda x, r: (x * r).sum(),
    lambda x, r: (x * (r * 2 + 1)).sum() * r,
    lambda x, r: (x**r).sum(),
    lambda x, r: (x + (1 - r) ** 2).sum() / (r // 0.3),
    lambda x, r: (x * np.sin(r)).sum(),
    lambda x, r: (x * abs(-r)).sum() - r % 0.3,
    lambda x, r: r * r,
    lambda x, r: r,
    lambda x, r: np.float64(2) * r,
    lambda x, r: (x * (2**r)).sum(),
    lambda x, r: (x * max(r, 0.2)).sum(),
    lambda x, r: (x * r if r > 0.5 else x).sum(),
    lambda x, r: np.stack([r, 2 * r]).sum(),
]
COMPLEX: list[Callable[[Any], Any]] = [
    lambda z: (z * z.conjugate()).real,
    lambda z: z.real * z.imag,
    lambda z: abs(z * z + 1),
    lambda z: np.exp(z).real,
    lambda z: (z * np.ones(2)).imag.sum(),
]


@pytest.mark.parametrize("number", range(len(REAL)))
def test_the_value_is_the_plain_one_on_the_tape_and_compiled(number: int) -> None:
    function = REAL[number]
    expected = function(X, 0.7)
    for transform in (transforms.value_and_grad(function, (0, 1), False), jm.value_and_grad(function, (0, 1))):
        value, (by_x, by_r) = transform(X, 0.7)
        assert type(value) is type(expected)
        assert value == expected
        assert by_x.dtype == np.float32
        agree(by_r, central_differences(function, (X.astype("f8"), 0.7), 1))


@pytest.mark.parametrize("number", range(len(COMPLEX)))
def test_complex_numbers(number: int) -> None:
    function, z, step = COMPLEX[number], 1 + 2j, 1e-6
    value, gradient = transforms.value_and_grad(function, 0, False)(z)
    assert value == function(z)
    assert type(value) is type(function(z))
    by_real, by_imag = ((function(z + d) - function(z - d)) / (2 * step) for d in (step, step * 1j))
    np.testing.assert_allclose(gradient, by_real - 1j * by_imag, rtol=1e-6)


ELEMENTS: list[Callable[[Any], Any]] = [
    lambda x: (1j * x[1]).imag,
    lambda x: np.angle(x[0] + 1j * x[1]),
    lambda x: abs(2j / x[1]),
    lambda x: abs(2j ** x[1]),
    lambda x: ((2j + x[1]) * (2j - x[0])).imag,
    lambda x: np.exp(1j * x[1]).real,
]


@pytest.mark.parametrize("number", range(len(ELEMENTS)))
def test_pythons_complex_numbers_with_elements(number: int) -> None:
    """``1j * x[0]`` is a complex of Python, which is no end of the record."""
    function, x = ELEMENTS[number], np.array([0.6, 0.7])
    for transform in (transforms.value_and_grad(function, 0, False), jm.value_and_grad(function)):
        value, gradient = transform(x)
        assert value == function(x)
        assert type(value) is type(function(x))
        agree(gradient, central_differences(function, (x,), 0))


def test_errors_are_pythons() -> None:
    with pytest.raises(ZeroDivisionError):
        transforms.value_and_grad(lambda r: 1 / r, 0, False)(0.0)


def test_higher_derivatives_of_a_number() -> None:
    assert transforms.grad(transforms.grad(lambda r: r * r * r))(2.0) == 12
    assert jm.hessian(lambda r: r * r * r)(2.0) == 12


def test_numpy_numbers_stay_numbers() -> None:
    value, gradient = transforms.value_and_grad(lambda a: a, 0, False)(np.float32(3))
    assert type(value) is np.float32
    assert type(gradient) is np.float32
