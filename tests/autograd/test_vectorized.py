"""``np.vectorize`` in functions that are differentiated on the tape, because no graph holds all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from tests.autograd.slopes import differences

X = np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]])


def choose(a, b):
    return a * b if a > 0 else math.sin(b) + a


VECTORIZED = np.vectorize(choose)


@np.vectorize
def decorated(a, b=2.0):
    return max(a, b) * 2


def two_results(x):
    product, total = np.vectorize(lambda a, b: (a * b, a + b))(x, x[0])
    return (product * total).sum()


PROGRAMS: list[Callable[[Any], Any]] = [
    lambda x: VECTORIZED(x, 2.0).sum(),
    lambda x: VECTORIZED(x[:, :1], x).sum() + VECTORIZED(x[0, 0], 3.0),
    lambda x: (np.vectorize(choose, otypes=[float])(x, b=x[::-1]) * x).sum(),
    lambda x: (np.vectorize(choose, excluded={1}, cache=True)(x, 0.5) ** 2).sum(),
    lambda x: (np.vectorize(choose, excluded={"b"})(x, b=0.5) ** 2).sum(),
    lambda x: decorated(x).sum() * decorated(x[0, 1]),
    two_results,
    lambda x: np.vectorize(lambda a: int(a + 0.3))(x).sum() * x[0, 0],
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_value_and_gradient(number: int) -> None:
    f = PROGRAMS[number]
    for function in (transforms.value_and_grad(f), jm.value_and_grad(f)):
        value, slope = function(X)
        assert value == f(X)
        np.testing.assert_allclose(slope, differences(f, X), rtol=1e-5, atol=1e-8)


def test_single_precision_and_no_elements() -> None:
    f = transforms.value_and_grad(lambda x: np.vectorize(choose, otypes="f")(x, 2.0).sum())
    value, slope = f(X.astype("f4"))
    assert (value.dtype, slope.dtype) == (np.float32, np.float32)
    assert f(X[:0])[0] == 0
    with pytest.raises(ValueError, match="size 0"):
        transforms.grad(lambda x: VECTORIZED(x, 2.0).sum())(X[:0])


def test_it_looks_like_the_class() -> None:
    def f(x):
        assert isinstance(VECTORIZED, np.vectorize)
        assert isinstance(np.vectorize(choose), np.vectorize)
        return VECTORIZED(x, 2.0).sum()

    assert transforms.value_and_grad(f)(X)[0] == f(X)


def test_a_signature_is_refused() -> None:
    dot = np.vectorize(np.dot, signature="(n),(n)->()")
    with pytest.raises(jm.GradientError, match="became a plain array"):
        transforms.grad(lambda x: dot(x, x).sum())(X)
