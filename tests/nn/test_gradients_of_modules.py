"""Modules whose parameters are Tensors: ``backward``, ``grad``, hooks on gradients, the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from tests.nn.running import same

X = np.arange(6.0).reshape(2, 3)


def test_parameters_become_tensors_over_the_same_memory() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    weight = net[0].weight
    assert net.requires_grad_() is net
    assert isinstance(net[0].weight, jm.Tensor)
    assert net[0].weight.numpy() is weight
    loss = (net(X) ** 2).sum()
    loss.backward()
    assert [p.grad.shape for p in net.parameters()] == [(4, 3), (4,), (1, 4), (1,)]
    net.zero_grad(set_to_none=False)
    assert not np.any(net[0].weight.grad.numpy())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert net.numpy()[0].weight is weight


def test_a_parameter_can_ask_for_its_gradient_itself() -> None:
    module = nn.Module()
    module.w = nn.Parameter(np.ones(3), requires_grad=True)
    assert isinstance(module.w, jm.Tensor)
    assert nn.Parameter(module.w).requires_grad
    (module.w * X).sum().backward()
    np.testing.assert_array_equal(module.w.grad.numpy(), X.sum(0))
    with pytest.raises(jm.GradientError, match="int64"):
        nn.Parameter(np.arange(3), requires_grad=True)


def test_ties_and_integers_stay_what_they_are() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    net[0].steps = nn.Parameter(np.arange(3))
    net.requires_grad_()
    assert net[0].weight is net[1].weight
    assert isinstance(net[0].steps, np.ndarray)


def test_frozen_parameters_keep_their_tensor_and_get_no_gradient() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).requires_grad_()
    before = net[0].weight
    net[0].requires_grad_(False)
    net(X).sum().backward()
    assert net[0].weight is before
    assert before.grad is None
    assert net[1].weight.grad is not None
    net[0].requires_grad_()
    assert before.requires_grad


def test_the_state_is_of_arrays_and_can_be_of_tensors() -> None:
    net = nn.Linear(3, 2).requires_grad_()
    weight = net.weight
    assert all(type(a) is np.ndarray for a in net.state_dict().values())
    assert net.state_dict(keep_vars=True)["weight"] is weight
    net.load_state_dict({"weight": np.zeros((2, 3)), "bias": np.ones(2)})
    assert net.weight is weight
    assert not np.any(weight.numpy())
    net.load_state_dict({"weight": np.ones((2, 3)), "bias": np.ones(2)}, assign=True)
    assert net.weight.requires_grad
    assert net.weight is not weight


def test_casting_keeps_gradients() -> None:
    net = nn.Linear(3, 2).requires_grad_()
    net(X).sum().backward()
    net.float()
    assert net.weight.requires_grad
    assert net.weight.dtype == net.weight.grad.dtype == np.float32


class Twice(nn.Module):
    def forward(self, x: Any, y: Any = 0.0) -> Any:
        return x * 2 + y


def test_backward_hooks_see_and_replace_gradients() -> None:
    seen: list[Any] = []
    layer = Twice()
    layer.register_full_backward_pre_hook(lambda m, g: seen.append(("before", g[0].numpy().copy())))
    layer.register_full_backward_pre_hook(lambda m, g: (g[0] * 10,), prepend=True)
    handle = layer.register_full_backward_hook(lambda m, into, out: (into[0] + 1, *into[1:]))
    layer.register_full_backward_hook(lambda m, into, out: seen.append(("after", into[0].numpy().copy(), into[1:])))
    x = jm.Tensor(np.ones(2), requires_grad=True)
    layer(x, 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [21.0, 21.0])
    assert [kind for kind, *_ in seen] == ["before", "after"]
    np.testing.assert_array_equal(seen[0][1], [10.0, 10.0])
    np.testing.assert_array_equal(seen[1][1], [21.0, 21.0])
    assert seen[1][2] == (None,)
    handle.remove()
    x.zero_grad()
    layer(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [20.0, 20.0])


def test_backward_hooks_of_a_first_layer_have_no_gradient_of_its_input() -> None:
    seen: list[Any] = []
    layer = nn.Linear(3, 2).requires_grad_()
    layer.register_full_backward_hook(lambda m, into, out: seen.append((into, out[0].shape)))
    layer(X).sum().backward()
    assert seen == [((None,), (2, 2))]


def test_global_backward_hooks_run_from_the_last_module_to_the_first() -> None:
    seen: list[str] = []
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).requires_grad_()
    with (
        nn.register_module_full_backward_pre_hook(lambda m, g: seen.append("before " + type(m).__name__)),
        nn.register_module_full_backward_hook(lambda m, i, o: seen.append("after " + type(m).__name__)),
    ):
        net(X).sum().backward()
    net(X).sum().backward()
    # a module around others is done when the gradient of its own input is known: here it has none
    assert seen == [
        *("before Sequential", "after Sequential", "before Tanh", "after Tanh", "before Linear", "after Linear"),
    ]


def test_backward_hooks_do_nothing_without_gradients() -> None:
    layer = Twice()
    layer.register_full_backward_hook(lambda m, into, out: 1 / 0)
    assert type(layer(X)) is np.ndarray
    with jm.no_grad():
        layer(jm.Tensor(X, requires_grad=True))


def test_results_in_tuples_have_their_gradients() -> None:
    class Both(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2, [x.shape], x * 3

    seen: list[Any] = []
    layer = Both()
    layer.register_full_backward_hook(lambda m, into, out: seen.append(out))
    x = jm.Tensor(np.ones(2), requires_grad=True)
    first, shapes, last = layer(x)
    assert shapes == [(2,)]
    (first.sum() + last.sum()).backward()
    ((first, middle, last),) = seen
    assert middle is None
    assert first.shape == last.shape == (2,)
    np.testing.assert_array_equal(x.grad.numpy(), [5.0, 5.0])


def test_a_wrong_number_of_gradients_is_named() -> None:
    layer = Twice()
    layer.register_full_backward_hook(lambda m, into, out: (into[0], into[0]))
    with pytest.raises(RuntimeError, match="gave 2 gradients where grad_input has 1"):
        layer(jm.Tensor(X, requires_grad=True)).sum().backward()


def test_compiled_modules_of_tensors_have_the_gradients_of_plain_ones() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4)).requires_grad_()
    net(X).sum().backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    compiled = jm.compile(net)
    compiled(X).sum().backward()
    assert not compiled.jit.breaks()
    for parameter, grad in zip(net.parameters(), expected, strict=True):
        np.testing.assert_array_equal(parameter.grad.numpy(), grad)
    compiled(X)
    assert compiled.jit.compiles == 1


HOOKED = """
m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
seen = []
m[1].register_full_backward_hook(lambda module, into, out: seen.append(len(into)))
m[1].register_full_backward_pre_hook(lambda module, out: (out[0] * 2,))
x = np.arange(6.0).reshape(2, 3)
def f(x):
    y = m(x)
    return y
"""


def test_backward_hooks_of_a_compiled_module_break_the_graph_by_name() -> None:
    calls = ["m.requires_grad_() is m", "f(x).sum().backward()", "[p.grad for p in m.parameters()]", "seen"]
    found = same(HOOKED, calls, breaks=None)
    assert [b.code for b in found.breaks] == ["backward-hook"]
    assert found.breaks[0].reason.startswith("m[1] has backward hooks")


def test_backward_hooks_cost_nothing_where_there_is_no_gradient() -> None:
    same(HOOKED, ["f(x)", "seen"], [1])
    quiet = "def quiet(x):\n    with jm.no_grad():\n        return f(x).numpy()\n"
    same(HOOKED + quiet, ["m.requires_grad_() is m", "quiet(x)", "quiet(x + 1)", "seen"])
