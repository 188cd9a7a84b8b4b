"""The state of modules: hooks, extra state, refusals before anything is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic import nn
from jitmagic.errors import UserError


class Counted(nn.Linear):
    def __init__(self) -> None:
        super().__init__(2, 2)
        self.count = 0

    def get_extra_state(self) -> Any:
        return np.array(self.count)

    def set_extra_state(self, state: Any) -> None:
        self.count = int(state)


def test_extra_state_is_saved_and_loaded() -> None:
    net, other = nn.Sequential(Counted()), nn.Sequential(Counted())
    net[0].count = 5
    state = net.state_dict()
    assert list(state) == ["0.weight", "0.bias", "0._extra_state"]
    other.load_state_dict(state)
    assert other[0].count == 5
    with pytest.raises(RuntimeError, match=r"missing key\(s\): 0\._extra_state"):
        other.load_state_dict({k: v for k, v in state.items() if "extra" not in k})


def test_hooks_around_saving_and_loading() -> None:
    net = nn.Sequential(nn.Linear(2, 2))
    seen: list[Any] = []
    net[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    net[0].register_state_dict_post_hook(lambda m, state, prefix, _: state.pop(prefix + "bias"))
    state = net.state_dict(prefix="p.")
    assert list(state) == ["p.0.weight"]
    assert seen == [("p.0.", False)]

    def rename(module: Any, state: Any, prefix: str, *_: Any) -> None:
        state[prefix + "bias"] = state.pop(prefix + "b")

    handle = net[0].register_load_state_dict_pre_hook(rename)
    net.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys))
    given = {"0.weight": np.zeros((2, 2)), "0.b": np.ones(2)}
    net.load_state_dict(given)
    assert net[0].bias[0] == 1.0
    assert list(given) == ["0.weight", "0.b"]
    assert seen[-1] == ([], [])
    handle.remove()
    with pytest.raises(RuntimeError, match=r"unexpected key\(s\): 0\.b; missing key\(s\): 0\.bias"):
        net.load_state_dict(given)


def test_state_can_be_gathered_in_a_given_dict() -> None:
    found: dict[str, Any] = {"old": 1}
    assert nn.Linear(1, 1).state_dict(destination=found, prefix="a.") is found
    assert list(found) == ["old", "a.weight", "a.bias"]


def test_nothing_is_written_when_one_array_cannot_be() -> None:
    net = nn.Linear(2, 2)
    net.bias.flags.writeable = False
    before = net.weight.copy()
    state = {"weight": np.zeros((2, 2)), "bias": np.zeros(2)}
    with pytest.raises(RuntimeError, match="bias is read-only"):
        net.load_state_dict(state)
    np.testing.assert_array_equal(net.weight, before)
    net.load_state_dict(state, assign=True)
    assert net.bias is state["bias"]


def test_a_state_must_be_a_mapping() -> None:
    with pytest.raises(TypeError, match="dict-like, got list"):
        nn.Linear(1, 1).load_state_dict([])


def test_casting_takes_dtypes_and_arrays() -> None:
    net = nn.Linear(2, 2)
    assert net.to(np.ones(1, np.float16)).weight.dtype == np.float16
    assert net.type("float32").weight.dtype == np.float32
    with pytest.raises(TypeError, match="int64"):
        net.to(np.int64)
    assert net.to(np.complex64).weight.dtype == np.complex64
    assert net.double().weight.dtype == np.complex64


def test_a_submodule_can_be_put_under_a_dotted_name() -> None:
    net = nn.Sequential(nn.Sequential(nn.ReLU()))
    net.set_submodule("0.0", nn.Tanh())
    assert type(net[0][0]) is nn.Tanh
    with pytest.raises(AttributeError):
        net.set_submodule("7.0", nn.Tanh())
    with pytest.raises(ValueError, match="no submodule"):
        net.set_submodule("", nn.Tanh())


def test_hooks_that_are_always_called_see_errors_too() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("inside")

    seen: list[Any] = []
    layer = Fails()
    layer.register_forward_hook(lambda m, args, out: seen.append("never"))
    layer.register_forward_hook(lambda m, args, out: seen.append((args, out)), always_call=True)
    with pytest.raises(ValueError, match="inside"):
        layer(1)
    assert seen == [((1,), None)]
    layer.register_forward_hook(lambda m, args, out: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="ZeroDivisionError"), pytest.raises(ValueError, match="inside"):
        layer(1)
    fine = nn.Identity()
    fine.register_forward_hook(lambda m, args, kwargs, out: out + 1, with_kwargs=True, always_call=True)
    assert fine(1) == 2


class LazyScale(nn.LazyModuleMixin, nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.UninitializedParameter()
        self.register_buffer("seen", nn.UninitializedBuffer(dtype=np.int64))

    def initialize_parameters(self, x: Any) -> None:
        self.materialize("scale", x.shape[1:])[...] = 2.0
        self.materialize("seen", x.shape[:1])

    def forward(self, x: Any) -> Any:
        return x * self.scale


def test_a_lazy_module_makes_its_arrays_at_the_first_call() -> None:
    layer = LazyScale()
    assert layer.has_uninitialized_params()
    with pytest.raises(UserError, match="no shape yet"):
        layer.scale.shape
    layer.float()
    found = layer(np.ones((2, 3), np.float32))
    assert found.dtype == layer.scale.dtype == np.float32
    np.testing.assert_array_equal(found, 2.0)
    assert layer.seen.dtype == np.int64
    assert not layer.has_uninitialized_params()
    assert not layer._forward_pre_hooks


def test_a_lazy_module_can_be_loaded_before_its_first_call() -> None:
    layer = LazyScale().requires_grad_()
    layer.load_state_dict({"scale": np.full(3, 5.0), "seen": np.zeros(2)})
    assert layer.scale.requires_grad
    assert layer.scale.numpy()[0] == 5.0


def test_containers_have_the_methods_of_lists_and_dicts() -> None:
    a, b = nn.ReLU(), nn.Tanh()
    row = nn.Sequential(a) + nn.Sequential(b)
    assert list(row) == [a, b]
    assert list(row * 2) == list(2 * row) == [a, b, a, b]
    row *= 2
    row += [b]
    assert list(row) == [a, b, a, b, b]
    with pytest.raises(ValueError, match="positive"):
        row * 0
    with pytest.raises(TypeError, match="int is not a Module"):
        nn.ModuleList().insert(0, 3)
    table = nn.ModuleDict([("a", a)])
    assert table.get("z") is None
    assert table.setdefault("b", b) is b
    values = nn.ParameterDict({"w": np.ones(1)}) | nn.ParameterDict([("v", np.zeros(2))])
    assert list(reversed(values)) == ["v", "w"]
    assert values.popitem()[0] == "v"
    assert list(values.fromkeys(["x", "y"], np.ones(1))) == ["x", "y"]
    assert values.copy()["w"] is values["w"]
    assert values.setdefault("w") is values["w"]
    row2 = nn.ParameterList([np.ones(1), np.zeros(2)])
    assert row2.pop(0).shape == (1,)
    assert [n for n, _ in row2.named_parameters()] == ["0"]
    assert row2[0] in row2
