"""A compiled step changes parameters and moments where they lie, or not at all."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn


class Net(nn.Module):
    """Two layers, so that the update of one parameter comes after that of another."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(1)
        self.first = nn.Linear(6, 5, dtype=np.float32, rng=rng)
        self.second = nn.Linear(5, 3, dtype=np.float32, rng=rng)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x) * np.float32(1e-3))


def step(model: Net, opt: Any, x: Any) -> Any:
    opt.zero_grad()
    loss = np.mean(model(x))
    loss.backward()
    opt.step()
    return loss


def made() -> tuple[Net, Any]:
    model = Net().requires_grad_()
    return model, jm.optim.Adam(model.parameters())


def state(model: Net, opt: Any) -> list[Any]:
    parameters = list(model.parameters())
    moments = [a for p in parameters for a in opt.state[p].values()]
    return [*(p.numpy() for p in parameters), *(p.grad.numpy() for p in parameters), *moments]


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_an_overflow_in_the_update_shows_as_it_does_plainly(mode: Any) -> None:
    """The square of a gradient of the first layer overflows; the second one's does not."""
    compiled = jm.compile(step)
    ours, theirs = made(), made()
    x = np.random.default_rng(2).random((4, 6)).astype(np.float32)
    for k in range(6):
        given = x * np.float32(1e26 if k == 4 else 1.0)
        outcomes = []
        for function, (model, opt) in ((compiled, ours), (step, theirs)):
            with np.errstate(over=mode), warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    result: Any = function(model, opt, given).numpy().tobytes()
                except FloatingPointError as error:
                    result = str(error)
            outcomes.append((result, [str(w.message) for w in heard]))
        assert outcomes[0] == outcomes[1]
        if k == 4:
            assert ("overflow" in str(outcomes[0])) == (mode != "ignore")
        for a, b in zip(state(*ours), state(*theirs), strict=True):
            assert a.tobytes() == b.tobytes()
    assert not compiled.jit.breaks()


def test_the_arrays_stay_the_same_objects() -> None:
    compiled = jm.compile(step)
    model, opt = made()
    x = np.ones((4, 6), np.float32)
    compiled(model, opt, x)
    compiled(model, opt, x)
    before = [p.numpy() for p in model.parameters()], [opt.state[p]["exp_avg"] for p in model.parameters()]
    values = [p.numpy().copy() for p in model.parameters()]
    compiled(model, opt, x)
    assert all(p.numpy() is a for p, a in zip(model.parameters(), before[0], strict=True))
    assert all(opt.state[p]["exp_avg"] is a for p, a in zip(model.parameters(), before[1], strict=True))
    assert all((a != b).any() for a, b in zip(before[0], values, strict=True))


def test_gradients_of_earlier_steps_keep_their_values() -> None:
    """They are handed out without a copy, and nobody else may use their memory."""
    compiled = jm.compile(step)
    model, opt = made()
    kept = []
    for k in range(5):
        compiled(model, opt, np.full((4, 6), k + 1, np.float32))
        kept.append([(p.grad.numpy(), p.grad.numpy().copy()) for p in model.parameters()])
    assert all(a.tobytes() == b.tobytes() for pairs in kept for a, b in pairs)
    arrays = [a for pairs in kept for a, _ in pairs]
    assert not any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
