"""Starting values: distributions, in place, from the given generator; and all parameters as one vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.nn import init

SHAPE = (200, 30, 3)  # fan_in 90, fan_out 600

SPREADS = {
    "uniform_": ((-1.0, 3.0), 4 / math.sqrt(12), 1.0),
    "normal_": ((2.0, 0.5), 0.5, 2.0),
    "xavier_uniform_": ((2.0,), 2 * math.sqrt(2 / 690), 0.0),
    "xavier_normal_": ((), math.sqrt(2 / 690), 0.0),
    "kaiming_uniform_": ((0.0, "fan_out", "relu"), math.sqrt(2 / 600), 0.0),
    "kaiming_normal_": ((math.sqrt(5),), math.sqrt(1 / 3 / 90), 0.0),
}


@pytest.mark.parametrize("name", SPREADS)
def test_spread_and_mean(name: str) -> None:
    args, spread, mean = SPREADS[name]
    array = np.zeros(SHAPE, np.float32)
    found = getattr(init, name)(array, *args, generator=np.random.default_rng(1))
    assert found is array
    assert abs(array.std() / spread - 1) < 0.03
    assert abs(array.mean() - mean) < 0.05 * spread
    again = getattr(init, name)(np.zeros(SHAPE, np.float32), *args, generator=np.random.default_rng(1))
    np.testing.assert_array_equal(array, again)


def test_the_global_stream_is_the_default() -> None:
    np.random.seed(3)
    found = init.normal_(np.zeros(4))
    np.random.seed(3)
    np.testing.assert_array_equal(found, np.random.normal(0, 1, 4))


def test_constants_and_identities() -> None:
    np.testing.assert_array_equal(init.constant_(np.zeros(3), 0.3), np.full(3, 0.3))
    np.testing.assert_array_equal(init.ones_(np.zeros(2)), np.ones(2))
    np.testing.assert_array_equal(init.zeros_(np.ones(2)), np.zeros(2))
    np.testing.assert_array_equal(init.eye_(np.ones((2, 3))), np.eye(2, 3))
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 5))
    for groups in (1, 2):
        weight = init.dirac_(np.ones((4, 4 // groups, 3, 3)), groups)
        np.testing.assert_array_equal(nn.functional.conv2d(x, weight, padding=1, groups=groups), x)


def test_truncated_normal_values_stay_within_their_bounds() -> None:
    found = init.trunc_normal_(np.zeros(20000), 1.0, 2.0, 0.0, 2.5, np.random.default_rng(0))
    assert found.min() >= 0
    assert found.max() <= 2.5
    assert abs(np.mean(found < 1.25) - 0.5) < 0.03
    with pytest.raises(ValueError, match="hardly any value"):
        init.trunc_normal_(np.zeros(3), 0.0, 1.0, 8.0, 9.0)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (4, 3, 2)])
def test_orthogonal_rows_or_columns(shape: Any) -> None:
    matrix = init.orthogonal_(np.zeros(shape), 2.0).reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_sparse_columns() -> None:
    found = init.sparse_(np.ones((10, 6)), 0.35)
    assert np.all((found == 0).sum(0) == 4)


def test_tensors_that_require_a_gradient_are_filled_without_a_record() -> None:
    layer = nn.Linear(3, 2).requires_grad_()
    before = layer.weight
    init.ones_(layer.weight)
    assert layer.weight is before
    assert layer.weight.is_leaf
    np.testing.assert_array_equal(layer.weight.numpy(), 1)


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1.0),
        ("conv2d", None, 1.0),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("leaky_relu", 0.2, math.sqrt(2 / 1.04)),
        ("selu", None, 0.75),
    ],
)
def test_gains(name: str, param: Any, gain: float) -> None:
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_what_has_no_fans_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(np.zeros(3))
    with pytest.raises(ValueError, match="Mode fan not supported"):
        init.kaiming_normal_(np.zeros((2, 2)), mode="fan")
    with pytest.raises(ValueError, match="Unsupported nonlinearity sine"):
        init.calculate_gain("sine")


def test_parameters_as_one_vector_and_back() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (3 * 2 + 2 + 2 + 1,)
    nn.utils.vector_to_parameters(np.arange(11.0), net.parameters())
    np.testing.assert_array_equal(net[0].weight, np.arange(6.0).reshape(2, 3))
    assert net[1].bias[0] == 10.0
    with pytest.raises(ValueError, match="11 elements"):
        nn.utils.vector_to_parameters(np.arange(12.0), net.parameters())
    net.requires_grad_()
    (nn.utils.parameters_to_vector(net.parameters()) * np.arange(11.0)).sum().backward()
    np.testing.assert_array_equal(net[1].bias.grad.numpy(), [10.0])
    nn.utils.vector_to_parameters(jm.Tensor(vector), net.parameters())
    np.testing.assert_array_equal(net[0].weight.numpy(), vector[:6].reshape(2, 3))
