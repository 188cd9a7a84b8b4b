"""Programs of several operations on Tensors: the value of plain NumPy, the gradient of central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.autograd.slopes import X, differences


def buffer_of(x: Any, shape: Any) -> Any:
    """A fresh array of the class of ``x``: plain code needs no Tensor."""
    return jm.Tensor(np.zeros(shape)) if isinstance(x, jm.Tensor) else np.zeros(shape)


def in_place_view(x: Any) -> Any:
    y = x * 1
    v = y[0]
    v *= 3
    y[:, 1] += v[0] * x[1].sum()
    return (y**2).sum()


def views_of_views(x: Any) -> Any:
    y = x.T.copy()
    y[1:][::-1][0] = np.sin(x[:, 0])
    y.reshape(-1)[2:4] *= 2.0
    return (y * np.arange(6.0).reshape(3, 2)).sum()


def loop_with_buffer(x: Any) -> Any:
    out = buffer_of(x, 6)
    flat = x.ravel()
    out[0] = flat[0]
    for i in range(1, 6):
        out[i] = out[i - 1] * 0.5 + flat[i] ** 2
    return out.sum() + out[-1] * out[2]


def masked(x: Any) -> Any:
    y = x * 2
    y[y < 0] = 0.5
    return np.where(x > 0, np.sqrt(np.abs(x)), 0).sum() + np.log(y).sum()


def fancy(x: Any) -> Any:
    y = x[[0, 1, 1], [2, 0, 0]]
    z = x.copy()
    z[[0, 1]] = x[[1, 0]] * 3
    np.add.at(z, ([0, 0], [1, 1]), y[:2])
    return (y**2).sum() + (z**3).sum()


def out_arguments(x: Any) -> Any:
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.add(y, x, out=y, where=x > 0)
    np.exp(y * 0.1, out=y)
    return y.sum()


def methods(x: Any) -> Any:
    a = x.sum(axis=0).cumsum() + x.mean(axis=0) - x.max(axis=0) + x.std(axis=0)
    return a.dot(a) + x.transpose().swapaxes(0, 1).flatten()[::2].sum() + x.clip(-1, 1).prod()


def operators(x: Any) -> Any:
    y = 2 - x + 3 / (x + 5) - (-x) * 2 + 2.0**x + x**2 + abs(x)
    return (y @ y.T).trace() + (x % 1.7).sum() + divmod(x, 1.3)[1].sum()


def linear_algebra(x: Any) -> Any:
    a = x @ x.T + 3 * np.eye(2)
    return np.linalg.slogdet(a)[1] + np.linalg.norm(np.linalg.solve(a, x)) + np.linalg.eigvalsh(a)[0]


def joins(x: Any) -> Any:
    parts = np.split(np.concatenate([x, x * 2], axis=1), 3, axis=1)
    return np.einsum("ij,ij->", parts[0], parts[2]) + np.stack([x, x]).sum() + np.hstack((x, x))[:, 1:4].prod()


def copied_parts(x: Any) -> Any:
    y = x * 1.0
    np.copyto(y[1:], x[:1] * 2)
    y.fill(1.0) if False else y[0].sort()
    z = np.zeros_like(x)
    z[...] = y
    return (z * np.arange(6.0).reshape(2, 3)).sum()


def constant_buffer(x: Any) -> Any:
    """A plain array that changes after it was used."""
    weights = np.ones(3)
    first = (x * weights).sum()
    weights[0] = 5.0
    return first + (x * weights).sum()


PROGRAMS = [
    in_place_view, views_of_views, loop_with_buffer, masked, fancy, out_arguments, methods, operators, linear_algebra,
    joins, copied_parts, constant_buffer,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_give_the_plain_value_and_the_gradient_of_differences(program: Any) -> None:
    with np.errstate(all="ignore"):
        plain = program(X.copy())
        leaf = jm.Tensor(X.copy(), requires_grad=True)
        value = program(leaf)
        expected = differences(program, X)
    assert type(value) is jm.Tensor
    assert type(value._values) is type(plain)
    assert value._values == plain
    value.backward()
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(leaf.numpy(), X)
