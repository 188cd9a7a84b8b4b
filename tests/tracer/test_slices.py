"""Slices of arrays whose bounds only the data tell: what they show is what they show in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import explained, same_everywhere

BEFORE = """
x = np.array([1.0, -2.0, 3.0, 0.0, 5.0, -4.0])
def f(x, k=0):
"""
CALLS = ("f(x)", "f(-x)", "f(x * 10)", "f(x[::2])", "f(np.zeros(3))", "f(x, -3)", "f(x, 40)", "x")
BOUND = "n = int(x.argmax()) + k\n"
CAPTURED = {
    "up to": BOUND + "return x[:n], n",
    "from": BOUND + "return x[n:] * 2",
    "of a NumPy number": "n = x.argmin()\nreturn x[:n + 1].sum(), x[n:]",
    "of an array without axes": "n = np.asarray(x.argmax())\ny = x[:n]\nn += 1\nreturn y, x[:n]",
    "between two": "lo, hi = int(x.argmin()), int(x.argmax())\nreturn x[lo:hi], x[hi:lo], x[lo:lo]",
    "with a negative end": BOUND + "return x[n:-1], x[-2:n], x[:n - 9]",
    "with a step": BOUND + "return x[n::2], x[1:n:3]",
    "of a number of the data": "n = int(x.max())\nreturn x[n:], x[:n], x[:-n]",
    "one bound twice": BOUND + "return x[:n] + x[::-1][:n], x[n:] - x[n:]",
    "both parts": "n = int((x > 0).sum())\ny = np.sort(x)[::-1]\nreturn y[:n], y[n:], y[:n].sum()",
    "of rows": "y = np.outer(x, x)\nn = y.sum(1).argmax()\nreturn y[:n], y[n:, 1], y[..., :n], y[None, :n, 1:n]",
    "stored into": BOUND + "y = x * 2\ny[:n] = 7\ny[n:] += x[n:]\nreturn y",
    "the argument is written": BOUND + "x[n:] = -1\nreturn x[:n]",
    "a view is written": BOUND + "y = x * 2\nv = y[n:]\nv *= 3\nreturn y, v",
    "size and shape": BOUND + "y = x[n:]\nreturn y.shape, len(y), y.size",
    "in a loop": "s = 0.0\nfor i in range(3):\n    s = s + x[:(x > i).sum()].sum()\nreturn s",
    "in a branch": BOUND + "if x.sum() > 0:\n    return x[:n]\nreturn None",
    "a reduction of nothing": BOUND + "return x[n:n].sum(), np.cumsum(x[:n])",
}
SPLIT = {
    "backwards": BOUND + "return x[n::-1]",
    "with a step of the data": "return x[::x.argmax() + 1]",
    "of a list": BOUND + "return [1, 2, 3][:n]",
}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_the_part_is_the_one_that_plain_python_takes(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_other_slices_mean_the_same(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 1


def test_a_bound_of_another_class_is_the_error_of_numpy() -> None:
    same_everywhere(program("return x[:x.max()]"), CALLS[:1])


def test_the_part_is_a_view() -> None:
    x = np.array([1.0, 3.0, 2.0])
    y = jm.compile(_up_to_largest)(x)
    y[0] = 9.0
    assert x[0] == 9.0


def test_the_derivative_is_that_of_the_part() -> None:
    x = np.array([1.0, -2.0, 3.0])
    assert jm.grad(_square_sum)(x).tolist() == [2.0, -4.0, 0.0]


def _up_to_largest(x):
    return x[: x.argmax()]


def _square_sum(x):
    return (x[: x.argmax()] ** 2).sum()
