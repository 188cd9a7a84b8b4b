"""Rows B09 to B20: arrays and NumPy scalars."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tests.conformance.programs import explained, load, same_everywhere


def test_b09_each_property_of_an_array_counts_where_it_matters() -> None:
    text = "x = np.arange(12.0).reshape(3, 4)\ndef f(x): return x * 2 + x[0]"
    calls = [
        "f(x)",
        "f(x + 1)",
        "f(x.astype(np.float32))",
        "f(x.astype('>f8'))",
        "f(x[None])",
        "f(np.asfortranarray(x))",
        "f(x[:, ::2].copy())",
    ]
    found = same_everywhere(text, calls)
    assert found.compiles[:2] == [1, 1]
    assert sorted(set(found.compiles)) == found.compiles[1:], found.compiles
    tensors = ["f(x)", "f(jm.Tensor(x))", "f(jm.Tensor(x, requires_grad=True))", "f(jm.Tensor(x))", "f(x)"]
    asked = text + "\ndef ask(v): return type(v).__name__, np.asarray(jm.detach(v))"
    same_everywhere(asked, [f"ask({call})" for call in tensors], [1, 2, 3, 3, 3])


def test_b09_writeable_counts_only_if_the_trace_writes() -> None:
    read_only = "x = np.ones(3)\nr = np.ones(3)\nr.flags.writeable = False\n"
    same_everywhere(read_only + "def f(x): return x * 2", ["f(x)", "f(r)", "f(x)"], [1, 1, 1])
    same_everywhere(read_only + "def f(x):\n    x[0] = 5\n    return x", ["f(x)", "f(r)", "f(x)"])


def test_b12_a_numpy_scalar_is_a_strong_input_whose_value_never_compiles() -> None:
    text = "x = np.ones(3, np.float32)\ndef f(x, s): return x * s"
    calls = [f"f(x, np.float64({v}))" for v in (0.1, 2, 3, -4, 5)]
    found = same_everywhere(text, calls, [1] * 5)
    assert found.outcomes[0].dtype == np.float64
    found = same_everywhere(text, ["f(x, 0.1)", "f(x, np.float32(0.1))"], [1, 2])
    assert found.outcomes[0].dtype == np.float32


def test_b12_a_branch_on_a_numpy_scalar_follows_its_value() -> None:
    text = "x = np.ones(3)\ndef f(x, s):\n    if s > 1:\n        return x * 2\n    return x - s"
    same_everywhere(text, [f"f(x, np.float64({v}))" for v in (0, 3, 0.5, 2)])


def test_b13_subclasses_of_python_numbers_take_the_numpy_path() -> None:
    text = "x = np.ones(3, np.float32); a = np.arange(5.0)\ndef f(x, s): return x * s"
    calls = ["f(x, a.mean())", "f(x, a.sum())", "f(x, a.max())", "f(x, np.complex128(1j))", "f(x, np.complex128(2))"]
    same_everywhere(text, calls, [1, 1, 1, 2, 2])


def test_b14_numpy_bools_are_constants_and_timedeltas_are_no_ints() -> None:
    text = "x = np.ones(3)\ndef f(x, flag):\n    return x + 1 if flag else x - 1"
    same_everywhere(text, ["f(x, np.True_)", "f(x, np.False_)", "f(x, np.True_)"], [1, 2, 2])
    days = "d = np.array(['2024-01-30'], 'M8[D]')\ndef f(d, t): return d + t, t + t"
    same_everywhere(days, ["f(d, np.timedelta64(1, 'D'))", "f(d, np.timedelta64(36, 'h'))"])


SUBCLASS = """
log = []
class Logged(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        log.append(ufunc.__name__)
        plain = [np.asarray(i) for i in inputs]
        return getattr(ufunc, method)(*plain, **kwargs).view(Logged)
a = np.arange(3.0).view(Logged)
"""


def test_b15_the_dispatch_of_a_subclass_runs() -> None:
    text = SUBCLASS + "def f(x): return np.exp(x * 2)"
    same_everywhere(text, ["f(a)", "f(a)", "f(np.arange(3.0))", "f(np.arange(3.0).view(Logged))"])
    text = SUBCLASS + "def f(x):\n    y = x.view(Logged)\n    return y, isinstance(y, Logged)"
    same_everywhere(text, ["f(np.arange(3.0))", "f(a)"])


@pytest.mark.parametrize(
    "value",
    [
        "np.arange(4.0).reshape(2, 2).view(np.matrix)",
        "np.ma.masked_array([1.0, 2.0], [True, False])",
        "np.arange(3.0).view(np.recarray)",
        "np.arange(2.0).view(type('Mine', (np.ndarray,), {'__mul__': lambda s, o: 'mine'}))",
    ],
)
def test_b16_a_subclass_is_never_lowered_as_a_plain_array(value: str) -> None:
    text = f"m = {value}\ndef f(x): return x * x, x.sum(), [x]"
    same_everywhere(text, ["f(m)", "f(m)", "f(np.asarray(m))"])
    plain_array = text + "\nm = np.asarray(m)"
    assert explained(plain_array, "f(m)").break_count == 0
    assert explained(text, "f(m)").break_count >= 1


def test_b17_a_pair_of_arrays_in_a_class_is_traced_into() -> None:
    text = """
class Scaled:
    def __init__(self, values, scale):
        self.values = values
        self.scale = scale
    def doubled(self):
        return Scaled(self.values * 2, self.scale)
def f(s): return s.doubled()
"""
    calls = ["f(Scaled(np.ones(3), 2.0))", "f(Scaled(np.zeros(3), 2.0))"]
    same_everywhere(text, calls, [1, 1])


PAIRS = """
import dataclasses
class Scaled:
    def __init__(self, values, scale): self.values, self.scale = values, scale
    def __mul__(self, k): return Scaled(self.values * k, self.scale)
    def __add__(self, o): return Scaled(self.values * self.scale + o.values * o.scale, np.ones(1))
class Other(Scaled):
    def __mul__(self, k): return "no"
@dataclasses.dataclass
class P:
    values: np.ndarray
    scale: np.ndarray
a = np.ones(3)
def S(n, k): return Scaled(np.arange(float(n)), np.full(1, k))
class Ragged:
    def __init__(self, values, offsets): self.values, self.offsets = values, offsets
    def __len__(self): return len(self.offsets) - 1
    def __getitem__(self, i): return self.values[self.offsets[i]:self.offsets[i + 1]]
    def map(self, g): return Ragged(g(self.values), self.offsets)
def R(*n): return Ragged(np.arange(float(sum(n))), np.cumsum([0, *n]))
"""


@pytest.mark.parametrize(
    ("body", "calls", "compiles"),
    [
        ("(s): return s * 2", ["f(S(3, 1.0))", "f(S(3, 5.0))", "f(S(4, 1.0))", "f(S(9, 1.0))"], [1, 1, 2, 2]),
        ("(s, t): return s + t", ["f(S(3, 1.0), S(3, 2.0))", "f(S(3, 4.0), S(3, 5.0))"], [1, 1]),
        ("(s): return s * 2", ["f(S(3, 1.0))", "f(Other(a, a))", "f(S(3, 1.0))"], [1, 2, 2]),
        ("(s): s.values[0] = 9; return s, s.scale * 2", ["f(Scaled(a, a))", "a", "f(Scaled(a, a * 1))"], [1, 2]),
        ("(s): return dataclasses.replace(s, values=s.values * 2)", ["f(P(a, a))", "f(P(a * 2, a * 2))"], None),
        ("(r): return np.add.reduceat(r.values, r.offsets[:-1])", ["f(R(2, 3))", "f(R(4, 1))", "f(R(1, 1, 5))",
         "f(R(2, 2, 2, 2))", "f(R(9, 9))"], [1, 1, 2, 2, 2]),
        ("(r): return len(r), r[0] * 2, r.map(np.sin)", ["f(R(2, 3))", "f(R(4, 1))", "f(R(1, 1, 5))"], None),
        ("(r): return [r[i].sum() for i in range(len(r))]", ["f(R(2, 3))", "f(R(4, 1))", "f(R(1, 1, 5))"], None),
    ],
)  # fmt: skip
def test_b17_what_is_in_the_class_is_an_input_and_the_class_is_guarded(
    body: str, calls: list[str], compiles: list[int] | None
) -> None:
    same_everywhere(f"{PAIRS}def f{body}", calls, compiles)
    found = explained(f"{PAIRS}def f{body}", calls[0])
    assert (found.graph_count, found.break_count) == (1, 0)
    assert "TYPE_MATCH" in {g.kind for g in found.guards}


def test_b17_a_ragged_container_with_varying_lengths() -> None:
    text = """
class Ragged:
    def __init__(self, values, offsets):
        self.values, self.offsets = values, offsets
def f(r): return np.add.reduceat(r.values, r.offsets)
def ragged(n): return Ragged(np.arange(float(n)), np.array([0, 2]))
"""
    same_everywhere(text, ["f(ragged(5))", "f(ragged(6))", "f(ragged(7))"], [1, 2, 2])


@pytest.mark.parametrize(
    "value",
    [
        "np.array([1, 'a', None], object)",
        "np.array(['a', 'bc'])",
        "np.array([(1, 2.0)], [('p', 'i4'), ('q', 'f8')])",
        "np.array(['2024-01-01'], 'M8[D]')",
        "np.array([1, 2], 'm8[s]')",
    ],
)
def test_b19_dtypes_without_kernels_stay_with_numpy(value: str) -> None:
    text = f"a = {value}\ndef f(x, a):\n    y = x * 2\n    return y + 1, a[:1], a == a, a"
    same_everywhere(text, ["f(np.ones(2), a)", "f(np.ones(2), a)"])


@pytest.mark.parametrize("code", ["a == a", "a < 3", "a + a", "2 * a", "-a", "a.sum()", "np.add(a, a)", "a[0]"])
@pytest.mark.parametrize(
    ("value", "dtype"), [("np.array([1, 2.5], object)", "object"), ("np.zeros(2, [('p', 'i4')])", r"[('p', '<i4')]")]
)
def test_b19_a_break_at_such_an_array_names_its_dtype(code: str, value: str, dtype: str) -> None:
    text = f"a = {value}\nx = np.ones(2)\ndef f(x, a):\n    y = x * 2\n    return y + 1, {code}"
    same_everywhere(text, ["f(x, a)", "f(x, a)"])
    plain = load(text)
    with contextlib.suppress(TypeError):  # NumPy adds no records
        plain["f"](plain["x"], plain["a"])
        assert [b.reason for b in explained(text, "f(x, a)").breaks][:1] == [
            f"arrays of dtype {dtype} are left to NumPy"
        ]


def test_b19_a_sum_of_objects() -> None:
    same_everywhere("a = np.array([1, 2.5, 10**30], object)\ndef f(a): return a.sum() * 2", ["f(a)", "f(a)"])


@pytest.mark.parametrize(
    "value",
    [
        "x[::-1]",
        "x[::2]",
        "x.astype('>f8')",
        "np.broadcast_to(x[:1], (5,))",
        "np.frombuffer(b'\\0' + x.tobytes(), np.uint8)[1:].view(np.float64)",
        "np.broadcast_to(3.0, (2, 3))",
        "x.reshape(1, -1)[:, ::3].T",
        "np.lib.stride_tricks.sliding_window_view(x, 3)",
    ],
)
def test_b19_unusual_arrays_give_plain_results(value: str) -> None:
    text = "x = np.sin(np.arange(9.0))\ndef f(x): return x * 2 + 1, x.sum(), np.exp(x), x[..., :1], np.cumsum(x)"
    same_everywhere(text, [f"f({value})", f"f({value} * 1)", f"f({value})"])


def test_b20_scalars_and_zero_dimensional_arrays_as_in_numpy() -> None:
    text = """
x = np.arange(3.0); z = np.array(2.0)
def f(x, z):
    return x.sum(), -z, z.reshape(()), z + 1, x[0], x[0:1].reshape(()), z[()], z[...], np.asarray(x.sum()), z.T, +z
"""
    same_everywhere(text, ["f(x, z)", "f(x * 2, z * 3)", "f(x, z)"])
