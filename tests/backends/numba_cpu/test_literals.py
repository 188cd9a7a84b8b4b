"""Constants in kernels keep their bits: 0.0 and -0.0 are two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: (x * -0.0 + 0.0,),
    lambda x: (np.where(x > 1, 0.0, 1.0), np.where(x > 1, -0.0, 1.0)),
    lambda x: (np.arctan2(0.0, x), np.arctan2(-0.0, x)),
    lambda x: (x * 0.0, x * -0.0),
    lambda x: (np.copysign(x, 0.0), np.copysign(x, -0.0)),
    lambda x: (np.clip(x, -0.0, 0.0), np.clip(x, 0.0, 0.0)),
    lambda x: (np.maximum(x, 0.0), np.maximum(x, -0.0)),
    lambda x: (x * 0j, x * complex(-0.0, -0.0)),
    lambda x: (x + 1, x + 1.0, x + True),
    lambda x: (np.float32(0) * x, np.float32(-0.0) * x),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_the_bits_are_numpys(number: int, dtype: str) -> None:
    function, x = PROGRAMS[number], np.array([1, 2, -3, 0]).astype(dtype)
    compiled = jm.compile(function)
    for _ in range(2):
        for found, expected in zip(compiled(x), function(x), strict=True):
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes()


def test_arguments_that_differ_in_the_sign_of_zero() -> None:
    def f(x: Any, a: float, b: float) -> Any:
        return x * a + b

    compiled, x = jm.compile(f), np.array([1.0, 2.0])
    for a, b in ((0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0), (0.0, 0.0)):
        assert compiled(x, a, b).tobytes() == f(x, a, b).tobytes()
