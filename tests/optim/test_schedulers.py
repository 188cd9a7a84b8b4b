"""Learning rates of each schedule: those of a formula written down here, and those of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

EPOCHS = 14
RATES = (0.4, 0.1)

Make = Callable[[Any, Any], Any]  # takes lr_scheduler (ours or PyTorch's) and an optimiser

CASES: dict[str, tuple[Make, Callable[[float, int], float]]] = {
    "StepLR": (lambda m, o: m.StepLR(o, 3, gamma=0.5), lambda r, e: r * 0.5 ** (e // 3)),
    "MultiStepLR": (
        lambda m, o: m.MultiStepLR(o, [2, 5, 5]),
        lambda r, e: r * 0.1 ** ((e >= 2) + 2 * (e >= 5)),
    ),
    "ExponentialLR": (lambda m, o: m.ExponentialLR(o, 0.9), lambda r, e: r * 0.9**e),
    "LambdaLR": (lambda m, o: m.LambdaLR(o, lambda e: 1 / (1 + e)), lambda r, e: r / (1 + e)),
    "MultiplicativeLR": (lambda m, o: m.MultiplicativeLR(o, lambda e: 0.8), lambda r, e: r * 0.8**e),
    "ConstantLR": (lambda m, o: m.ConstantLR(o, 0.25, 4), lambda r, e: r * (0.25 if e < 4 else 1)),
    "LinearLR": (lambda m, o: m.LinearLR(o, 0.1, 0.8, 6), lambda r, e: r * (0.1 + 0.7 * min(e, 6) / 6)),
    "PolynomialLR": (lambda m, o: m.PolynomialLR(o, 8, 2.0), lambda r, e: r * (1 - min(e, 8) / 8) ** 2),
    "CosineAnnealingLR": (
        lambda m, o: m.CosineAnnealingLR(o, 5, 0.01),
        lambda r, e: 0.01 + (r - 0.01) * (1 + math.cos(math.pi * e / 5)) / 2,
    ),
    "SequentialLR": (
        lambda m, o: m.SequentialLR(o, [m.LinearLR(o, 0.1, 1.0, 4), m.ExponentialLR(o, 0.5)], [4]),
        lambda r, e: r * (0.1 + 0.9 * e / 4 if e < 4 else 0.5 ** (e - 4)),
    ),
}


def optimizer() -> jm.optim.Optimizer:
    groups = [{"params": jm.Tensor(np.ones(2), requires_grad=True), "lr": rate} for rate in RATES]
    return jm.optim.SGD(groups, momentum=0.9)


def rates_of(scheduler: Any, optimizer: Any, epochs: int = EPOCHS) -> list[list[float]]:
    found = []
    for _ in range(epochs):
        found.append([group["lr"] for group in optimizer.param_groups])
        assert scheduler.get_last_lr() == found[-1]
        scheduler.step()
    return found


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_the_formula(name: str) -> None:
    make, formula = CASES[name]
    opt = optimizer()
    found = rates_of(make(jm.optim.lr_scheduler, opt), opt)
    expected = [[formula(rate, epoch) for rate in RATES] for epoch in range(EPOCHS)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-17)


MORE: dict[str, Make] = {
    "OneCycleLR": lambda m, o: m.OneCycleLR(o, [0.5, 0.2], total_steps=20),
    "OneCycleLR linear": lambda m, o: m.OneCycleLR(o, 0.5, epochs=5, steps_per_epoch=4, anneal_strategy="linear"),
    "OneCycleLR three phases": lambda m, o: m.OneCycleLR(o, 0.5, 20, three_phase=True, pct_start=0.4),
    **{name: make for name, (make, _) in CASES.items()},
}


def pytorch(torch: Any) -> Any:
    groups = [{"params": torch.ones(2, requires_grad=True), "lr": rate} for rate in RATES]
    return torch.optim.SGD(groups, momentum=0.9)


@pytest.mark.filterwarnings("ignore")  # PyTorch wants to see optimizer.step() first
@pytest.mark.parametrize("name", MORE)
def test_rates_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    opt, theirs = optimizer(), pytorch(torch)
    found = rates_of(MORE[name](jm.optim.lr_scheduler, opt), opt)
    expected = rates_of(MORE[name](torch.optim.lr_scheduler, theirs), theirs)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-17)
    assert [g["momentum"] for g in opt.param_groups] == [g["momentum"] for g in theirs.param_groups]


def test_one_cycle_ends_where_it_says() -> None:
    opt = jm.optim.Adam([jm.Tensor(np.ones(2), requires_grad=True)])
    scheduler = jm.optim.lr_scheduler.OneCycleLR(opt, 1.0, total_steps=10)
    assert opt.param_groups[0]["betas"] == (0.95, 0.999)
    found = [rate for (rate,) in rates_of(scheduler, opt, 10)]
    assert found[0] == pytest.approx(1 / 25)
    assert max(found) == pytest.approx(1.0)
    assert found[2] == max(found)
    assert found[-1] == pytest.approx(1 / 25 / 1e4)
    with pytest.raises(ValueError, match="total steps is 10"):
        scheduler.step()


LOSSES = [5.0, 4.0, 4.0, 4.0, 3.9999, 3.9998, 4.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 2},
        {"patience": 1, "factor": 0.5, "cooldown": 2},
        {"patience": 0, "threshold_mode": "abs", "threshold": 0.5, "min_lr": [0.05, 0.02]},
        {"patience": 1, "mode": "max", "eps": 1e-2},
    ],
)
def test_a_plateau_reduces_the_rate(settings: dict[str, Any]) -> None:
    opt = optimizer()
    scheduler = jm.optim.lr_scheduler.ReduceLROnPlateau(opt, **settings)
    found = []
    for loss in LOSSES:
        scheduler.step(loss)
        found.append(scheduler.get_last_lr())
    assert found[0] == list(RATES)
    assert found[-1] < found[0]
    torch = pytest.importorskip("torch")
    theirs = pytorch(torch)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **settings)
    expected = []
    for loss in LOSSES:
        other.step(loss)
        expected.append([group["lr"] for group in theirs.param_groups])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("LambdaLR", "MultiplicativeLR")])
def test_a_state_dict_goes_on_where_it_was_taken(name: str) -> None:
    make = CASES[name][0]
    opt, again = optimizer(), optimizer()
    first, second = make(jm.optim.lr_scheduler, opt), make(jm.optim.lr_scheduler, again)
    for _ in range(3):
        first.step()
    second.load_state_dict(first.state_dict())
    again.load_state_dict(opt.state_dict())
    assert rates_of(first, opt, 8) == rates_of(second, again, 8)


def test_resuming_needs_the_initial_rates() -> None:
    opt = optimizer()
    with pytest.raises(KeyError, match="initial_lr"):
        jm.optim.lr_scheduler.StepLR(opt, 3, last_epoch=5)
