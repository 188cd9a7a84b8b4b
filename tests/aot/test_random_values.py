"""Random generators as values (row A35): the same numbers, the same streams afterwards, drawn twice where asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.aot.joint.joint_graph import Halves, JointGraph, cut
from jitmagic.backends import get_backend
from jitmagic.errors import UserError

EVERY = [jm.aot.aot_eager, get_backend("numba").compile]
GENERATORS: list[Callable[[], Any]] = [
    lambda: np.random.default_rng(3),
    lambda: np.random.Generator(np.random.MT19937(3)),
    lambda: np.random.Generator(np.random.Philox(3)),
    lambda: np.random.RandomState(3),
]


def dropout(x: Any, rng: Any) -> Any:
    mask = rng.random(x.shape) > 0.5
    noisy = x * mask * rng.normal(size=x.shape)
    return (noisy * noisy).sum()


def steps(f: Any, rng: Any) -> Any:
    """Three training steps, and the number that the stream gives after them."""
    found = []
    for _ in range(3):
        x = jm.Tensor(np.arange(1, 7.0), requires_grad=True)
        loss = f(x, rng)
        loss.backward()
        found.append((float(loss), np.asarray(x.grad).tolist()))
    return found, rng.random()


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("compiler", EVERY)
def test_the_backward_half_draws_the_same_numbers_again(compiler: Any, make: Callable[[], Any]) -> None:
    halves: list[Halves] = []

    def save_nothing(joint: JointGraph) -> Halves:
        halves.append(cut(joint, joint.primal_inputs))
        return halves[-1]

    f = jm.aot.aot_function(dropout, compiler, partition_fn=save_nothing, functionalize_rng_ops=True)
    assert steps(f, make()) == steps(dropout, make())
    assert [n.op.name for n in halves[0].backward.calls() if n.op].count("state_normal") == 1


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("compiler", EVERY)
def test_without_gradients_the_stream_goes_on(compiler: Any, make: Callable[[], Any]) -> None:
    def noisy(x: Any, rng: Any) -> Any:
        rng.normal()  # nobody reads it
        return x + rng.normal(size=3), rng.permutation(4), rng.choice(5, 2)

    f = jm.aot.aot_function(noisy, compiler, functionalize_rng_ops=True)
    mine, other = make(), make()
    for _ in range(3):
        for found, expected in zip(f(np.ones(3), mine), noisy(np.ones(3), other), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
    assert mine.random() == other.random()


def test_the_global_stream_and_generators_made_inside() -> None:
    def f(x: Any) -> Any:
        np.random.seed(3)
        rng = np.random.default_rng(5)
        return x * np.random.rand(3) + rng.integers(0, 5, 3), rng

    expected, other = f(np.ones(3))
    after = np.random.rand()
    found, mine = jm.aot.aot_function(f, jm.aot.aot_eager, functionalize_rng_ops=True)(np.ones(3))
    assert found.tolist() == expected.tolist()
    assert np.random.rand() == after
    assert mine.random() == other.random()


def test_a_call_that_raises_leaves_the_stream() -> None:
    def f(x: Any, rng: Any) -> Any:
        return np.linalg.inv(x) + rng.random(2)

    compiled = jm.aot.aot_function(f, jm.aot.aot_eager, functionalize_rng_ops=True)
    rng = np.random.default_rng(0)
    compiled(np.eye(2), rng)
    state = rng.bit_generator.state
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.zeros((2, 2)), rng)
    assert rng.bit_generator.state == state


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x, rng: rng.shuffle(x), "shuffle that writes"),
        (lambda x, rng: rng.standard_normal(out=x), "standard_normal that writes"),
        (lambda x, rng: x + np.random.default_rng().random(), "seeded by the operating system"),
    ],
)
def test_what_has_no_form_is_named(f: Any, what: str) -> None:
    with pytest.raises(UserError, match=f"functionalize_rng_ops has no form for .*{what}"):
        jm.aot.aot_function(f, jm.aot.aot_eager, functionalize_rng_ops=True)(np.ones(3), np.random.default_rng(0))


def test_a_module_with_dropout_trains() -> None:
    class Noisy(jm.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = jm.nn.Parameter(np.ones(4))

        def forward(self, x: Any, rng: Any) -> Any:
            return (self.w * x * rng.random(4)).sum()

    noisy = Noisy().requires_grad_()
    module = jm.aot.aot_module(noisy, jm.aot.aot_eager, functionalize_rng_ops=True)
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(2):
        noisy.zero_grad()
        module(np.ones(4), rng).backward()
        assert np.asarray(noisy.w.grad).tolist() == other.random(4).tolist()
