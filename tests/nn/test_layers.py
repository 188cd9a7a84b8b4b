"""Each layer against its definition, written out in NumPy; and against SciPy where it has the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import jitmagic as jm
from jitmagic import nn
from jitmagic.nn.error_function import erf

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 5, 6)) * 3


def seeded(layer: Any) -> Any:
    for _, parameter in layer.named_parameters():
        parameter[...] = RNG.normal(size=parameter.shape)
    return layer


linear = seeded(nn.Linear(6, 3))
norm = seeded(nn.LayerNorm((5, 6)))
CASES = {
    "linear": (linear, X @ linear.weight.T + linear.bias),
    "relu": (nn.ReLU(), np.where(X > 0, X, 0.0)),
    "tanh": (nn.Tanh(), np.tanh(X)),
    "sigmoid": (nn.Sigmoid(), scipy.special.expit(X)),
    "gelu": (nn.GELU(), X * scipy.special.ndtr(X)),
    "gelu by tanh": (
        nn.GELU("tanh"),
        0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))),
    ),
    "softmax": (nn.Softmax(1), scipy.special.softmax(X, axis=1)),
    "layer norm": (
        norm,
        (X - X.mean((1, 2), keepdims=True)) / np.sqrt(X.var((1, 2), keepdims=True) + 1e-5) * norm.weight + norm.bias,
    ),
    "flatten": (nn.Flatten(), X.reshape(4, 30)),
    "flatten the first": (nn.Flatten(0, 1), X.reshape(20, 6)),
    "identity": (nn.Identity(1, a=2), X),
}


@pytest.mark.parametrize("name", CASES)
def test_a_layer_computes_its_definition(name: str) -> None:
    layer, expected = CASES[name]
    np.testing.assert_allclose(layer(X), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_layer_gives_the_same_bits(name: str) -> None:
    layer, _ = CASES[name]
    compiled = jm.compile(layer, fullgraph=True)
    found, expected = compiled(X), layer(X)
    assert found.tobytes() == expected.tobytes()
    assert found.dtype == expected.dtype


def test_an_embedding_gives_rows() -> None:
    layer = nn.Embedding(10, 3, rng=np.random.default_rng(0))
    index = np.array([[1, 9], [0, 1]])
    np.testing.assert_array_equal(layer(index), layer.weight[index])


def test_dropout_keeps_the_mean_and_does_nothing_in_evaluation() -> None:
    layer = nn.Dropout(0.25, rng=np.random.default_rng(0))
    ones = np.ones(10_000)
    found = layer(ones)
    assert set(np.unique(found)) == {0.0, 1.0 / 0.75}
    assert abs(found.mean() - 1.0) < 0.02
    assert layer.eval()(ones) is ones
    np.testing.assert_array_equal(nn.Dropout(1.0)(ones), 0)


def test_layers_start_from_the_given_generator() -> None:
    one = nn.Linear(3, 3, rng=np.random.default_rng(1))
    other = nn.Linear(3, 3, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(one.weight, other.weight)
    assert np.all(np.abs(one.weight) <= 1 / np.sqrt(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype: Any) -> None:
    x = X.astype(dtype)
    layers = [nn.Linear(6, 6, dtype=dtype), nn.LayerNorm(6, dtype=dtype), nn.GELU(), nn.Sigmoid(), nn.Softmax()]
    assert {layer(x).dtype for layer in layers} == {np.dtype(dtype)}


def test_a_wrong_shape_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"LayerNorm over \(5,\) got an input of shape \(4, 5, 6\)"):
        nn.LayerNorm(5)(X)


def test_the_error_function_is_accurate_everywhere() -> None:
    x = np.concatenate([np.linspace(-30, 30, 20001), RNG.normal(size=1000) * 1e-9, [np.inf, -np.inf, -0.0, 0.0]])
    np.testing.assert_allclose(erf(x), scipy.special.erf(x), rtol=1e-15)
    assert np.isnan(erf(np.array([np.nan]))).all()
    assert np.signbit(erf(np.array([-0.0])))[0]
