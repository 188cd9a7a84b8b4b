"""Numbers of Tensors that C code stores in plain arrays would lose their history: each way is an error that says so."""

from __future__ import annotations

import functools
import math
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms


def fill_under_another_name(a: Any, x: Any) -> None:
    store = a.fill
    store(x[0] * 2)


def fill_by_a_partial(a: Any, x: Any) -> None:
    store = functools.partial(a.fill)
    store(x.sum())


def fill_by_an_attribute(a: Any, x: Any) -> None:
    holder = types.SimpleNamespace()
    holder.inner = types.SimpleNamespace(store=a.fill)
    holder.inner.store(x.sum())


STORING: dict[str, Callable[[Any, Any], Any]] = {
    "a record": lambda a, x: np.array([(x[0], 1.0)], dtype=[("a", float), ("b", float)]),
    "item": lambda a, x: a.__setitem__(0, x[0] * 2),
    "operator": lambda a, x: operator.setitem(a, 0, x[0]),
    "fill": lambda a, x: a.fill(x.sum()),
    "fill a view": lambda a, x: a[1:].fill(x[0]),
    "fill, starred": lambda a, x: a.fill(*(x[0],)),
    "fill under another name": fill_under_another_name,
    "fill by a partial": fill_by_a_partial,
    "fill by an attribute": fill_by_an_attribute,
    "put": lambda a, x: a.put(0, x[0]),
    "fromiter": lambda _, x: np.fromiter((v * v for v in x), float),
}

READING: dict[str, Callable[[Any, Any], Any]] = {
    "float": lambda _, x: float(x[0]),
    "math": lambda _, x: math.sqrt(x[0]),
    "list": lambda _, x: [float(v) for v in x],
    "text": lambda _, x: f"{float(x[0]):.2f}",
    "fill with a number": lambda a, x: a.fill(float(x[0])),
}


def causes(error: BaseException | None) -> list[type]:
    return [] if error is None else [type(error), *causes(error.__cause__)]


@pytest.mark.parametrize("store", STORING.values(), ids=STORING)
def test_a_number_with_history_is_not_stored_in_a_plain_array(store: Callable[[Any, Any], Any]) -> None:
    x = jm.Tensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    a = np.zeros(3)
    with pytest.raises((jm.GradientError, ValueError)) as caught:  # NumPy may put an error of its own before ours
        store(a, x)
    assert jm.GradientError in causes(caught.value)
    assert not a.any()


@pytest.mark.parametrize("store", STORING.values(), ids=STORING)
def test_without_gradients_it_is_stored(store: Callable[[Any, Any], Any]) -> None:
    x, a, b = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    expected = store(a, x)
    with jm.no_grad():
        found = store(b, jm.Tensor(x).detach())
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("read", READING.values(), ids=READING)
def test_numbers_that_are_asked_for_are_given(read: Callable[[Any, Any], Any]) -> None:
    values = np.array([1.0, 2.0, 3.0])
    x = jm.Tensor(values, requires_grad=True)
    assert read(np.zeros(3), x) == read(np.zeros(3), values)


def test_without_recording_a_tensor_is_written_as_its_numbers() -> None:
    x, a = jm.Tensor([1.0, 2.0], requires_grad=True), np.zeros(2)
    with jm.no_grad():
        a[:] = x
        a[0] = x[1]
        assert np.array([x[0], x[1]]).tolist() == [1, 2]
    assert a.tolist() == [2, 2]

    def f(x: Any) -> Any:
        noted = np.zeros(2)
        with jm.no_grad():
            noted[:] = x
            noted[0] = max(map(float, x))
        return (x * noted).sum()

    for transform in (jm.grad(f), transforms.grad(f, 0, False)):
        assert transform(np.array([1.0, 2.0])).tolist() == [2, 2]
