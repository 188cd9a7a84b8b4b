"""Steps of learning-rate schedules inside compiled training steps."""

from __future__ import annotations

import pytest

from tests.training.worlds import FIVE, PRELUDE, same_steps

SCHEDULES = [
    "StepLR(opt, 2)", "MultiStepLR(opt, [1, 3])", "ExponentialLR(opt, 0.9)", "CosineAnnealingLR(opt, 4)",
    "LinearLR(opt, total_iters=3)", "PolynomialLR(opt, 4)", "ConstantLR(opt)", "OneCycleLR(opt, 0.5, total_steps=9)",
    "SequentialLR(opt, [s.LinearLR(opt, total_iters=2), s.ExponentialLR(opt, 0.5)], [2])",
]  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_step_of_a_schedule(schedule: str) -> None:
    """No epoch and no rate becomes a constant of the entry."""
    text = (
        PRELUDE
        + f"""
s = jm.optim.lr_scheduler
opt = jm.optim.SGD(model.parameters(), lr=0.1{", momentum=0.9" if "OneCycle" in schedule else ""})
scheduler = s.{schedule}
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    scheduler.step()
    return loss
"""
    )
    calls = [f"step(model, opt, X[{i}], Y[{i}])" for i in range(7)]
    cycles = "OneCycle" in schedule  # its momentum is a number that the steps decide on
    same_steps(text, calls, entries=None if cycles else 1)


def test_a_plateau() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.5)
scheduler = jm.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, threshold=0.5)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    scheduler.step(loss)
    return loss
"""
    )
    same_steps(text, FIVE, entries=1)


def test_a_schedule_before_the_optimizer_is_plain_python() -> None:
    """What the schedule changes is read after it: only a graph break gets that right."""
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.5)
scheduler = jm.optim.lr_scheduler.ExponentialLR(opt, 0.5)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    scheduler.step()
    rate = opt.param_groups[0]["lr"]
    opt.step()
    scheduler.step()
    return loss, rate, scheduler.get_last_lr(), scheduler.last_epoch
"""
    )
    same_steps(text, FIVE, breaks=None)


def test_a_schedule_by_a_function_of_the_user() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.5)
scheduler = jm.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 1 / (1 + epoch))
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    scheduler.step()
    return loss
"""
    )
    same_steps(text, FIVE, breaks=None)
