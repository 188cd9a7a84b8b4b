"""``reset_parameters``, buffers that are numbers, states of a wrong dtype, and other habits from PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic import nn
from tests.nn.layer_cases import CASES, Case
from tests.nn.running import same

LAYERS = {
    case.layer: case for case in CASES if case.takes_dtype and hasattr(getattr(nn, case.layer), "reset_parameters")
}


@pytest.mark.parametrize("case", LAYERS.values(), ids=lambda case: case.layer)
@pytest.mark.parametrize("recorded", [False, True])
def test_resetting_gives_the_values_of_a_new_layer_in_the_same_arrays(case: Case, recorded: bool) -> None:
    cls = getattr(nn, case.layer)
    np.random.seed(1)
    layer = cls(*case.args, **case.kwargs)
    before = layer.state_dict()
    for array in before.values():
        array[...] = 7
    if recorded:
        layer.requires_grad_()
    np.random.seed(2)
    layer.reset_parameters()
    np.random.seed(2)
    fresh = cls(*case.args, **case.kwargs).state_dict()
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(array, fresh[name], err_msg=name)
        assert np.shares_memory(array, before[name])


def test_drawing_layers_take_a_generator() -> None:
    for make in (lambda rng: nn.Linear(3, 4, rng=rng), lambda rng: nn.Conv2d(2, 4, 3, groups=2, rng=rng),
                 lambda rng: nn.LSTM(3, 4, bidirectional=True, rng=rng), lambda rng: nn.Embedding(5, 3, 1, rng=rng),
                 lambda rng: nn.GRUCell(3, 4, rng=rng), lambda rng: nn.Bilinear(2, 3, 4, rng=rng)):  # fmt: skip
        first, second = make(np.random.default_rng(3)), make(np.random.default_rng(4))
        second.reset_parameters(np.random.default_rng(3))
        for a, b in zip(first.parameters(), second.parameters(), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_subclass_says_how_its_parameters_start() -> None:
    class Ones(nn.Linear):
        def reset_parameters(self) -> None:
            self.weight[...] = 1
            self.bias[...] = 2

    class LazyOnes(nn.LazyLinear):
        cls_to_become = Ones

        def reset_parameters(self) -> None:
            if self.in_features:
                Ones.reset_parameters(self)  # type: ignore[arg-type]  # it becomes one

    lazy = LazyOnes(2)
    for layer in (Ones(3, 2), lazy):
        np.testing.assert_array_equal(layer(np.ones((1, 3))), [[5, 5]])
    assert type(lazy) is Ones


def test_a_lazy_layer_that_has_no_arrays_yet_is_left_alone() -> None:
    net = nn.Sequential(nn.LazyLinear(2), nn.LazyConv1d(2, 3), nn.Linear(2, 2))
    net.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
    assert net[0].has_uninitialized_params()


def test_recurrent_layers_list_their_weights() -> None:
    layer = nn.GRU(3, 4, num_layers=2, bidirectional=True)
    layer.flatten_parameters()
    listed = [p for group in layer.all_weights for p in group]
    assert [len(group) for group in layer.all_weights] == [4] * 4
    assert all(a is b for a, b in zip(listed, layer.parameters(), strict=True))


def test_a_number_that_numpy_computes_from_a_buffer_is_a_buffer_again() -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", np.zeros(()))
        self.register_buffer("last", None, persistent=False)
        self.register_buffer("scale", np.float32(2))
    def forward(self, x):
        self.seen = self.seen + len(x)
        self.last = x.mean()
        self.scale *= 2
        return x * self.seen * self.scale + self.last
m = Net(); x = np.arange(3.0)
def f(x): return m(x)
"""
    kinds = "[(type(b).__name__, b.shape, b.dtype) for b in m.buffers()]"
    same(text, ["f(x)", "f(x)", "f(x)", "m", kinds, "list(m.state_dict())"])


def test_every_module_or_each_once() -> None:
    text = """
r = nn.ReLU(); m = nn.Sequential(r, nn.Linear(3, 3), r)
def f(x):
    y = m(x)
    return y, [type(c).__name__ for c in m.modules()], [type(c).__name__ for c in m.modules(remove_duplicate=False)]
x = np.arange(3.0)
"""
    same(text, ["f(x)", "f(x)"], [1, 1])


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 3, 4, 5)])
def test_softmax_without_an_axis_takes_that_of_the_classes(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    axis = 0 if x.ndim in (1, 3) else 1
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        np.testing.assert_array_equal(getattr(nn, name)()(x), getattr(nn, name)(axis)(x))


@pytest.mark.parametrize("value", [np.array(["a", "b"]), np.array([None, None]), np.array([1j, 2]), "ab"])
def test_a_state_of_another_kind_changes_nothing(value: Any) -> None:
    net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 2))
    before = {name: array.copy() for name, array in net.state_dict().items()}
    given = {name: np.zeros_like(array) for name, array in before.items()} | {"1.bias": value}
    with pytest.raises(RuntimeError, match=r"1\.bias"):
        net.load_state_dict(given)
    for name, array in net.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(RuntimeError, match="start_dim"):
        nn.Flatten(2, 1)(np.ones((2, 3, 4)))
    with pytest.raises(RuntimeError, match="negative"):
        nn.Softshrink(-1.0)(np.ones(2))


def test_inplace_is_taken_and_shown() -> None:
    for layer in (nn.ReLU(True), nn.Dropout(0.0, True), nn.ELU(inplace=True), nn.SiLU(inplace=True)):
        x = np.linspace(-1, 1, 5)
        layer(x)
        np.testing.assert_array_equal(x, np.linspace(-1, 1, 5))
        assert "inplace=True" in repr(layer)


def test_normalisation_without_a_shift() -> None:
    instance = nn.InstanceNorm1d(4, affine=True, bias=False)
    for layer in (nn.BatchNorm1d(4, bias=False), nn.GroupNorm(2, 4, bias=False), nn.LayerNorm(4, bias=False), instance):
        assert [name for name, _ in layer.named_parameters()] == ["weight"]
