"""Operators between numbers, NumPy scalars and containers: the value, or Python's own words for the refusal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def floordiv(x: Any, y: Any) -> Any:
    x //= y
    return x


def power(x: Any, y: Any) -> Any:
    x **= y
    return x


def times(x: Any, y: Any) -> Any:
    x *= y
    return x


def matmul(x: Any, y: Any) -> Any:
    x @= y
    return x


def product(x: Any, y: Any) -> Any:
    return x * y


def remainder(x: Any, y: Any) -> Any:
    return x % y


OPERATORS: list[Callable[[Any, Any], Any]] = [floordiv, power, times, matmul, product, remainder]
VALUES: list[Any] = [np.complex64(1 + 1j), 1.5, 3, 1j, None, np.float32(2), np.bool_(True), [1], (1,), np.int8(3)]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_do_what_python_does(function: Callable[[Any, Any], Any]) -> None:
    def outcome(run: Callable[[Any, Any], Any], x: Any, y: Any) -> str:
        try:
            return repr(run(x.copy() if isinstance(x, list) else x, y))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    for x, y in itertools.product(VALUES, VALUES):
        assert outcome(jm.compile(function), x, y) == outcome(function, x, y), (x, y)


def test_a_result_without_hits_keeps_its_strides() -> None:
    def doubled(mask: Any) -> Any:
        places = np.nonzero(mask)[0]
        places *= 2
        return places

    for backend in ("numba", "aot_eager"):
        compiled = jm.compile(doubled, backend=backend)
        for mask in (np.ones(3), np.zeros(3)):
            assert compiled(mask).strides == doubled(mask).strides
