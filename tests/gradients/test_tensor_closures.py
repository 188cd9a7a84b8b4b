"""``jm.grad`` and its kin inside computations on Tensors: the gradient that they give has a history of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

A = np.array([[0.5, -1.0], [2.0, 0.25], [1.5, 1.0]])
W = np.array([0.75, -1.25])


def by_closure(a: Any, w: Any) -> Any:
    return (jm.grad(lambda v: ((a @ v) ** 2).sum())(w) ** 2).sum() + (a**2).sum()


def by_arguments(a: Any, w: Any) -> Any:
    value, g = jm.value_and_grad(lambda v, m: ((m @ v) ** 2).sum(), argnums=(0, 1))(w, a)
    return value + (g[0] ** 2).sum() + (g[1] ** 3).sum()


def by_pullback(a: Any, w: Any) -> Any:
    value, pullback = jm.vjp(lambda v: np.tanh(a @ v), w)
    return (pullback(value)[0] ** 2).sum() + (a**2).sum()


@pytest.mark.parametrize("program", [by_closure, by_arguments, by_pullback])
@pytest.mark.parametrize("is_leaf", [(True, True), (True, False), (False, True)])
def test_inner_gradients_of_tensors_are_differentiated(
    program: Callable[[Any, Any], Any], is_leaf: tuple[bool, bool]
) -> None:
    a, w = (jm.Tensor(x.copy(), requires_grad=True) if leaf else x for x, leaf in zip((A, W), is_leaf, strict=True))
    program(a, w).backward()
    for number, (leaf, x) in enumerate(zip((a, w), (A, W), strict=True)):
        if is_leaf[number]:
            want = np.zeros_like(x)
            for place in np.ndindex(x.shape):
                step = np.zeros_like(x)
                step[place] = 1e-6
                pairs = [[A + s * step, W] if number == 0 else [A, W + s * step] for s in (1, -1)]
                want[place] = (program(*pairs[0]) - program(*pairs[1])) / 2e-6
            np.testing.assert_allclose(leaf.grad, want, rtol=1e-5, atol=1e-7)


def test_inner_gradients_without_recording_are_plain_values() -> None:
    w = jm.Tensor(W.copy(), requires_grad=True)
    with jm.no_grad():
        g = jm.grad(lambda v: (v**3).sum())(w)
    assert not getattr(g, "requires_grad", False)
    np.testing.assert_allclose(g.numpy() if isinstance(g, jm.Tensor) else g, 3 * W**2)
