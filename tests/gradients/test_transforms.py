"""``jm.grad`` and its kin: arguments, containers, composition, what is refused, the plain way where capture ends."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import jitmagic as jm


def cube(x):
    return np.sum(x**3)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Layer:
    w: Any
    b: Any = None


def test_gradients_have_the_structure_of_the_argument() -> None:
    def f(p):
        return np.sum(p["pair"].a * p["layer"].w) + p["list"][0] * p["pair"].b + np.sum(p["list"][1] ** 2)

    p = {"pair": Pair(np.ones(2), 3.0), "layer": Layer(np.arange(2.0)), "list": [2.0, np.float32(1.5)]}
    g = jm.grad(f)(p)
    assert type(g["pair"]) is Pair
    assert type(g["layer"]) is Layer
    assert g["layer"].b is None
    assert g["pair"].a.tolist() == [0, 1]
    assert (g["pair"].b, g["list"][0]) == (2.0, 3.0)
    assert (type(g["pair"].b), type(g["list"][1])) == (np.float64, np.float32)


def test_argnums_and_aux() -> None:
    def f(x, y, *, scale=1.0):
        return np.sum(x * y) * scale, {"seen": x + 1}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    (value, aux), (gy, gx) = jm.value_and_grad(f, argnums=(1, 0), has_aux=True)(x, y, scale=2.0)
    assert value == 22
    assert aux["seen"].tolist() == [2, 3]
    assert (gx.tolist(), gy.tolist()) == ([6, 8], [2, 4])
    found, aux = jm.grad(f, argnums=-1, has_aux=True)(x, y)
    assert found.tolist() == [1, 2]


def test_aux_and_arguments_are_the_callers_objects() -> None:
    def f(x, log):
        x *= 2.0
        log.append(x)
        return np.sum(x * x), x

    x, log = np.array([1.0, 2.0]), []
    (value, same), g = jm.value_and_grad(f, has_aux=True)(x, log)
    assert same is x
    assert log[0] is x
    assert x.tolist() == [2, 4]
    assert g.tolist() == [8, 16]
    assert value == 20


def test_composition() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(jm.grad(lambda x: np.sum(jm.grad(cube)(x) * x))(x), 9 * x**2)
    np.testing.assert_allclose(jm.hessian(cube)(x), np.diag(6 * x))
    third = jm.jacobian(jm.hessian(cube))(x)
    assert third.shape == (2, 2, 2)
    assert third[0, 0, 0] == third[1, 1, 1] == 6
    inside = jm.compile(lambda x: jm.grad(cube)(x) + 1.0, fullgraph=True)
    np.testing.assert_allclose(inside(x), 3 * x**2 + 1)
    np.testing.assert_allclose(jm.grad(jm.compile(cube))(x), 3 * x**2)


def test_jacobian_of_containers() -> None:
    def f(p):
        return {"product": p[0] * p[1], "sum": np.sum(p[0])}

    j = jm.jacobian(f)((np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    assert j["product"][0].tolist() == [[3, 0], [0, 4]]
    assert j["product"][1].tolist() == [[1, 0], [0, 2]]
    assert j["sum"][0].tolist() == [1, 1]
    assert jm.jacobian(lambda x: x[:0] * 1.0)(np.ones(2)).shape == (0, 2)


def test_a_pullback_keeps_what_it_needs() -> None:
    x = np.array([1.0, 2.0])
    value, pullback = jm.vjp(lambda x: (np.exp(x), x * x), x)
    expected = np.exp(x) + 2 * x * 3
    value[0][:] = 0.0
    x[:] = 0.0
    for _ in range(2):
        (g,) = pullback((np.ones(2), np.full(2, 3.0)))
        np.testing.assert_allclose(g, expected)
    with pytest.raises(jm.UserError, match="shape"):
        pullback((np.ones(3), np.ones(2)))
    with pytest.raises(jm.UserError, match="built otherwise"):
        pullback(np.ones(2))


def test_complex_numbers_follow_jax_and_autograd() -> None:
    z = np.array([1 + 2j, -0.5 + 1j])
    np.testing.assert_allclose(jm.grad(lambda z: np.sum(np.real(z * z)))(z), 2 * z)
    np.testing.assert_allclose(jm.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * np.conj(z))


def test_sizes_become_symbols() -> None:
    f = jm.value_and_grad(lambda x: np.mean(np.tanh(x) * x[::-1]))
    for n in (5, 9, 13, 1, 17):
        x = np.linspace(-1, 1, n)
        value, g = f(x)
        np.testing.assert_allclose(value, np.mean(np.tanh(x) * x[::-1]))
        np.testing.assert_allclose(g, ((1 - np.tanh(x) ** 2) * x[::-1] + np.tanh(x)[::-1]) / n)
    assert f.jit.compiles == 3


def test_masked_values_add_nothing() -> None:
    f = jm.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    assert f(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]
    ties = jm.grad(lambda x: np.max(x))
    assert ties(np.array([1.0, 3.0, 3.0])).tolist() == [0, 0.5, 0.5]


def test_what_cannot_be_captured_goes_to_the_tape() -> None:
    def f(x):
        sys._getframe()  # nothing that a trace could hold
        if x[0] > 0:
            return cube(x)
        return np.sum(x)

    g = jm.value_and_grad(f)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0])):
        value, gradient = g(x)
        assert value == f(x)
        assert gradient.tolist() == ((3 * x**2).tolist() if x[0] > 0 else [1, 1])
    assert g.jit.breaks().records


@pytest.mark.parametrize(
    ("function", "args", "match"),
    [
        (lambda x: x * 2.0, (np.ones(3),), r"shape \(3,\)"),
        (lambda x: np.sum(x), (np.ones(3, int),), "dtype int64"),
        (lambda n: n * 2.0, (3,), "by a int"),
        (lambda x: "text", (np.ones(3),), "a str"),
        (lambda x: None, (np.ones(3),), "None"),
        (lambda x: np.sum(x) > 0, (np.ones(3),), "bool"),
        (lambda x: np.sum(x), (), "argnums=0"),
    ],
)
def test_what_has_no_gradient_is_refused_in_words(function: Any, args: Any, match: str) -> None:
    with pytest.raises(jm.GradientError, match=match):
        jm.grad(function)(*args)


def test_requests_without_a_meaning() -> None:
    for wrong in (1.0, "x", (0, 0), (0, "a")):
        with pytest.raises(jm.UserError, match="argnums"):
            jm.grad(cube, argnums=wrong)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(jm.UserError, match="takes a function"):
        jm.grad(3)  # type: ignore[arg-type]  # that is the point


def test_the_card_shows_both_directions() -> None:
    g = jm.value_and_grad(lambda x: np.sum(np.tanh(x) ** 2))
    g(np.ones(100))
    (event,) = g.jit.record.compiled
    assert "tanh" in event.gradient.forward
    assert "multiply" in event.gradient.backward
    assert sum(s.size_bytes for s in event.gradient.saved if not s.is_argument) > 0
    shown = str(g.jit.report())
    assert "kept from forward to backward" in shown
    assert "forward" in g.jit.report().html
