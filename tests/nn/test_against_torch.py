"""Every layer against PyTorch's of the same name: state-dict keys, results, gradients, running values.

Tolerances are relative to the largest element: 1e-5 in float32, 1e-10 in float64. Reported as skipped without PyTorch;
the references in plain NumPy always run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from tests.nn.layer_cases import CASES, Case, made

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, of its own slow paths
TOLERANCES = {np.float32: 1e-5, np.float64: 1e-10}
IN_SINGLE = ("Hardsigmoid", "CELU")  # PyTorch's derivatives of these have constants in single precision


def converted(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(converted, value))
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray | np.generic) else value


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def agree(found: Any, wanted: Any, dtype: Any, what: str, tolerance: float = 0.0) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, what
    if wanted.dtype.kind == "f":
        assert found.dtype == wanted.dtype, what
        scale = max(float(np.max(np.abs(wanted), initial=0)), 1.0)
        np.testing.assert_allclose(
            found / scale, wanted / scale, rtol=0, atol=tolerance or TOLERANCES[dtype], err_msg=what
        )
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=what)


def torch_layer(case: Case, ours: Any, dtype: Any) -> Any:
    """PyTorch's layer with the state of ours, loaded from NumPy arrays."""
    kwargs = {k: converted(v.astype(dtype) if isinstance(v, np.ndarray) else v) for k, v in case.kwargs.items()}
    args = [converted(a.astype(dtype) if isinstance(a, np.ndarray) else a) for a in case.args]
    if case.takes_dtype:
        kwargs["dtype"] = {np.float32: torch.float32, np.float64: torch.float64}[dtype]
    theirs = getattr(torch.nn, case.layer)(*args, **kwargs)
    state = ours.state_dict()
    assert list(state) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    theirs.load_state_dict({name: converted(array) for name, array in state.items()})
    return theirs


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f4", "f8"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_results_gradients_and_state_are_those_of_pytorch(case: Case, dtype: Any) -> None:
    ours = made(case, dtype)
    theirs = torch_layer(case, ours, dtype)
    arrays, named = case.inputs(dtype)
    ours.requires_grad_()
    inputs = [jm.Tensor(a, requires_grad=True) for a in arrays]
    t_inputs = [converted(a).requires_grad_() for a in arrays]
    results = leaves(ours(*inputs, **named))
    t_results = leaves(theirs(*t_inputs, **{k: converted(v) for k, v in named.items()}))
    assert len(results) == len(t_results)
    rng = np.random.default_rng(13)
    weights = [rng.normal(size=np.shape(r)).astype(dtype) for r in results]
    for i, (found, wanted) in enumerate(zip(results, t_results, strict=True)):
        agree(found.detach().numpy(), wanted.detach().numpy(), dtype, f"result {i}")
    sum(np.sum(r * w) for r, w in zip(results, weights, strict=True)).backward()
    sum((r * torch.from_numpy(np.asarray(w))).sum() for r, w in zip(t_results, weights, strict=True)).backward()
    for i, (mine, wanted) in enumerate(zip(inputs, t_inputs, strict=True)):
        rough = np.float32 if case.layer in IN_SINGLE else dtype
        agree(mine.grad.numpy(), wanted.grad.numpy(), dtype, f"gradient of input {i}", TOLERANCES[rough])
    for (name, mine), wanted in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        if wanted.grad is None:
            assert mine.grad is None or not np.any(mine.grad.numpy()), name
        else:
            agree(mine.grad.numpy(), wanted.grad.numpy(), dtype, f"gradient of {name}")
    for (name, mine), wanted in zip(ours.named_buffers(), theirs.buffers(), strict=True):
        agree(mine, wanted.numpy(), dtype, name)


@pytest.mark.parametrize("case", [c for c in CASES if "Norm" in c.layer], ids=lambda case: case.name)
def test_evaluation_is_that_of_pytorch(case: Case) -> None:
    ours = made(case)
    arrays, _ = case.inputs()
    ours(*arrays)
    theirs = torch_layer(case, ours, np.float64).eval()
    agree(ours.eval()(*arrays), theirs(*map(converted, arrays)).detach().numpy(), np.float64, "result")


@pytest.mark.parametrize("case", [c for c in CASES if c.takes_dtype], ids=lambda case: case.name)
def test_a_state_of_pytorch_can_be_loaded(case: Case) -> None:
    ours = made(case)
    theirs = torch_layer(case, ours, np.float64)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)
    assert ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()}) == ([], [])
    for name, array in ours.state_dict().items():
        np.testing.assert_array_equal(array, theirs.state_dict()[name].numpy())


@pytest.mark.parametrize("case", [c for c in CASES if c.takes_dtype], ids=lambda case: case.name)
def test_starting_values_have_the_distribution_of_pytorch(case: Case) -> None:
    """Bounds and spread of 40 layers each: uniform values within 25 %, constants exactly."""
    mine: dict[str, list[Any]] = {}
    theirs: dict[str, list[Any]] = {}
    for _ in range(40):
        kwargs = dict(case.kwargs)
        for name, p in getattr(nn, case.layer)(*case.args, **kwargs).named_parameters():
            mine.setdefault(name, []).append(p.reshape(-1))
        for name, p in getattr(torch.nn, case.layer)(*case.args, **kwargs).named_parameters():
            theirs.setdefault(name, []).append(p.detach().numpy().reshape(-1))
    for name in theirs:
        a, b = np.concatenate(mine[name]), np.concatenate(theirs[name])
        if np.ptp(b) == 0:
            np.testing.assert_array_equal(a, np.full_like(a, b[0]), err_msg=name)
        else:
            assert 0.75 < a.std() / b.std() < 1.33, (name, a.std(), b.std())
            assert abs(a.mean()) < 5 * b.std() / np.sqrt(len(b)) + 1e-12, name


def test_an_embedding_is_that_of_pytorch() -> None:
    index = np.array([[1, 3, 0], [3, 3, 2]])
    for settings in ({}, {"padding_idx": 3}, {"max_norm": 0.5}, {"padding_idx": -1, "max_norm": 0.7, "norm_type": 1.0}):
        ours = nn.Embedding(5, 4, **settings)
        theirs = torch.nn.Embedding(5, 4, dtype=torch.float64, **settings)
        theirs.load_state_dict({k: converted(v) for k, v in ours.state_dict().items()})
        ours.requires_grad_()
        found, wanted = ours(index), theirs(converted(index))
        agree(found.detach().numpy(), wanted.detach().numpy(), np.float64, "result")
        (found * found).sum().backward()
        (wanted * wanted).sum().backward()
        agree(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), np.float64, "gradient")
        agree(ours.weight.numpy(), theirs.weight.detach().numpy(), np.float64, "weight")


def test_indices_of_max_pooling_are_those_of_pytorch() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 8))
    for settings in ({}, {"stride": 1, "padding": 1}, {"stride": 2, "dilation": 2, "ceil_mode": True}):
        found = nn.functional.max_pool2d(x, 3, return_indices=True, **settings)
        wanted = torch.nn.functional.max_pool2d(converted(x), 3, return_indices=True, **settings)
        for a, b in zip(found, wanted, strict=True):
            agree(a, b.numpy(), np.float64, str(settings))


def test_an_encoder_is_that_of_pytorch() -> None:
    ours = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True), 2, nn.LayerNorm(8))
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True, dtype=torch.float64)
    theirs = torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8, dtype=torch.float64))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict({k: converted(v) for k, v in ours.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(2, 5, 8))
    padding = np.array([[False] * 5, [False, False, False, True, True]])
    agree(
        ours(x, src_key_padding_mask=padding)[:, :3],
        theirs(converted(x), src_key_padding_mask=converted(padding)).detach().numpy()[:, :3],
        np.float64,
        "result",
    )


def test_functions_without_a_layer_are_those_of_pytorch() -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.normal(size=(2, 3, 5, 4)) for _ in range(3))
    ours, theirs = nn.functional, torch.nn.functional
    for settings in ({}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": rng.random((5, 5)) < 0.7}):
        found = ours.scaled_dot_product_attention(q, k, v, **settings)
        named = {name: converted(value) for name, value in settings.items()}
        wanted = theirs.scaled_dot_product_attention(*map(converted, (q, k, v)), **named)
        agree(found, wanted.numpy(), np.float64, str(settings))
    agree(ours.normalize(q, dim=-1), theirs.normalize(converted(q), dim=-1).numpy(), np.float64, "normalize")
    agree(
        ours.cosine_similarity(q, k, -1),
        theirs.cosine_similarity(converted(q), converted(k), -1).numpy(),
        np.float64,
        "cosine_similarity",
    )
    agree(ours.one_hot(np.array([2, 0, 1])), theirs.one_hot(torch.tensor([2, 0, 1])).numpy(), np.float64, "one_hot")


OTHER_CLASSES = ("MultiheadAttention", "TransformerEncoderLayer")  # their linear layers have another class there


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_layers_look_like_those_of_pytorch(case: Case) -> None:
    if case.layer in OTHER_CLASSES or case.layer.startswith("AvgPool1d"):
        assert repr(getattr(nn, case.layer)(*case.args, **case.kwargs)).startswith(case.layer)
        return
    arguments = [converted(a) for a in case.args]
    named = {name: converted(value) for name, value in case.kwargs.items()}
    theirs = getattr(torch.nn, case.layer)(*arguments, **named)
    assert repr(getattr(nn, case.layer)(*case.args, **case.kwargs)) == repr(theirs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_new_layer_starts_in_the_range_of_pytorchs(case: Case) -> None:
    if not case.takes_dtype:
        return
    np.random.seed(0)
    ours = getattr(nn, case.layer)(*case.args, **case.kwargs).state_dict()
    theirs = getattr(torch.nn, case.layer)(*map(converted, case.args), **case.kwargs).state_dict()
    for name, array in ours.items():
        wanted = theirs[name].numpy()
        assert (np.std(array) == 0) == (np.std(wanted) == 0), name
        if np.std(wanted) == 0:
            np.testing.assert_array_equal(array, wanted)
        elif array.size > 20:
            assert 0.6 < np.std(array) / np.std(wanted) < 1.7, name
