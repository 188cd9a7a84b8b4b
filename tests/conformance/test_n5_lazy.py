"""Rows N53, N54 and a part of N08: lazy modules."""

from __future__ import annotations

import pytest

from tests.nn.running import run, same

LAZY = """
x = np.arange(6.0).reshape(2, 3)
class LazyLine(nn.LazyModuleMixin, nn.Linear):
    cls_to_become = nn.Linear
    def __init__(self, out, rng=None):
        super().__init__(0, 0)
        self.out_features = out
        self.rng = rng
        self.weight, self.bias = nn.UninitializedParameter(), nn.UninitializedParameter()
    def initialize_parameters(self, input):
        self.in_features = input.shape[-1]
        assert isinstance(input, np.ndarray) and len(input) == input.shape[0]
        draw = np.random if self.rng is None else self.rng
        weight = self.materialize("weight", (self.out_features, self.in_features))
        weight[...] = draw.uniform(size=weight.shape)
        self.materialize("bias", (self.out_features,))[...] = draw.uniform(size=self.out_features)
m = LazyLine(3)
"""


def test_n53_a_lazy_layer_is_made_in_the_trace() -> None:
    text = LAZY + "def f(x): return m(input=x)\n"
    found = same(text, ["f(x)", "f(x)", "f(x)", "m.weight.shape, type(m) is nn.Linear"], [1, 1, 1])
    assert "initialize" not in str(vars(found.names["m"]))


def test_n53_the_lazy_layers_of_the_library() -> None:
    text = """
x = np.arange(10.0).reshape(5, 2)
m = nn.LazyLinear(3)
def f(x): return m(input=x)
"""
    same(text, ["f(x)", "f(x)", "f(x)", "m.weight.shape, type(m) is nn.Linear"], [1, 1, 1])
    image = """
x = np.arange(36.0).reshape(1, 1, 6, 6)
m = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))
def f(x): return m(x)
"""
    same(image, ["f(x)", "m.eval() is m", "f(x)", "f(x)", "[(n, p) for n, p in m.named_parameters()]"], breaks=0)


def test_n53_lazy_layers_in_a_row_see_what_comes_before() -> None:
    text = LAZY + "m = nn.Sequential(LazyLine(4), nn.ReLU(), LazyLine(2))\ndef f(x): return m(x * 2)\n"
    same(text, ["f(x)", "f(x)", "[p.shape for p in m.parameters()]"], [1, 1])


def test_n53_arguments_in_containers() -> None:
    text = """
import collections
x = np.arange(6.0).reshape(2, 3)
Pair = collections.namedtuple("Pair", "a b")
seen = []
class Lazy(nn.LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.UninitializedParameter()
    def initialize_parameters(self, parts, pair, table, *, kinds):
        seen.append((type(parts), type(pair), list(table), kinds))
        self.materialize("w", (parts[0].shape[1] + pair.b.shape[0] + table["z"].ndim,))[...] = 2
    def forward(self, parts, pair, table, *, kinds): return parts[0] + pair.b[0] + self.w.sum()
m = Lazy()
def f(x): return m([x + 1, (x,)], Pair(x, x * 2), {"z": x - 1}, kinds={1, 2}) * 2
"""
    same(text, ["f(x)", "f(x)", "seen", "m.w"], [1, 1])


def test_n53_draws_keep_their_order() -> None:
    text = LAZY + "def f(x):\n    noise = np.random.rand(3)\n    return m(x) + noise\n"
    same(text, ["f(x)", "f(x)", "m.weight"], breaks=None)


def test_n53_a_generator_of_its_own_goes_on() -> None:
    text = LAZY + "rng = np.random.default_rng(3)\nm = LazyLine(3, rng)\ndef f(x): return m(x)\n"
    same(text, ["f(x)", "rng.random()", "f(x)"], [1, 1])


def test_n53_initialisation_by_data_is_left_to_python() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class Centre(nn.LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.UninitializedParameter()
    def initialize_parameters(self, input):
        noise = np.random.rand()
        self.materialize("mean", input.shape[1:])[...] = np.asarray(input).mean(axis=0) + noise
    def forward(self, input): return input - self.mean
m = Centre()
def f(x): return m(x * 3)
"""
    assert same(text, ["f(x)", "m.mean", "f(x + 1)"], breaks=None).breaks


@pytest.mark.parametrize("before", ["x[0, 0] = 9", "log.append(1)", "np.linalg.inv(x[:, :2])", "print(1)"])
def test_n53_nothing_that_shows_is_overtaken(before: str) -> None:
    text = LAZY + f"log = []\ndef f(x):\n    {before}\n    return m(x)\n"
    same(text, ["f(x.copy())", "f(x.copy())", "m.weight, log"], breaks=None)


def test_n53_a_failing_initialisation_fails_as_in_python() -> None:
    text = LAZY + "def f(x):\n    return m(x)\n"
    same(text, ["f(3)", "f(np.ones(()))", "f(x)", "f(x)", "m.weight"], breaks=None)


def test_n54_a_lazy_module_that_is_only_mentioned_stays_lazy() -> None:
    text = LAZY + "def g(m): return m\ndef f(x):\n    kept = [m, g(m)]\n    return x + 1, kept[0] is kept[1]\n"
    same(text, ["f(x)", "f(x)", "m.has_uninitialized_params(), type(m) is LazyLine"], [1, 1])


def test_n54_its_class_can_be_asked_for() -> None:
    text = LAZY + "def f(x): return x + 1, type(m).__name__, isinstance(m, nn.LazyModuleMixin)\n"
    same(text, ["f(x)", "m.has_uninitialized_params()", "m(x)", "f(x)"], [1, 2])


def test_n54_trackers_from_before_are_brought_up_to_date() -> None:
    text = LAZY + "def f(x):\n    lst = [m]\n    y = m(x)\n    return y, lst[0].weight.shape, type(lst[0]).__name__\n"
    same(text, ["f(x)", "f(x)", "f(x)"], [1, 1, 1])


def test_n54_what_was_seen_before_the_call_stays_seen() -> None:
    text = LAZY + "def f(x):\n    before = type(m).__name__\n    y = m(x)\n    return y, before, type(m).__name__\n"
    same(text, ["f(x)", "f(x)", "f(x)"], breaks=None)


def test_n53_a_restart_of_the_analysis_makes_nothing_twice() -> None:
    text = (
        LAZY
        + "import datetime\ndef f(x):\n    y = m(x)\n    d = datetime.date(2000, 1, 1)\n    return y, d.isocalendar()\n"
    )
    same(text, ["f(x)", "f(x)", "m.weight"], breaks=None)


def test_n08_a_lazy_sequential_is_refused_by_name() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class LazyRow(nn.LazyModuleMixin, nn.Sequential):
    cls_to_become = nn.Sequential
    def initialize_parameters(self, input): self.append(nn.Identity())
m = LazyRow(nn.ReLU())
def f(x): return m(x) * 2
"""
    same(text, ["f(x)", "f(x)", "len(m)"], breaks=None)
    assert "LazyRow" in str(run(text, ["f(x)"], "eager").breaks)
