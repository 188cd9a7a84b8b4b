"""Each optimiser, with each of its settings, takes the steps of the formulas in ``references`` and of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.optim import references

CASES: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
    ("SGD", references.sgd, {}),
    ("SGD", references.sgd, {"lr": 0.1, "weight_decay": 0.3}),
    ("SGD", references.sgd, {"lr": 0.1, "momentum": 0.9}),
    ("SGD", references.sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    ("SGD", references.sgd, {"lr": 0.1, "momentum": 0.8, "nesterov": True, "maximize": True}),
    ("Adam", references.adam, {}),
    ("Adam", references.adam, {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.2}),
    ("Adam", references.adam, {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", references.adam, {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("AdamW", references.adamw, {"lr": 0.1}),
    ("AdamW", references.adamw, {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", references.rmsprop, {}),
    ("RMSprop", references.rmsprop, {"lr": 0.1, "alpha": 0.8, "eps": 1e-4, "weight_decay": 0.1}),
    ("RMSprop", references.rmsprop, {"lr": 0.1, "momentum": 0.9}),
    ("RMSprop", references.rmsprop, {"lr": 0.1, "momentum": 0.5, "centered": True, "maximize": True}),
    ("RMSprop", references.rmsprop, {"lr": 0.1, "centered": True}),
    ("Adagrad", references.adagrad, {}),
    ("Adagrad", references.adagrad, {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1}),
    ("Adagrad", references.adagrad, {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True}),
]
NAMES = [f"{name} {settings}" for name, _, settings in CASES]
START = (np.linspace(-1, 2, 12).reshape(3, 4), np.array([0.5, -0.25]))


def gradients(step: int, params: Any) -> list[np.ndarray[Any, Any]]:
    """Of some bumpy function, other ones at each step."""
    return [np.sin(3 * p + step) + 0.5 * p for p in params]


def leaves(dtype: Any = np.float64) -> list[jm.Tensor]:
    return [jm.Tensor(a.astype(dtype), requires_grad=True) for a in START]


def run(opt: jm.optim.Optimizer, params: list[jm.Tensor], steps: range) -> None:
    for step in steps:
        for p, g in zip(params, gradients(step, [p.numpy() for p in params]), strict=True):
            p.grad = jm.Tensor(g.astype(p.dtype))
        opt.step()


@pytest.mark.parametrize(("name", "reference", "settings"), CASES, ids=NAMES)
def test_steps_are_those_of_the_formulas(name: str, reference: Callable[..., Any], settings: dict[str, Any]) -> None:
    params = leaves()
    arrays = [p.numpy() for p in params]
    opt = getattr(jm.optim, name)(params, **settings)
    run(opt, params, range(7))
    expected = [a.copy() for a in START]
    states: list[dict[str, Any]] = [{} for _ in expected]
    for step in range(7):
        found = zip(expected, gradients(step, expected), states, strict=True)
        expected = [reference(p, g, s, **settings) for p, g, s in found]
    for p, array, wanted in zip(params, arrays, expected, strict=True):
        assert p.numpy() is array, "parameters are changed in place"
        np.testing.assert_allclose(array, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "reference", "settings"), CASES, ids=NAMES)
def test_steps_and_states_are_those_of_pytorch(
    name: str, reference: Callable[..., Any], settings: dict[str, Any], dtype: Any
) -> None:
    """Rounding differs: tolerance 1e-12 in float64, 2e-6 in float32."""
    torch = pytest.importorskip("torch")
    params = leaves(dtype)
    theirs = [torch.tensor(p.numpy().copy(), requires_grad=True) for p in params]
    opt, other = getattr(jm.optim, name)(params, **settings), getattr(torch.optim, name)(theirs, **settings)
    tolerance = 1e-12 if dtype == np.float64 else 2e-6
    for step in range(6):
        found = gradients(step, [p.numpy().astype(np.float64) for p in params])
        for p, q, g in zip(params, theirs, found, strict=True):
            p.grad, q.grad = jm.Tensor(g.astype(dtype)), torch.tensor(g.astype(dtype))
        opt.step()
        other.step()
    for p, q in zip(params, theirs, strict=True):
        assert p.dtype == dtype
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)
    mine, wanted = opt.state_dict(), other.state_dict()
    assert mine["state"].keys() == wanted["state"].keys()
    for number, known in wanted["state"].items():
        kept = {k: v for k, v in known.items() if v is not None}
        assert mine["state"][number].keys() == kept.keys()
        for key, value in kept.items():
            np.testing.assert_allclose(mine["state"][number][key], value, rtol=tolerance, atol=tolerance)
    for group, theirs_ in zip(mine["param_groups"], wanted["param_groups"], strict=True):
        assert {k: theirs_[k] for k in group} == group


def test_groups_have_settings_of_their_own() -> None:
    a, b = leaves()
    opt = jm.optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    opt.add_param_group({"params": jm.Tensor(np.ones(2), requires_grad=True), "weight_decay": 0.5})
    assert [group["lr"] for group in opt.param_groups] == [0.5, 0.1, 0.1]
    for group in opt.param_groups:
        for p in group["params"]:
            p.grad = jm.Tensor(np.ones(p.shape))
    opt.step()
    np.testing.assert_array_equal(a.numpy(), START[0] - 0.5)
    np.testing.assert_array_equal(b.numpy(), START[1] - 0.1)
    np.testing.assert_allclose(opt.param_groups[2]["params"][0].numpy(), 1 - 0.1 * 1.5)


def test_named_parameters_keep_their_names() -> None:
    a, b = leaves()
    opt = jm.optim.Adam([("first", a), ("second", b)])
    assert opt.param_groups[0]["params"] == [a, b]
    assert opt.state_dict()["param_groups"][0]["param_names"] == ["first", "second"]


def test_parameters_without_a_gradient_stay() -> None:
    a, b = leaves()
    opt = jm.optim.Adam([a, b])
    b.grad = jm.Tensor(np.ones(2))
    opt.step()
    np.testing.assert_array_equal(a.numpy(), START[0])
    assert list(opt.state) == [b]


def test_zero_grad() -> None:
    a, b = leaves()
    opt = jm.optim.SGD([a, b])
    a.grad = jm.Tensor(np.ones((3, 4)))
    opt.zero_grad(set_to_none=False)
    assert a.grad is not None
    assert b.grad is None
    np.testing.assert_array_equal(a.grad.numpy(), np.zeros((3, 4)))
    opt.zero_grad()
    assert a.grad is None


def test_a_closure_computes_the_loss_first() -> None:
    a, _ = leaves()
    opt = jm.optim.SGD([a], lr=0.25)

    def closure() -> jm.Tensor:
        opt.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    loss = opt.step(closure)
    np.testing.assert_array_equal(float(loss), np.sum(START[0] * START[0]))
    np.testing.assert_allclose(a.numpy(), START[0] * 0.5)


def test_history_recorded_before_a_step_sees_the_old_values() -> None:
    a, _ = leaves()
    opt = jm.optim.SGD([a], lr=1.0)
    loss = (a * a * a).sum()
    a.grad = jm.Tensor(np.ones((3, 4)))
    opt.step()
    a.grad = None
    loss.backward()
    np.testing.assert_allclose(a.grad.numpy(), 3 * START[0] ** 2)  # type: ignore[attr-defined]  # backward has set it


@pytest.mark.parametrize(("name", "reference", "settings"), CASES, ids=NAMES)
def test_a_state_dict_goes_on_where_it_was_taken(
    name: str, reference: Callable[..., Any], settings: dict[str, Any]
) -> None:
    make = getattr(jm.optim, name)
    params = leaves()
    opt = make(params, **settings)
    run(opt, params, range(3))
    known = deepcopy(opt.state_dict())
    others = [jm.Tensor(p.numpy().copy(), requires_grad=True) for p in params]
    again = make(others, lr=0.7)
    again.load_state_dict(known)
    run(opt, params, range(3, 6))
    run(again, others, range(3, 6))
    for p, q in zip(params, others, strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_what_cannot_be_optimised_is_refused() -> None:
    a, b = leaves()
    with pytest.raises(TypeError, match="requires_grad_"):
        jm.optim.SGD([np.ones(3)])
    with pytest.raises(TypeError, match="single Tensor"):
        jm.optim.SGD(a)
    with pytest.raises(ValueError, match="empty parameter list"):
        jm.optim.SGD([])
    with pytest.raises(ValueError, match="only leaves"):
        jm.optim.SGD([a * 2])
    with pytest.raises(ValueError, match="more than once"):
        jm.optim.SGD([a, b, a])
    with pytest.raises(TypeError, match="set"):
        jm.optim.SGD([{"params": {a}}])
    for wrong in ({"lr": -1.0}, {"momentum": -0.1}, {"nesterov": True}, {"weight_decay": -1.0}):
        with pytest.raises(ValueError, match=r"Invalid|Nesterov"):
            jm.optim.SGD([a], **wrong)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="index 1"):
        jm.optim.Adam([a], betas=(0.9, 1.0))
    opt = jm.optim.SGD([a, b])
    with pytest.raises(ValueError, match="size of its group"):
        opt.load_state_dict(jm.optim.SGD([a]).state_dict())
    with pytest.raises(ValueError, match="number of parameter groups"):
        opt.load_state_dict(jm.optim.SGD([{"params": a}, {"params": b}]).state_dict())
