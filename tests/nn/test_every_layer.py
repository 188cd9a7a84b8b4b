"""Every layer against its definition in plain NumPy, and its gradients against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from tests.nn.layer_cases import CASES, Case, made
from tests.nn.loss_references import LOSS_REFERENCES
from tests.nn.references import REFERENCES

TOLERANCES = {np.float32: 1e-5, np.float64: 1e-10}
STEP = 1e-6


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f4", "f8"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_layer_computes_its_definition(case: Case, dtype: Any) -> None:
    """In float32 against the definition in float64, whose inputs are the same numbers."""
    layer = made(case, dtype)
    arrays, named = case.inputs(dtype)
    found = leaves(layer(*arrays, **named))
    assert all(np.asarray(a).dtype == dtype for a in found)
    exact = made(case, dtype)
    if not case.layer.startswith("RMSNorm"):  # whose eps is that of the dtype
        exact.double()
        arrays = [a.astype(np.float64) for a in arrays]
    wanted = leaves({**REFERENCES, **LOSS_REFERENCES}[case.layer](exact, *arrays, **named))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        scale = max(float(np.max(np.abs(b))), 1.0)
        np.testing.assert_allclose(np.asarray(a) / scale, b / scale, rtol=0, atol=TOLERANCES[dtype])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradients_are_central_differences(case: Case) -> None:
    """Along two random directions through all inputs and parameters at once."""
    arrays, named = case.inputs()
    layer = made(case).requires_grad_()
    inputs = [jm.Tensor(a, requires_grad=True) for a in arrays]
    value(layer(*inputs, **named)).backward()
    gradients = [t.grad for t in (*inputs, *layer.parameters())]
    rng = np.random.default_rng(5)
    for _ in range(2):
        steps = [rng.normal(size=np.shape(t.numpy())) for t in (*inputs, *layer.parameters())]
        slope = sum(np.sum(g.numpy() * s) for g, s in zip(gradients, steps, strict=True) if g is not None)
        ends = [_moved(case, arrays, named, steps, h) for h in (STEP, -STEP)]
        found = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(found, slope, rtol=2e-6, atol=1e-6)


def value(results: Any) -> Any:
    return sum(np.sum(r * np.cos(np.arange(r.size)).reshape(r.shape)) for r in leaves(results))


def _moved(case: Case, arrays: list[Any], named: dict[str, Any], steps: list[Any], h: float) -> float:
    layer = made(case)
    inputs = [a + h * s for a, s in zip(arrays, steps, strict=False)]
    for parameter, s in zip(layer.parameters(), steps[len(arrays) :], strict=True):
        parameter += h * s
    return float(value(layer(*inputs, **named)))


def test_every_layer_has_a_case() -> None:
    """Containers, random layers, lazy ones and the encoder of layers have tests of their own."""
    elsewhere = {"Dropout", "Dropout1d", "Dropout2d", "Embedding", "LazyModuleMixin", "TransformerEncoder", "Module",
                 "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"}  # fmt: skip
    classes = {n for n in nn.__all__ if isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)}
    lazy = {name for name in classes if name.startswith("Lazy")}
    assert classes - elsewhere - lazy == {case.layer for case in CASES}
    assert {name.removeprefix("Lazy") for name in lazy} <= {case.layer for case in CASES}


@pytest.mark.parametrize("p", [0.25, 0.75])
def test_dropout_of_channels_drops_them_whole(p: float) -> None:
    for layer, shape in ((nn.Dropout1d(p), (40, 30, 4)), (nn.Dropout2d(p), (40, 30, 2, 3))):
        found = layer(np.ones(shape)).reshape(40, 30, -1)
        assert set(np.unique(found)) == {0.0, 1 / (1 - p)}
        assert np.all(found == found[..., :1])
        assert abs((found[..., 0] == 0).mean() - p) < 0.06


LAZY = [
    (nn.LazyLinear(3), nn.Linear, (2, 5), (3, 5)),
    (nn.LazyConv1d(4, 3, padding=1), nn.Conv1d, (2, 5, 7), (4, 5, 3)),
    (nn.LazyConv2d(4, 3, groups=2), nn.Conv2d, (2, 6, 7, 7), (4, 3, 3, 3)),
    (nn.LazyConvTranspose1d(4, 3), nn.ConvTranspose1d, (2, 5, 7), (5, 4, 3)),
    (nn.LazyConvTranspose2d(4, 3, bias=False), nn.ConvTranspose2d, (2, 5, 7, 7), (5, 4, 3, 3)),
    (nn.LazyBatchNorm1d(), nn.BatchNorm1d, (4, 5), (5,)),
    (nn.LazyBatchNorm2d(affine=True, momentum=None), nn.BatchNorm2d, (4, 5, 3, 3), (5,)),
]


@pytest.mark.parametrize(
    ("layer", "becomes", "shape", "weight"), LAZY, ids=lambda value: getattr(value, "__name__", "")
)
def test_lazy_layers_learn_their_size(layer: Any, becomes: Any, shape: Any, weight: Any) -> None:
    names = list(layer.state_dict())
    x = np.random.default_rng(0).normal(size=shape)
    found = layer(x)
    assert type(layer) is becomes
    assert layer.weight.shape == weight
    assert list(layer.state_dict()) == names
    assert found.shape[0] == shape[0]
    assert np.any(layer.weight)
    np.testing.assert_array_equal(layer.eval()(x), layer(x))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "divisible by groups"),
        (lambda: nn.Conv2d(2, 4, 3, padding="full"), ValueError, "'same', 'valid'"),
        (lambda: nn.Conv2d(2, 4, 3, padding="same", stride=2), ValueError, "strided"),
        (lambda: nn.Conv2d(2, 4, 3)(np.ones((1, 3, 5, 5))), RuntimeError, "takes inputs with 2 channels"),
        (lambda: nn.Conv2d(2, 4, 7)(np.ones((1, 2, 5, 5))), RuntimeError, "does not fit into an input"),
        (lambda: nn.Conv1d(2, 4, 3)(np.ones((1, 2, 5, 5))), RuntimeError, "conv1d takes 3 axes"),
        (lambda: nn.ConvTranspose1d(2, 2, 3)(np.ones((1, 2, 5)), output_size=(9,)), ValueError, "range from"),
        (lambda: nn.MaxPool2d(2, padding=2)(np.ones((1, 2, 5, 5))), RuntimeError, "at most half"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "divisible"),
        (lambda: nn.BatchNorm1d(3)(np.ones((1, 3))), ValueError, "more than 1 value"),
        (lambda: nn.BatchNorm2d(3)(np.ones((1, 3))), ValueError, "expected 4D input"),
        (lambda: nn.MultiheadAttention(7, 2), ValueError, "divisible"),
        (lambda: nn.LSTM(2, 3)(np.ones((4, 1, 5))), RuntimeError, "5 features, and 2"),
        (lambda: nn.CrossEntropyLoss()(np.ones((2, 3)), np.array([0, 3])), IndexError, "out of bounds"),
        (lambda: nn.CrossEntropyLoss()(np.ones((2, 3)), np.array([0, -1])), IndexError, "out of bounds"),
        (lambda: nn.MSELoss(reduction="average"), ValueError, "average is not a valid value"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, "padding_idx"),
        (lambda: nn.GLU()(np.ones((2, 3))), ValueError, "odd size 3"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_activations_have_no_overflow_and_keep_nan() -> None:
    x = np.array([-1e4, -745.0, 0.0, 745.0, 1e4, np.nan])
    with np.errstate(all="raise", under="ignore"):
        for name in ("ReLU", "Sigmoid", "SiLU", "Mish", "Softplus", "LogSigmoid", "ELU", "SELU", "GELU", "Tanh"):
            found = getattr(nn, name)()(x)
            assert np.isnan(found[-1]), name
            assert np.all(np.isfinite(found[:-1])), name
