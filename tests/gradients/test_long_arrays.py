"""Rules that once made a matrix as large as the square of the number of elements: these arrays would not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

N = 300_000
LINE = np.linspace(0.0, 1.0, N)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda v: np.sum(np.gradient(v)), np.r_[-1.5, 0.5, np.zeros(N - 4), -0.5, 1.5]),
        (lambda v: np.polyfit(LINE, v, 1)[0], 12 * (LINE - 0.5) / N * (N - 1) / (N + 1)),
        (
            lambda v: np.linalg.lstsq(np.stack([LINE + 0 * v, np.ones(N)], axis=1), v)[0][0],
            12 * (LINE - 0.5) / N * (N - 1) / (N + 1),
        ),
    ],
)
def test_a_gradient_by_many_elements(function: Callable[[Any], Any], expected: Any) -> None:
    np.testing.assert_allclose(jm.grad(function)(np.sin(LINE)), expected, rtol=1e-5, atol=1e-9)


def test_a_gradient_by_the_points_of_a_fit() -> None:
    """Of all points, moved together, the slope does not change."""
    found = jm.grad(lambda x: np.polyfit(x, np.sin(LINE), 1)[0])(LINE)
    assert abs(np.sum(found)) < 1e-8
    assert np.any(found != 0)
