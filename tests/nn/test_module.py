"""Modules by themselves: tables, names, state, hooks, looks; no compiler."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from jitmagic import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.act = nn.ReLU()
        self.scale = nn.Parameter(np.ones(4))
        self.register_buffer("mean", np.zeros(4))
        self.register_buffer("seen", np.zeros(1), persistent=False)
        self.name = "net"

    def forward(self, x: Any) -> Any:
        return self.act(self.first(x)) * self.scale + self.mean


def test_a_parameter_reads_as_the_array_that_was_given() -> None:
    array = np.ones(3)
    module = nn.Module()
    module.w = nn.Parameter(array)
    assert module.w is array
    assert module._parameters == {"w": array} or module._parameters["w"] is array


def test_names_come_in_the_order_of_pytorch() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert [n for n, _ in net.named_buffers("p")] == ["p.mean", "p.seen"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "act"]
    assert list(net.state_dict()) == ["scale", "mean", "first.weight", "first.bias"]


def test_an_instance_owns_a_plain_dict_from_the_start() -> None:
    first = nn.Linear.__new__(nn.Linear)
    assert type(first.__dict__) is dict
    assert first.__dict__ == {}


def test_assigning_before_init_raises() -> None:
    class Early(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Parameter(np.ones(2))

    with pytest.raises(AttributeError, match="before Module"):
        Early()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("first", 3, TypeError), ("scale", "text", TypeError), ("mean", 1.0, TypeError)],
)
def test_tables_take_only_their_kind(name: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=name):
        setattr(Net(), name, value)


def test_an_array_takes_the_place_of_a_parameter_or_buffer() -> None:
    net = Net()
    net.scale = np.full(4, 2.0)
    net.mean = np.full(4, 3.0)
    assert list(net._parameters) == ["scale"]
    assert net._buffers["mean"][0] == 3.0
    assert "scale" not in net.__dict__


def test_a_name_moves_between_tables() -> None:
    net = Net()
    net.act = nn.Parameter(np.ones(2))
    assert "act" not in net._modules
    net.name = nn.Tanh()
    assert "name" not in net.__dict__
    assert list(net._modules) == ["first", "name"]
    del net.name
    assert not hasattr(net, "name")


@pytest.mark.parametrize("name", ["", "a.b"])
def test_names_must_be_attribute_names(name: str) -> None:
    net = Net()
    for register in (net.register_parameter, net.register_buffer, net.add_module):
        with pytest.raises(KeyError, match="must not"):
            register(name, None)


def test_a_missing_attribute_is_worded_as_python_does() -> None:
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'") as caught:
        Net().nothing
    assert caught.value.name == "nothing"


def test_state_goes_round() -> None:
    one, other = Net(), Net()
    result = other.load_state_dict(one.state_dict())
    assert result == ([], [])
    x = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_array_equal(one(x), other(x))
    assert other.first.weight is not one.first.weight


def test_loading_checks_before_it_writes() -> None:
    net = Net()
    before = net.scale.copy()
    with pytest.raises(RuntimeError, match=r"size mismatch for first.weight.*unexpected key\(s\): more"):
        net.load_state_dict({"scale": before + 1, "first.weight": np.ones(2), "more": np.ones(1)})
    np.testing.assert_array_equal(net.scale, before)
    missing, unexpected = net.load_state_dict({"scale": before + 1, "more": np.ones(1)}, strict=False)
    assert (missing, unexpected) == (["mean", "first.weight", "first.bias"], ["more"])
    np.testing.assert_array_equal(net.scale, before + 1)


def test_loading_by_assignment_keeps_the_given_arrays() -> None:
    net = nn.Linear(2, 2, bias=False)
    weight = np.zeros((2, 2), np.float32)
    net.load_state_dict({"weight": weight}, assign=True)
    assert net.weight is weight


def test_train_and_eval_reach_every_module() -> None:
    net = nn.Sequential(Net(), nn.Dropout())
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())


def test_apply_goes_from_the_leaves_up() -> None:
    seen: list[str] = []
    nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Tanh())).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Tanh", "Sequential", "Sequential"]


def test_to_casts_floating_arrays_and_keeps_ties() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net[0].register_buffer("count", np.zeros(1, np.int64))
    net.float()
    assert net[0].weight.dtype == np.float32
    assert net[0].weight is net[1].weight
    assert net[0].count.dtype == np.int64


def test_dotted_names_lead_to_members() -> None:
    net = nn.Sequential(Net())
    assert net.get_parameter("0.first.bias") is net[0].first.bias
    assert net.get_buffer("0.mean") is net[0].mean
    assert net.get_submodule("") is net
    with pytest.raises(AttributeError):
        net.get_parameter("0.first.nothing")


def test_hooks_run_in_order_and_replace_values() -> None:
    layer = nn.Identity()
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda m, args, kwargs: ((args[0] * 10,), kwargs), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, out: out + 0.5)
    last = layer.register_forward_hook(lambda m, args, out: out * 2, prepend=True)
    assert layer(1) == 40.5
    last.remove()
    assert layer(1) == 20.5


def test_global_hooks_see_every_module() -> None:
    seen: list[str] = []
    net = nn.Sequential(nn.Identity())
    with (
        nn.register_module_forward_pre_hook(lambda m, args: seen.append("before " + type(m).__name__)),
        nn.register_module_forward_hook(lambda m, args, out: seen.append("after " + type(m).__name__)),
    ):
        net(1)
    net(1)
    assert seen == ["before Sequential", "before Identity", "after Identity", "after Sequential"]


def test_copies_and_pickles_are_modules_of_their_own() -> None:
    net = Net()
    x = np.ones((1, 3))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(3, 4))))):
        assert other(x).shape == (1, 4)
    twin = copy.deepcopy(net)
    twin.scale[...] = 0
    assert net.scale[0] == 1.0


def test_repr_shows_the_tree() -> None:
    text = repr(nn.Sequential(nn.Linear(2, 3), nn.ModuleDict({"a": nn.ReLU()})))
    assert text == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): ModuleDict(\n    (a): ReLU()\n  )\n)"
    )
