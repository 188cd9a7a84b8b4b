"""Python's complex numbers as arguments: constants at first, inputs from the second value on, with Python's meaning."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

VALUES = [
    0.3 + 0.1j, 0.7j, 1 + 1j, -1j, 0j, complex(-0.0, -0.0), complex("nan"), complex("inf"), 1e200 + 1e200j, 2.5 + 0j,
]  # fmt: skip


def julia(x: Any, c: complex) -> Any:
    z, inside = x * 1j, np.zeros(x.shape, int)
    for _ in range(4):
        z = z * z + c
        inside += np.abs(z) < 2
    return inside, z


def escape(x: Any, c: complex) -> Any:
    z = 0j
    for i in range(50):
        z = z * z + c
        if abs(z) > 2:
            return i, x + 1
    return 50, x


def parts(x: Any, c: complex) -> Any:
    return x * c.real + c.imag, x - c.conjugate(), abs(c) * x, -c * x, +c


def arithmetic(x: Any, c: complex) -> Any:
    return x + c * 2 - 3.5 / (c + 1j), c**2, c**3 + 1, 2**c if abs(c) < 10 else 0j, (c == 1j), c != 0, x * (c - 1)


def inverse(x: Any, c: complex) -> Any:
    return x / c, c**-1


def functions(x: Any, c: complex) -> Any:
    return x * cmath.sqrt(c), cmath.phase(c), cmath.rect(abs(c), 0.5), cmath.isnan(c), complex(c), complex(c.real, 2)


def exponential(x: Any, c: complex) -> Any:
    return x * cmath.exp(c)


def branch(x: Any, c: complex) -> Any:
    if abs(c) > 1:
        return x * c
    return x + c if c else x


def dtypes(x: Any, c: complex) -> Any:
    return x.astype("f4") * c, x.astype("c8") + c, x.astype(int) * c, np.full(3, c), np.where(x > 1, c, 0)


def written(x: Any, c: complex) -> Any:
    y = x.astype(complex)
    y[1] = c
    y += c
    return y, f"{c}", isinstance(c, complex), type(c), c


def order(x: Any, c: complex) -> Any:
    return x * (c < 1)  # type: ignore[operator]  # Python has no order of complex numbers


def quotient(x: Any, c: complex) -> Any:
    return x * (c // 2)  # type: ignore[operator]  # nor quotients without a rest


def real(x: Any, c: complex) -> Any:
    return x * float(c)  # type: ignore[arg-type]  # nor a float for one


def shown(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    if isinstance(value, np.ndarray | np.generic | complex | float):
        array = np.asarray(value)
        return type(value), array.dtype, array.shape, np.where(np.isnan(array), 0, array).tobytes(), repr(array)
    return value


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return shown(function(*args))
        except (ArithmeticError, TypeError, ValueError) as error:
            return type(error), str(error)


CAPTURED = [julia, escape, parts, arithmetic, inverse, functions, exponential, branch, dtypes, written]


@pytest.mark.parametrize("backend", ["eager", "numba"])
@pytest.mark.parametrize("function", [*CAPTURED, order, quotient, real])
def test_each_value_gives_what_plain_python_gives(function: Callable[..., Any], backend: str) -> None:
    """Errors (a division by zero, an overflow) included; two compiles serve all values."""
    x = np.linspace(-1.0, 2.0, 6)
    compiled = jm.compile(function, backend=backend)
    for c in VALUES:
        assert outcome(compiled, x, c) == outcome(function, x, c), c
    if function in CAPTURED:
        assert not compiled.jit.breaks()
        assert "2 entries" in str(compiled.jit.report())


def test_a_derivative_beside_a_complex_argument() -> None:
    """Numbers of differentiated functions stay constants: the rows of complex numbers have no derivative."""

    def loss(x: Any, c: complex) -> Any:
        return np.sum((x * c.real + abs(c)) ** 2)

    slope = jm.grad(loss)
    x = np.array([1.0, -2.0])
    for c in VALUES[:4]:
        assert np.allclose(slope(x, c), 2 * c.real * (x * c.real + abs(c)))
