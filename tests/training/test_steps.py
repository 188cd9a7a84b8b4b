"""Whole training steps, forward to optimiser, are one graph, and do bit for bit what the tape and the optimiser do."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.training.worlds import FIVE, PRELUDE, STEP, same_steps

OPTIMIZERS: list[tuple[str, int]] = [
    ("SGD(params, lr=0.1)", 1),
    ("SGD(params, lr=0.1, momentum=0.9)", 2),
    ("SGD(params, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)", 2),
    ("SGD(params, lr=0.1, momentum=0.8, nesterov=True, maximize=True)", 2),
    ("Adam(params, lr=0.1)", 2),
    ("Adam(params, lr=0.1, weight_decay=0.1, amsgrad=True, maximize=True)", 2),
    ("AdamW(params, lr=0.1)", 2),
    ("RMSprop(params, lr=0.01)", 2),
    ("RMSprop(params, lr=0.01, momentum=0.5, centered=True, weight_decay=0.1)", 2),
    ("Adagrad(params, lr=0.1, lr_decay=0.1, weight_decay=0.1)", 1),
]


@pytest.mark.parametrize(("optimizer", "entries"), OPTIMIZERS, ids=[o for o, _ in OPTIMIZERS])
def test_a_step_with_each_optimizer(optimizer: str, entries: int) -> None:
    """The first call makes the state: where it differs from the zeros of later ones, two entries serve them."""
    text = PRELUDE + f"params = model.parameters()\nopt = jm.optim.{optimizer}\n" + STEP
    same_steps(text, FIVE, entries=entries, dtypes=[np.float32], backends=["numba"])
    same_steps(text, FIVE, entries=entries, dtypes=[np.float64])


def test_a_learning_rate_that_changes_compiles_nothing() -> None:
    text = PRELUDE + "opt = jm.optim.Adam(model.parameters())\n" + STEP
    calls = [f"!opt.param_groups[0]['lr'] = {0.1 / (i // 2 + 1)}" if i % 2 else FIVE[i // 2] for i in range(10)]
    same_steps(text, calls, entries=2)


def test_model_and_optimizer_are_globals() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss
"""
    )
    same_steps(text, [f"step(X[{i}], Y[{i}])" for i in range(4)], entries=1)


def test_model_and_optimizer_are_closed_over() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def make(model, opt):
    def step(x, y):
        opt.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss
    return step
step = make(model, opt)
"""
    )
    same_steps(text, [f"step(X[{i}], Y[{i}])" for i in range(4)], entries=1)


def test_a_closure() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    def closure():
        opt.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        return loss
    return opt.step(closure)
"""
    )
    same_steps(text, FIVE, entries=1)


@pytest.mark.parametrize("clip", ["clip_grad_norm_(params, 0.1)", "clip_grad_norm_(params, 0.1, norm_type=np.inf)",
                                  "clip_grad_norm_(params, 5.0, 1.0)", "clip_grad_value_(params, 0.01)"])  # fmt: skip
def test_clipping(clip: str) -> None:
    text = (
        PRELUDE
        + f"""
opt = jm.optim.SGD(model.parameters(), lr=0.1)
params = list(model.parameters())
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    norm = nn.utils.{clip}
    opt.step()
    return loss, norm
"""
    )
    same_steps(text, FIVE, entries=1)


def test_dropout_draws_the_same_numbers() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
drop = nn.Dropout(0.3, rng=draws)
other = nn.Dropout(0.5)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model.second(other(drop(np.tanh(model.first(x))))), y)
    loss.backward()
    opt.step()
    return loss, np.random.rand()
"""
    )
    same_steps(text, FIVE, entries=1)


def test_running_statistics() -> None:
    text = (
        PRELUDE
        + """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", np.zeros(7, DTYPE))
        self.register_buffer("var", np.ones(7, DTYPE))
        self.register_buffer("count", np.zeros((), np.int64))
        self.weight = nn.Parameter(np.ones(7, DTYPE), requires_grad=True)
    def forward(self, x):
        if not self.training:
            return (x - self.mean) / np.sqrt(self.var + 1e-5) * self.weight
        mean, var = np.mean(x, axis=0), np.var(x, axis=0)
        self.count += 1
        self.mean *= 0.9
        self.mean += 0.1 * jm.detach(mean).numpy()
        self.var *= 0.9
        self.var += 0.1 * jm.detach(var).numpy()
        return (x - mean) / np.sqrt(var + 1e-5) * self.weight

norm = Norm()
opt = jm.optim.SGD([*model.parameters(), *norm.parameters()], lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model.second(norm(model.first(x))), y)
    loss.backward()
    opt.step()
    return loss
"""
    )
    calls = [*FIVE, "!norm.eval()", FIVE[0], "!norm.train()", FIVE[1]]
    same_steps(text, calls, entries=2)


def test_gradients_accumulate() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    cross_entropy(model(x), y).backward()

def whole(model, opt, x, y):
    opt.zero_grad()
    for i in range(3):
        loss = cross_entropy(model(x[2 * i : 2 * i + 2]), y[2 * i : 2 * i + 2]) / 3
        loss.backward()
    opt.step()
    return loss
"""
    )
    calls = [FIVE[0], FIVE[1], FIVE[2], "!opt.step(); opt.zero_grad()", FIVE[3], FIVE[4]]
    same_steps(text, calls, entries=2)
    same_steps(text + "step = whole\n", FIVE, entries=1)


def test_several_losses() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.Adam(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    hidden = np.maximum(model.first(x), 0)
    first = cross_entropy(model.second(hidden), y)
    second = (hidden * hidden).mean() * 0.1
    first.backward(retain_graph=True)
    second.backward()
    third = sum((p * p).sum() for p in model.parameters()) * 1e-3
    third.backward()
    opt.step()
    return first, second, third
"""
    )
    same_steps(text, FIVE, entries=2)


def test_two_steps_in_one_call() -> None:
    """Row B61: what is computed after a step sees the new values."""
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
def step(model, opt, x, y):
    losses = []
    for i in range(2):
        opt.zero_grad()
        loss = cross_entropy(model(x[3 * i : 3 * i + 3]), y[3 * i : 3 * i + 3])
        loss.backward()
        opt.step()
        losses.append(loss)
    return losses, cross_entropy(model(x), y).detach()
"""
    )
    same_steps(text, FIVE, entries=2)


def test_a_parameter_in_two_places() -> None:
    text = (
        PRELUDE
        + """
model.third = nn.Linear(7, 7, dtype=DTYPE, rng=np.random.default_rng(2)).requires_grad_()
tied = nn.Linear(7, 7, dtype=DTYPE)
tied.weight = nn.Parameter(model.third.weight)
opt = jm.optim.SGD([*model.parameters(), tied.bias] if tied.bias is None else list(model.parameters()), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    hidden = np.tanh(model.third(np.tanh(model.first(x)))) @ tied.weight
    loss = cross_entropy(model.second(hidden), y)
    loss.backward()
    opt.step()
    return loss
"""
    )
    same_steps(text, FIVE, entries=1)


def test_parameters_that_get_no_gradient() -> None:
    text = (
        PRELUDE
        + """
model.unused = nn.Linear(3, 3, dtype=DTYPE).requires_grad_()
model.first.requires_grad_(False)
opt = jm.optim.Adam(model.parameters(), lr=0.1)
"""
        + STEP
    )
    same_steps(text, FIVE, entries=2)


def test_groups_with_settings_of_their_own() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.AdamW([{"params": model.first.parameters(), "lr": 0.01, "weight_decay": 0.0},
                      {"params": model.second.parameters()}], lr=0.1)
"""
        + STEP
    )
    same_steps(text, [*FIVE, "!opt.param_groups[1]['lr'] = 0.02", *FIVE], entries=2)


def test_tensors_without_a_module() -> None:
    text = """
w = jm.Tensor(np.linspace(-1, 1, 12).reshape(4, 3).astype(DTYPE), requires_grad=True)
b = jm.Tensor(np.zeros((), DTYPE), requires_grad=True)
X = [np.random.default_rng(i).normal(size=(5, 4)).astype(DTYPE) for i in range(4)]
def step(x):
    loss = ((x @ w + b) ** 2).sum()
    loss.backward()
    with jm.no_grad():
        w.grad, b.grad = None, None
    return loss

def manual(x):
    loss = ((x @ w + b) ** 2).sum()
    loss.backward()
    return loss, w.grad, b.grad
"""
    same_steps(text, [f"step(X[{i}])" for i in range(4)], entries=1)
    same_steps(text + "step = manual\n", [f"step(X[{i}])" for i in range(4)], breaks=None)


@pytest.mark.parametrize(
    "after",
    [
        "loss.backward()",
        "out.sum().backward()",
        "(loss * 2).backward()",
        "hidden.backward(np.ones_like(hidden.numpy()))",
    ],
)
def test_what_leaves_after_a_pass_has_let_go_of_its_record(after: str) -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    hidden = np.tanh(model.first(x))
    out = model.second(hidden)
    loss = cross_entropy(out, y)
    loss.backward()
    return loss, out, hidden

def again(model, opt, x, y):
    loss, out, hidden = step(model, opt, x, y)
    try:
        AFTER
    except jm.GradientError as error:
        return "used by an earlier backward pass" in str(error)
"""
    ).replace("AFTER", after)
    calls = [f"again(model, opt, X[{i}], Y[{i}])" for i in range(3)]
    found = same_steps(text, calls, entries=1)
    assert found.call(calls[0]) == "True"


def test_what_leaves_with_its_record() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=0.1)
def step(model, opt, x, y):
    opt.zero_grad()
    out = model(x)
    loss = cross_entropy(out, y)
    loss.backward(retain_graph=True)
    other = (model.first(x) ** 2).mean()
    return loss, out, other

def again(model, opt, x, y):
    loss, out, other = step(model, opt, x, y)
    out.sum().backward(retain_graph=True)
    other.backward()
    return loss
"""
    )
    same_steps(text, [f"again(model, opt, X[{i}], Y[{i}])" for i in range(3)], entries=1)


def test_a_record_from_before_keeps_the_old_values() -> None:
    text = (
        PRELUDE
        + """
opt = jm.optim.SGD(model.parameters(), lr=1.0)
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    return loss

def around(model, opt, x, y):
    before = (model.first.weight ** 3).sum()
    step(model, opt, x, y)
    opt.zero_grad()
    before.backward()
    return before
"""
    )
    same_steps(text, [f"around(model, opt, X[{i}], Y[{i}])" for i in range(3)], entries=1)


@pytest.mark.parametrize(
    "line",
    ["np.mean(x).backward()", "(model(x)).backward()", "loss.detach().backward()",
     "loss.backward(); loss.backward()", "loss.backward(gradient=np.ones(3, DTYPE))", "before.backward()"],
)  # fmt: skip
def test_what_the_tape_does_beyond_that(line: str) -> None:
    """Errors are those of the tape; what is not compiled is a graph break."""
    text = (
        PRELUDE
        + f"""
opt = jm.optim.SGD(model.parameters(), lr=0.1)
before = (model.first.weight ** 3).sum()
def step(model, opt, x, y):
    opt.zero_grad()
    loss = cross_entropy(model(x), y)
    {line}
    opt.step()
    return loss.detach()
"""
    )
    same_steps(text, FIVE[:3], breaks=None)


@pytest.mark.parametrize("product", ["x @ w.T", "np.dot(x, w.T)", "x @ w.T.copy('F')", "x[None] @ w.T"])
def test_gradients_of_transposed_weights_are_those_of_the_tape(product: str) -> None:
    """They are computed as the weight lies in memory, by the tape and in a trace."""
    text = f"""
w = jm.Tensor(np.random.default_rng(3).normal(size=(70, 90)).astype(DTYPE), requires_grad=True)
X = [np.random.default_rng(i).normal(size=(60, 90)).astype(DTYPE) for i in range(2)]
def step(x):
    w.grad = None
    loss = np.tanh({product}).sum()
    loss.backward()
    return loss
"""
    found = same_steps(text, ["step(X[0])", "step(X[1])"], entries=1)
    gradient = found.names["w"].grad.numpy()
    assert gradient.flags.c_contiguous
    w, x = found.names["w"].numpy(), found.names["X"][1]
    np.testing.assert_allclose(gradient, (1 - np.tanh(x @ w.T) ** 2).T @ x, rtol=1e-5, atol=1e-5)


def test_the_second_compile_says_that_the_state_was_made() -> None:
    text = PRELUDE + "opt = jm.optim.Adam(model.parameters())\n" + STEP
    found = same_steps(text, FIVE[:3], entries=2, dtypes=[np.float64])
    assert [r.remedy.partition(":")[0] for r in jm.recompiles(found.names["step"])] == ["nothing"]
