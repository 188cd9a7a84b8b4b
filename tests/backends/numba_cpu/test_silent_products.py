"""Products in derivatives go through ``np.dot`` where it hands BLAS the same as ``np.matmul`` does."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import Graph
from jitmagic.ops import by_name
from jitmagic.ops.silenced import unheard
from tests.backends.building import Recorder, assert_agrees

RNG = np.random.default_rng(11)
SIZES = (2, 3, 8, 10, 16, 32, 64, 100, 128, 257)
SILENT = unheard(by_name("matmul"))


def random(shape: tuple[int, ...], order: str, dtype: str) -> Any:
    array = RNG.normal(size=shape).astype(dtype)
    array = array + array * 1j if dtype in "FD" else array
    return np.asarray(array.astype(dtype), order=order)  # type: ignore[call-overload]  # one of two orders


def function_of(graph: Graph) -> Any:
    """What the host program calls."""
    return inspect.unwrap(compile_graph(graph).run).__globals__["f0"]


def product(a: Any, b: Any) -> Graph:
    recorder = Recorder()
    return recorder.finish(recorder.call(SILENT, recorder.input(a), recorder.input(b)))


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_the_bits_are_those_of_matmul(orders: str, dtype: str) -> None:
    for _ in range(60):
        m, k, n = RNG.choice(SIZES, 3)
        a, b = random((m, k), orders[0], dtype), random((k, n), orders[1], dtype)
        given, wanted = np.dot(a, b), np.matmul(a, b)
        assert given.strides == wanted.strides
        assert given.tobytes() == wanted.tobytes()


def test_a_matrix_times_itself() -> None:
    """BLAS has a function of its own for these."""
    a = random((33, 20), "C", "f")
    assert np.dot(a, a.T).tobytes() == np.matmul(a, a.T).tobytes()
    assert np.dot(a.T, a).tobytes() == np.matmul(a.T, a).tobytes()


@pytest.mark.parametrize("orders", list(itertools.product("CF", repeat=2)))
def test_a_derivative_takes_the_short_way(orders: tuple[str, str]) -> None:
    a, b = random((8, 16), orders[0], "f"), random((16, 4), orders[1], "f")
    graph = product(a, b)
    assert function_of(graph) is np.dot
    assert_agrees(compile_graph(graph), graph, [a, b])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.ones((1, 5)), np.ones((5, 3))),
        (np.ones((4, 5)), np.ones(5)),
        (np.ones((2, 4, 5)), np.ones((5, 3))),
        (np.ones((4, 10))[:, ::2], np.ones((5, 3))),
        (np.ones((4, 5), np.float32), np.ones((5, 3))),
        (np.ones((4, 5), int), np.ones((5, 3), int)),
    ],
)
def test_all_others_stay_with_matmul(a: Any, b: Any) -> None:
    graph = product(a, b)
    assert function_of(graph) is not np.dot
    assert_agrees(compile_graph(graph), graph, [a, b])


def test_matmul_that_is_heard_stays() -> None:
    """It tells of an overflow, which np.dot does not."""
    recorder = Recorder()
    a = np.full((3, 3), 1e200)
    graph = recorder.finish(recorder.call("matmul", recorder.input(a), recorder.input(a)))
    assert function_of(graph) is not np.dot
