"""``f.jit.check``: every kind of difference between plain and compiled is seen, on copies, without a trace."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from jitmagic.runtime.comparison import compare, written_outside

X = np.array([1.0, 2.0, 3.0])
_count = 0


def differences(plain, compiled, *args, **kwargs) -> list[str]:
    found = compare(compiled, plain, args, kwargs, "")
    assert found.compared
    assert found.same == (not found.differences)
    return [d.what for d in found.differences]


def fill(x):
    x[0] = 5.0


def fail(x):
    raise ValueError("a")


@pytest.mark.parametrize(
    ("plain", "compiled", "expected"),
    [
        (lambda x: x + 1, lambda x: 1 + x, []),
        (lambda x: x, lambda x: x + np.array([0, 0, 1e-16]), ["memory shared"]),
        (lambda x: x * 2, lambda x: x * np.array([2, 2, 2.0000000000000004]), ["result[2]"]),
        (lambda x: x * 0, lambda x: x * -0.0, ["result[0]"]),
        (lambda x: x + 0, lambda x: (x + 0).astype("f4"), ["dtype of result", "strides of result"]),
        (lambda x: np.zeros((2, 2)), lambda x: np.zeros((2, 2), order="F"), ["strides of result"]),
        (lambda x: x + 0, lambda x: (x + 0)[:2], ["shape of result"]),
        (lambda x: 1, lambda x: 1.0, ["type of result"]),
        (lambda x: (1, 2), lambda x: (1, 3), ["result[1]"]),
        (lambda x: {"a": 1}, lambda x: {"b": 1}, ["keys of result"]),
        (lambda x: None, fill, ["argument 0 afterwards[0]"]),
        (lambda x: x[1:], lambda x: x[1:].copy(), ["memory shared"]),
        (lambda x: None, fail, ["exception"]),
        (lambda x: print("a"), lambda x: print("b"), ["printed text"]),
        (lambda x: x * np.nan, lambda x: -(x * np.nan), []),
        (lambda x: x + 1j, lambda x: x + 1.0000000000000002j, ["result[0]"]),
    ],
)
def test_what_differs_is_named(plain, compiled, expected: list[str]) -> None:
    assert differences(plain, compiled, X.copy()) == expected


def test_arguments_are_not_touched_and_random_streams_are_put_back() -> None:
    def f(x):
        x += np.random.rand(3) + random.random()
        return x

    np.random.seed(3)
    random.seed(3)
    x = X.copy()
    assert differences(f, f, x) == []
    assert x.tolist() == X.tolist()
    drawn = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)
    assert drawn == (np.random.rand(), random.random())


def count(x):
    global _count
    _count += 1
    return x


def test_a_function_that_writes_outside_is_refused() -> None:
    assert "sets the global _count" in compare(count, count, (X,), {}, written_outside(count)).refused
    assert _count == 0


def test_arguments_that_cannot_be_copied_are_refused() -> None:
    found = compare(fill, fill, (threading.Lock(),), {}, "")
    assert "cannot be copied" in found.refused
    assert not found.same


def test_keyword_arguments_are_compared() -> None:
    def change(*, x):
        x[0] = 9

    assert differences(lambda *, x: None, change, x=X.copy()) == ["x afterwards[0]"]
