"""What a step reads of a schedule after it, schedules by functions, and the order of everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from jitmagic.tracer.number_functions import computes_numbers
from tests.training.worlds import PRELUDE, same_steps

CALLS = [f"step(model, opt, X[{i}], Y[{i}])" for i in range(6)]


def program(then: str, schedule: str = "StepLR(opt, 2)", first: str = "") -> str:
    return (
        PRELUDE
        + f"""
opt = jm.optim.SGD(model.parameters(), lr=0.1)
scheduler = jm.optim.lr_scheduler.{schedule}
group = opt.param_groups[0]
history, rates = [], []
def step(model, opt, x, y):
    {first or "pass"}
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    {then}
"""
    )


@pytest.mark.parametrize(
    "then",
    [
        "scheduler.step(); return loss, scheduler.get_last_lr(), opt.param_groups[0]['lr'], scheduler.last_epoch",
        "history.append(loss.item()); scheduler.step(); rates.append(group['lr']); return loss, rates",
        "scheduler.step(); first = group['lr']; scheduler.step(); return loss, first, group['lr']",
        "scheduler.step(); known = group['lr']; group['lr'] = 0.07; return loss, known, group['lr']",
        "scheduler.step(); return {'loss': loss, 'rate': scheduler.get_last_lr()}",
    ],
)
def test_what_a_schedule_changed_is_passed_on_without_a_break(then: str) -> None:
    same_steps(program(then), CALLS, entries=1, breaks=0)


@pytest.mark.parametrize(
    "then",
    [
        "scheduler.step(); return loss * group['lr']",
        "scheduler.step(); return loss, f\"{group['lr']:.3f}\"",
        "scheduler.step(); return loss, group['lr'] is None, group['lr'] > 0.05, type(group['lr'])",
        "history.append(loss.item()); scheduler.step(); history.append(group['lr']); return loss, list(history)",
        "group['lr'] = 0.07; scheduler.step(); return loss, group['lr']",
    ],
)
def test_what_is_computed_with_it_breaks_the_graph(then: str) -> None:
    same_steps(program(then), CALLS, breaks=1)


def test_a_schedule_at_the_beginning_breaks_there() -> None:
    same_steps(program("return loss, group['lr']", first="scheduler.step()"), CALLS, breaks=1)


@pytest.mark.parametrize("kind", ["LambdaLR", "MultiplicativeLR"])
@pytest.mark.parametrize(
    "factor",
    ["lambda e: 0.9**e", "lambda e: min(1, (e + 1) / WARM)", "lambda e: table[min(e, 2)]",
     "lambda e: float(np.exp(-e))", "lambda e: 0.5 * (1 + math.cos(math.pi * e / 10))", "warmed"],
)  # fmt: skip
def test_a_function_of_numbers_is_no_constant_of_an_epoch(kind: str, factor: str) -> None:
    text = "import math\nWARM = 5; table = [1.0, 0.5, 0.2]\ndef warmed(e): return (e + 1) / 3 if e < 3 else 0.9\n"
    same_steps(text + program("scheduler.step(); return loss", f"{kind}(opt, {factor})"), CALLS, entries=1, breaks=0)


@pytest.mark.parametrize("factor", ["lambda e: float(mean[0])", "lambda e: seen.append(e) or 0.5", "Slow()"])
def test_other_functions_are_traced(factor: str) -> None:
    text = """
mean = np.ones(1); seen = []
class Slow:
    def __call__(self, e): return 1 / (e + 2)
"""
    then = "scheduler.step(); mean[0] *= 0.5; return loss, list(seen)"
    same_steps(text + program(then, f"LambdaLR(opt, {factor})"), CALLS, breaks=None)


def test_which_functions_compute_numbers() -> None:
    scale, rows, array, seen = 2.0, [1, 2], np.ones(2), []  # type: ignore[var-annotated]  # closed over below

    def inner(e: Any) -> Any:
        return e * scale

    def outer(e: Any) -> Any:
        return inner(e) + rows[0] + math.sqrt(e) + abs(e)

    def numbered(e: Any) -> Any:
        yield e

    def nested(e: Any) -> Any:
        return sum(v for v in rows)

    assert computes_numbers(inner)
    assert computes_numbers(outer)
    for other in (
        lambda e: array[0], lambda e: seen.append(e), lambda e: print(e), numbered, nested, math.sqrt, seen.append,
        None,
        lambda e: unknown,  # type: ignore[name-defined]  # noqa: F821
    ):  # fmt: skip
        assert not computes_numbers(other)
