"""Random draws in compiled functions: NumPy's numbers, each drawn once and in order, whatever happens after."""

from __future__ import annotations

import copy
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops.draws import draw


def twins(seed: int = 3) -> tuple[np.random.Generator, np.random.Generator]:
    return np.random.default_rng(seed), np.random.default_rng(seed)


def same(a: Any, b: Any) -> bool:
    return bool(a.bit_generator.state == b.bit_generator.state)


def monte_carlo(rng: Any, spot: float, n: int) -> Any:
    z = rng.standard_normal(n)
    paths = spot * np.exp(0.01 + 0.2 * z)
    return np.maximum(paths - 100.0, 0.0).mean(), rng.integers(0, 9, (n, 2)).sum(axis=0)


def test_the_stream_goes_on_as_in_numpy_with_kernels_around_the_draws() -> None:
    compiled = jm.compile(monte_carlo)
    for n in (1000, 2000, 3000, 5):
        one, two = twins(n)
        a, b = monte_carlo(one, 100.0, n), compiled(two, 100.0, n)
        assert a[0] == b[0]
        assert np.array_equal(a[1], b[1])
        assert same(one, two)
    assert not compiled.jit.record.breaks
    assert compiled.jit.compiles == 2  # another generator needs no other code
    assert any(entry.lowered.kernels for entry in compiled.jit.frame.entries)


def test_a_generator_made_inside_can_leave() -> None:
    def function(seed: int, n: int) -> Any:
        rng = np.random.default_rng(seed)
        return rng.uniform(-1, 1, (n, 2)).sum(axis=1), rng

    compiled = jm.compile(function)
    for seed in (1, 2, 3):
        (a, one), (b, two) = function(seed, 50), compiled(seed, 50)
        assert np.array_equal(a, b)
        assert same(one, two)
    assert not compiled.jit.record.breaks


def warns_later(x: Any, rng: Any) -> Any:
    first = rng.random(3)
    return np.log(x * 0) + first, rng.normal(size=2)


@pytest.mark.parametrize("backend", ["numba", "aot_eager", "eager"])
def test_a_call_that_warns_after_a_draw_draws_the_same_numbers(backend: str) -> None:
    """The compiled run stops, the generator is put back, and the plain run warns at the user's line."""
    compiled = jm.compile(warns_later, backend=backend)
    one, two = twins()
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide"):
            a = warns_later(np.ones(3), one)
        with pytest.warns(RuntimeWarning, match="divide"):
            b = compiled(np.ones(3), two)
        assert all(map(np.array_equal, a, b))
        assert same(one, two)


def test_parameters_that_the_distribution_refuses_raise_in_their_place() -> None:
    def function(rng: Any, scale: Any, log: list[int]) -> Any:
        log.append(1)
        rng.random(2)
        return rng.normal(0, scale)

    compiled = jm.compile(function)
    one, two = twins()
    logs: tuple[list[int], list[int]] = ([], [])
    compiled(two, np.array([1.0]), logs[1])
    function(one, np.array([1.0]), logs[0])
    for run, rng, log in ((function, one, logs[0]), (compiled, two, logs[1])):
        with pytest.raises(ValueError, match="scale < 0"):
            run(rng, np.array([-1.0]), log)
    assert same(one, two)
    assert logs[0] == logs[1]


def test_the_global_stream_and_its_seed() -> None:
    def function(n: int) -> Any:
        np.random.seed(5)
        return np.random.rand(n), np.random.randint(0, 9, n), np.random.choice(n, 2)

    compiled = jm.compile(function)
    for n in (4, 5, 6):
        a, b = function(n), compiled(n)
        assert all(map(np.array_equal, a, b))
        after = [np.random.random() for _ in range(2)]
        compiled(n)
        assert after == [np.random.random() for _ in range(2)]
    assert not compiled.jit.record.breaks


def test_one_generator_under_two_names() -> None:
    def function(a: Any, b: Any) -> Any:
        return a.random(2), b.random(2), a.random()

    compiled = jm.compile(function)
    one, two = twins()
    assert all(map(np.array_equal, function(one, one), compiled(two, two)))
    others = copy.deepcopy(one), copy.deepcopy(two)
    assert all(map(np.array_equal, function(one, others[0]), compiled(two, others[1])))
    assert same(one, two)


def test_shuffle_writes_into_its_operand() -> None:
    def function(rng: Any, x: Any) -> Any:
        rng.shuffle(x)
        return x * 2, rng.permutation(x), rng.permutation(4)

    compiled = jm.compile(function)
    one, two = twins()
    x, y = np.arange(6.0), np.arange(6.0)
    for _ in range(2):
        assert all(map(np.array_equal, function(one, x), compiled(two, y)))
        assert np.array_equal(x, y)


def test_shuffle_of_a_list_changes_the_list() -> None:
    """A graph holds arrays; what is done to Python's containers is done by Python."""

    def function(rng: Any, items: list[int]) -> Any:
        rng.shuffle(items)
        np.random.shuffle(items)
        return items, rng.permutation(items), rng.choice([1.5, 2.5], 2)

    compiled = jm.compile(function)
    one, two = twins()
    for _ in range(2):
        a, b = [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]
        np.random.seed(1)
        expected = function(one, a)
        np.random.seed(1)
        found = compiled(two, b)
        assert found[0] is b
        assert a == b
        assert all(map(np.array_equal, found, expected))


def test_asking_for_many_numbers_draws_none_while_compiling() -> None:
    generator = PyMeta(np.random.Generator)
    tracemalloc.start()
    try:
        found = draw(np.random.Generator, "normal").infer((generator, 0.0, 1.0, (10**6, 10**6)), {}, ShapeEnv())
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
    assert found.meta == ArrayMeta.dense(np.dtype("f8"), (10**6, 10**6))


def test_extra_axes_of_a_distribution_come_after_the_size() -> None:
    generator = PyMeta(np.random.Generator)
    found = draw(np.random.Generator, "dirichlet").infer((generator, (1.0, 2.0, 3.0)), {"size": (5, 4)}, ShapeEnv())
    assert isinstance(found.meta, ArrayMeta)
    assert found.meta.shape == (5, 4, 3)


def test_what_numpy_refuses_is_refused_while_compiling() -> None:
    generator = PyMeta(np.random.Generator)
    with pytest.raises(ValueError, match="scale"):
        draw(np.random.Generator, "normal").infer((generator, 0.0, -1.0, 5), {}, ShapeEnv())


def test_what_draws_nothing_has_no_row() -> None:
    for name in ("bit_generator", "spawn", "__reduce__", "nothing"):
        with pytest.raises(Unsupported, match="random"):
            draw(np.random.Generator, name)


def test_a_random_size_is_a_graph_break_and_right() -> None:
    def function(rng: Any) -> Any:
        return rng.random(rng.integers(1, 5)).sum()

    compiled = jm.compile(function)
    one, two = twins()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [function(one) for _ in range(4)] == [compiled(two) for _ in range(4)]
