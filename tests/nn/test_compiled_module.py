"""``jm.compile(module)``: a module around the module, whose calls are compiled."""

from __future__ import annotations

import numpy as np

import jitmagic as jm
from jitmagic import nn

X = np.arange(6.0).reshape(2, 3)


def test_it_computes_the_same_and_tells_about_it() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    compiled = jm.compile(net)
    np.testing.assert_array_equal(compiled(X), net(X))
    assert compiled.jit.compiles == 1
    assert isinstance(compiled, nn.Module)


def test_attributes_and_state_are_those_of_the_module() -> None:
    net = nn.Linear(3, 4)
    compiled = jm.compile(net)
    assert compiled.weight is net.weight
    compiled.weight = np.zeros((4, 3))
    compiled.extra = 3
    assert net.weight[0, 0] == 0
    assert net.extra == 3
    assert list(compiled.state_dict()) == list(net.state_dict()) == ["weight", "bias"]
    assert [n for n, _ in compiled.named_parameters()] == ["weight", "bias"]
    np.testing.assert_array_equal(compiled(X), net(X))


def test_training_follows() -> None:
    net = nn.Sequential(nn.Dropout())
    compiled = jm.compile(net)
    compiled.eval()
    assert not net[0].training
    np.testing.assert_array_equal(compiled(X), X)


def test_it_can_be_a_part_of_another_module() -> None:
    part = jm.compile(nn.Linear(3, 3))
    whole = nn.Sequential(part, nn.ReLU())
    compiled = jm.compile(whole, fullgraph=True)
    np.testing.assert_array_equal(compiled(X), whole(X))


def test_each_compiled_module_has_its_own_entries() -> None:
    one, other = jm.compile(nn.Linear(3, 3)), jm.compile(nn.Linear(3, 3))
    one(X), other(X)
    assert (one.jit.compiles, other.jit.compiles) == (1, 1)
