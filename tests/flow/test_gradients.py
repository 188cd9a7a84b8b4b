"""Gradients through loops and branches that the data decide, against differences, the tape and the plain value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph.flow_tape import TapedFlow
from tests.flow import gradient_check, programs
from tests.gradients.differences import agree, central_differences


def first_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of a smooth function of the first result, as a loss."""

    def loss(*args: Any) -> Any:
        result = function(*args)
        first = result[0] if isinstance(result, tuple) else result
        return np.sum(np.tanh(first * 0.1))

    return loss


def rng(seed: int) -> Any:
    return np.random.default_rng(seed)


# Function, arguments, what the gradient is taken of, whether one graph holds all of it
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...], bool]] = [
    (programs.jacobi, (programs.square(5), rng(1).standard_normal(5), 1e-11), (0, 1), True),
    (programs.heat, (rng(1).standard_normal(12), 30, 0.1), (0,), True),
    (programs.newton, (np.linspace(2, 3, 5),), (0,), True),
    (programs.power_method, (programs.spd(4), 20), (0,), True),
    (programs.buffers, (rng(3).standard_normal(9), 11), (0,), True),
    (programs.leapfrog, (rng(3).standard_normal(9), 11), (0,), True),
    (programs.zscore, (rng(3).standard_normal(7),), (0,), True),
    (programs.three_ways, (np.arange(9.0),), (0,), True),
    (programs.three_ways, (np.arange(9.0) - 7,), (0,), True),
    (programs.choice, (-np.arange(9.0),), (0,), True),
    (programs.skip, (np.arange(5.0) + 0.3, 20), (0,), True),
    (programs.nested, (np.arange(5.0) + 0.3, 12), (0,), True),
    (programs.conjugate_gradient, (programs.spd(4), rng(2).standard_normal(4)), (1,), True),
    (programs.calls_helper, (np.arange(5.0) + 0.1, 12), (0,), True),
    (programs.solves, (programs.spd(4), np.ones(4), 12), (0, 1), True),
    (programs.gram_schmidt, (programs.square(4),), (0,), True),
]


@pytest.mark.parametrize(("function", "args", "argnums", "is_whole"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_are_those_of_differences(
    function: Any, args: tuple[Any, ...], argnums: tuple[int, ...], is_whole: bool
) -> None:
    loss = first_of(function)
    compiled: Any = jm.value_and_grad(loss, argnums)
    for _ in range(2):
        given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        value, gradients = compiled(*given)
        again = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        assert value == loss(*again)
        np.testing.assert_equal(given, again)
        for argnum, gradient in zip(argnums, gradients, strict=True):
            assert type(gradient) is np.ndarray
            assert gradient.dtype == args[argnum].dtype
            agree(gradient, central_differences(loss, args, argnum))
    found = jm.explain(jm.value_and_grad(loss, argnums))(*[np.copy(a) for a in args[:1]], *args[1:])
    assert (not found.breaks) is is_whole


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_agree_with_the_tape(seed: int) -> None:
    found, _ = gradient_check.check(seed)
    assert not found, found


def test_float32_and_numbers() -> None:
    def decay(x: Any, rate: float) -> Any:
        total = np.float32(0)
        while x.max() > 0.1:
            x = x * rate
            total = total + x.sum()
        return total

    x = np.linspace(0.5, 1, 5, dtype="f4")
    value, (by_x, by_rate) = jm.value_and_grad(decay, (0, 1))(x, 0.7)
    assert value == decay(x, 0.7)
    assert by_x.dtype == np.float32
    expected = central_differences(decay, (x.astype("f8"), 0.7), 1)
    np.testing.assert_allclose(by_rate, expected, rtol=1e-4)


def test_a_pullback_may_be_called_again_and_what_is_returned_may_be_written() -> None:
    def settle(x: Any) -> Any:
        while np.abs(x).max() > 1:
            x = x * np.exp(-x)
        return x

    x = np.array([1.5, 0.2, 3.0])
    value, pullback = jm.vjp(settle, x)
    first = pullback(np.ones(3))[0].copy()
    value[:] = 7
    x[:] = 9
    assert pullback(np.ones(3))[0].tolist() == first.tolist()
    assert pullback(2 * np.ones(3))[0].tolist() == (2 * first).tolist()
    agree(first, central_differences(lambda a: settle(a).sum(), (np.array([1.5, 0.2, 3.0]),), 0))


def test_jacobians_and_second_derivatives() -> None:
    def settle(x: Any) -> Any:
        for _ in range(20):
            if x.sum() < 1:
                break
            x = x * 0.5 + np.sin(x) * 0.1
        return x

    x = np.array([1.0, 2.0, 0.5])
    for row in range(3):
        agree(jm.jacobian(settle)(x)[row], central_differences(lambda a, r=row: settle(a)[r], (x,), 0))
    gradient = jm.grad(lambda a: (settle(a) ** 2).sum())
    for row in range(3):
        expected = central_differences(lambda a, r=row: gradient(a)[r], (x,), 0)
        agree(jm.hessian(lambda a: (settle(a) ** 2).sum())(x)[row], expected)


def test_tensors_go_through_compiled_flows() -> None:
    def settle(x: Any) -> Any:
        while np.abs(x).max() > 1:
            x = x * 0.5
        return (x * x).sum()

    f = jm.aot.aot_function(settle, jm.aot.aot_eager)
    x = jm.Tensor(np.array([3.0, -5.0]), requires_grad=True)
    f(x).backward()
    taped = jm.Tensor(np.array([3.0, -5.0]), requires_grad=True)
    settle(taped).backward()
    assert np.asarray(x.grad).tolist() == np.asarray(taped.grad).tolist()
    (entry,) = f.entries.values()
    calls = [n.op.call for n in entry.training.halves.forward.calls()]
    assert any(isinstance(call, TapedFlow) for call in calls)


def test_random_draws_are_made_once() -> None:
    def walk(x: Any, draws: Any) -> Any:
        while x.max() < 4:
            x = x + draws.random(3) * x
        return x.sum()

    x, one, other = np.array([0.1, 0.2, 0.3]), rng(5), rng(5)
    value, gradient = jm.value_and_grad(walk)(x, one)
    assert value == walk(x, other)
    assert one.random() == other.random()
    agree(gradient, central_differences(lambda a: walk(a, rng(5)), (x,), 0))


def test_an_operation_without_a_rule_stops_as_it_does_on_the_tape() -> None:
    def f(x: Any) -> Any:
        while x.max() > 1:
            x = (x * 0.5).byteswap()
        return x.sum()

    with pytest.raises(jm.JitMagicError, match="byteswap has no gradient"):
        jm.grad(f)(np.array([1.0, 2.0, 3.0, 4.0]))


def test_one_array_under_two_names_is_one_array() -> None:
    def f(x: Any, n: int) -> Any:
        a = x * 1.0
        b = a
        for i in range(n):
            if a.sum() > 100:
                break
            a[i % 3] = a[i % 3] * 1.5 + b[0]
            b = a
        return (a * b).sum()

    x = np.array([1.0, 2.0, 3.0])
    value, gradient = jm.value_and_grad(f)(x, 9)
    assert value == f(x, 9)
    agree(gradient, central_differences(f, (x, 9), 0))
