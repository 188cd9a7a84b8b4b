"""Python numbers that are differentiated keep their say: none in the dtype of what NumPy makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from jitmagic.errors import GradientError
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


def made_in_a_closure() -> Callable[[Any], Any]:
    numpy, mathematics, root = np, math, math.sqrt
    return lambda x: numpy.float64(x[0]) * mathematics.sin(x[1]) + root(x.sum())


def imported(x: Any) -> Any:
    import math as own
    from math import exp

    return exp(x[0]) + own.cos(x[1])


def told(x: Any) -> Any:
    total = (x**2).sum()
    text = "%.3f" % total + f"{total:.2f}" + "{:.1f}".format(total)  # noqa: UP031, UP032 - each way of it
    return float(total) * len(text)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float as the result": lambda x: float((x**2).sum()),
    "item as the result": lambda x: (x**2).sum().item(),
    "float64 as the result": lambda x: np.float64((x**2).sum()),
    "float32": lambda x: np.float32((x**2).sum()) * x[0],
    "complex": lambda x: abs(complex(x[0])) + complex((x**2).sum()).real,
    "complex of two": lambda x: complex(x[0], x[1]).imag * complex(x[0], 2).real,
    "complex128": lambda x: np.complex128(x[0] * 1j).imag,
    "in the middle": lambda x: float((x**2).sum()) * x.sum(),
    "of a number": lambda x: np.float64(float(x[0])) * float(x[1].item()),
    "of an array": lambda x: np.float64(x**2).sum(),
    "a whole number": lambda x: np.int64(x[0] * 9) * int(x[1] * 9) * x.sum(),
    "item of a place": lambda x: x.item(1) * x.reshape(1, 3).item(0, 2) * x.reshape(3, 1).item(-1) + x.item((0,)),
    "tolist": lambda x: sum(v * v for v in x.tolist()),
    "tolist of rows": lambda x: np.array(x.reshape(1, 3).tolist()).sum() ** 2,
    "larger": lambda x: max(float(x[0]), float(x[1])),
    "math": lambda x: math.sin(x[0]) * math.exp(float(x[1])) + math.hypot(x[0], x[1]) + math.pi,
    "math.fsum": lambda x: math.fsum(v * v for v in x),
    "divmod": lambda x: divmod(float(x[0]), 0.3)[1],
    "class that is asked for": lambda x: float(x[0]) * isinstance(float(x[0]), float) * (type(x.item(0)) is float or 1),
    "a function made inside": lambda x: sum(map(lambda v: float(v) ** 2, x)),
    "elements": lambda x: np.array([float(v) for v in x]).sum() * np.array([np.float64(v) for v in x]).prod(),
    "a closure": made_in_a_closure(),
    "imports": imported,
    "text": told,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_taken_out_of_an_array_has_a_gradient(name: str) -> None:
    function, x = NUMBERS[name], np.array([0.5, 0.75, 1.25])
    expected = function(x)
    for transform in (transforms.value_and_grad(function, 0, False), jm.value_and_grad(function)):
        value, gradient = transform(x)
        assert value == expected
        assert type(value) is type(expected)
        if name != "float32":
            agree(gradient, central_differences(function, (x,), 0))
        else:
            np.testing.assert_allclose(gradient, 2 * x * x[0] + np.array([(x**2).sum(), 0, 0]), rtol=1e-6)


def test_a_function_that_takes_plain_numbers_only_is_an_error() -> None:
    with pytest.raises(GradientError, match="takes plain numbers only"):
        transforms.grad(lambda x: sum(map(float, x)), 0, False)(np.ones(2))


def test_code_of_many_names_keeps_its_meaning() -> None:
    lines = "\n".join(f"    x = x + n{i}" for i in range(300))
    scope: dict[str, Any] = {"np": np, **{f"n{i}": 0.0 for i in range(300)}}
    exec(f"def early(x):\n    y = float(x[0])\n{lines}\n    return y * x[0]\n", scope)
    exec(f"def late(x):\n{lines}\n    return float(x[0]) * x[0]\n", scope)
    with pytest.raises(GradientError, match="takes plain numbers only"):
        transforms.grad(scope["late"], 0, False)(np.array([3.0]))


@pytest.mark.parametrize("name", ["float as the result", "float64 as the result", "float32", "in the middle"])
def test_numbers_taken_out_are_compiled_in_one_program(name: str) -> None:
    compiled = jm.value_and_grad(NUMBERS[name])
    x = np.array([0.5, 0.75, 1.25])
    for _ in range(2):
        compiled(x)
    record: Any = compiled
    assert [len(record.jit.record.compiled), record.jit.record.breaks, record.jit.record.fallbacks] == [1, [], []]
