"""Row A06: what is written under ``no_grad``, or into a detached alias, changes data and leaves the history alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms


def whole(x):
    noted = np.zeros(2)
    with jm.no_grad():
        noted[:] = x
    return (x * noted).sum()


def element(x):
    noted = np.zeros(2)
    with jm.no_grad():
        noted[0] = float(x[1])
        noted.fill(x[0])
        noted[1:] = x[1:]
    return (x * noted).sum()


def copied(x):
    noted = np.zeros(2)
    with jm.no_grad():
        np.copyto(noted, x)
        noted[1:] *= x[0]
        noted += x
        np.add(x, noted, out=noted)
    return (x * noted).sum()


def over_what_has_history(x):
    y = x * 1
    with jm.no_grad():
        y[0] = 5.0
        y *= 2
    return (x * y).sum()


def everything_over(x):
    y = x * 1
    with jm.no_grad():
        y[:] = 0.0
    return (y * 3 * x).sum()


def recorded_again(x):
    y = x * 2
    with jm.no_grad():
        for i in range(2):
            y[i] = i * x[i]
    y[0] += x[1]
    return (x * y).sum()


def by_lists_and_masks(x):
    y = x * 2
    with jm.no_grad():
        y[[0, 1]] = x[::-1]
        y[y > 1.5] = x[0]
    return (x * y * y).sum()


def through_views(x):
    y = np.zeros((2, 2)) + x
    with jm.no_grad():
        y.T[0] = x
        y.reshape(-1)[3] = x[0]
    y[1] += x
    return (x * y).sum()


def detached(x):
    y = x * 2
    jm.detach(y)[0] = 5.0
    v = jm.detach(y)[1:]
    v *= x[0]
    return (x * y).sum()


PROGRAMS = (
    whole,
    element,
    copied,
    over_what_has_history,
    everything_over,
    recorded_again,
    by_lists_and_masks,
    through_views,
    detached,
)
X = np.array([1.0, 2.0])


def on_a_tensor(transform: Callable[..., Any], program: Callable[..., Any]) -> tuple[Any, Any]:
    x = jm.Tensor(X.copy(), requires_grad=True)
    value = transform(program)(x)
    value.backward()
    return value.numpy(), x.grad.numpy()


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_way_to_take_the_gradient_gives_the_same(program) -> None:
    expected = transforms.value_and_grad(program, 0, False)(X.copy())
    assert expected[0] == program(X.copy())
    found = {
        "grad": jm.value_and_grad(program)(X.copy()),
        "compiled": on_a_tensor(jm.compile, program),
        "ahead of time": on_a_tensor(lambda f: jm.aot.aot_function(f, jm.aot.aot_eager), program),
        "on the tape": on_a_tensor(lambda f: f, program) if program not in (whole, element, copied) else expected,
    }
    for way, (value, gradient) in found.items():
        assert value == expected[0], way
        assert gradient.tolist() == expected[1].tolist(), way


def test_what_is_written_is_a_constant_and_what_was_there_keeps_its_derivative() -> None:
    assert jm.grad(whole)(X.copy()).tolist() == [1, 2]
    assert jm.grad(over_what_has_history)(X.copy()).tolist() == [10 + 1, 4 + 2]
    assert jm.grad(everything_over)(X.copy()).tolist() == [3, 6]
