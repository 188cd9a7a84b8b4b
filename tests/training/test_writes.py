"""Parameters written by hand under ``no_grad``, and the order in which gradients reach hooks."""

from __future__ import annotations

import pytest

from tests.training.worlds import PRELUDE, same_steps

CALLS = [f"step(model, opt, X[{i}], Y[{i}])" for i in range(4)]
BEGIN = """
from copy import deepcopy
mean = deepcopy(model)
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
"""


@pytest.mark.parametrize(
    "line",
    [
        "for p in model.parameters(): p -= 0.1 * p.grad",
        "for p in model.parameters(): p[...] = np.clip(p - p.grad, -0.3, 0.3)",
        "for p, q in zip(mean.parameters(), model.parameters()): p *= 0.9; p += 0.1 * q",
        "model.first.bias[1:] = model.first.bias[:-1]; model.first.weight[0] = 1.5",
        "model.first.weight *= 2; model.first.weight **= 2",
        "model.first.bias += model.second.bias.sum()",
    ],
)
def test_writes_under_no_grad_are_part_of_the_graph(line: str) -> None:
    end = "    return loss, model(x), [p.detach() * 1 for p in mean.parameters()]\n"
    same_steps(PRELUDE + BEGIN + f"    with jm.no_grad():\n        {line}\n" + end, CALLS, entries=1, breaks=0)


def test_a_write_between_forward_and_backward_does_not_change_the_gradient() -> None:
    text = """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    with jm.no_grad():
        model.second.weight *= 1.5
    loss.backward()
    return loss
"""
    same_steps(PRELUDE + text, CALLS, breaks=0)


@pytest.mark.parametrize("value", ["np.ones(4)", "1j", "np.ones(7, 'f2')", "model.second.weight"])
def test_a_write_that_does_not_fit_is_refused_as_in_the_plain_run(value: str) -> None:
    text = PRELUDE + BEGIN + f"    with jm.no_grad():\n        model.first.bias[...] = {value}\n    return loss\n"
    same_steps(text, CALLS, breaks=None)


def test_a_write_that_is_recorded_is_refused() -> None:
    text = PRELUDE + BEGIN + "    model.first.bias += 1\n    return loss\n"
    same_steps(text, CALLS, breaks=None)


def test_gradients_reach_hooks_in_the_order_of_the_tape() -> None:
    text = """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
order = []
for name, parameter in model.named_parameters():
    parameter.register_hook(lambda g, name=name: order.append(name))
def step(model, opt, x, y):
    loss = cross_entropy(model(x), y) + (model.first.bias ** 2).sum()
    loss.backward()
    return loss, list(order)
"""
    same_steps(PRELUDE + text, CALLS, breaks=1)
