"""Elements are picked, and their derivatives added up, in a kernel, as NumPy does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import Graph
from jitmagic.ops.derivatives import SCATTER_ADD
from tests.backends.building import Recorder, assert_agrees

RNG = np.random.default_rng(7)


def scatter(shape: tuple[int, ...], values: Any, *index: Any) -> tuple[Graph, list[Any]]:
    recorder = Recorder()
    arrays = [np.zeros(shape, values.dtype), values, *index]
    like, added, *places = (recorder.input(a, f"x{k}") for k, a in enumerate(arrays))
    return recorder.finish(recorder.call(SCATTER_ADD, like, added, tuple(places))), arrays


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(9,), (6, 5), (1, 4), (3, 4, 2)])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_elements_are_added_in_order(shape: tuple[int, ...], count: int, dtype: Any) -> None:
    """With repeated and negative indices, over steps that are not 1."""
    values = RNG.normal(size=2 * count).astype(dtype)[::2]
    index = [RNG.integers(-n, n, 3 * count)[::3] for n in shape]
    graph, arrays = scatter(shape, values, *index)
    program = compile_graph(graph)
    assert "scatter" in program.source
    assert_agrees(program, graph, arrays)


@pytest.mark.parametrize("bad", [-6, 5, 1 << 60])
def test_an_index_out_of_bounds_is_left_to_numpy(bad: int) -> None:
    rows, columns = np.array([0, 1, 2]), np.array([0, 4, bad])
    graph, arrays = scatter((4, 5), np.ones(3), rows, np.array([0, 4, 4]))
    program = compile_graph(graph)
    with pytest.raises(Bail):
        program([*arrays[:3], columns])


@pytest.mark.parametrize("dtype", [np.int64, np.complex128, np.float16])
def test_other_dtypes_are_numpys(dtype: Any) -> None:
    graph, arrays = scatter((4, 5), np.ones(3, dtype), np.array([0, 1, 1]), np.array([0, 4, 4]))
    program = compile_graph(graph)
    assert "launch" not in program.source
    assert_agrees(program, graph, arrays)


def gather(x: Any, *index: Any) -> tuple[Graph, list[Any]]:
    recorder = Recorder()
    arrays = [x, *index]
    whole, *places = (recorder.input(a, f"x{k}") for k, a in enumerate(arrays))
    return recorder.finish(recorder.call("getitem", whole, tuple(places))), arrays


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
@pytest.mark.parametrize("order", ["C", "F", "cut"])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_elements_are_picked(order: str, count: int, dtype: Any) -> None:
    x: Any = (RNG.normal(size=(6, 10, 3)) * 9).astype(dtype)
    x = x[:, ::-2] if order == "cut" else np.asarray(x, order=order)  # type: ignore[call-overload]  # one of two orders
    graph, arrays = gather(x, *(RNG.integers(-n, n, count) for n in x.shape))
    program = compile_graph(graph)
    assert "gather" in program.source
    assert_agrees(program, graph, arrays)


@pytest.mark.parametrize("bad", [-6, 5])
def test_a_pick_out_of_bounds_is_left_to_numpy(bad: int) -> None:
    graph, arrays = gather(np.ones((4, 5)), np.array([0, 1]), np.array([0, 4]))
    program = compile_graph(graph)
    with pytest.raises(Bail):
        program([*arrays[:2], np.array([0, bad])])


@pytest.mark.parametrize(
    "index", [(np.array([1, 2]),), (np.array([[1], [2]]), np.array([[0], [1]])), (np.array([1]), np.array([0, 2]))]
)
def test_other_picks_are_numpys(index: tuple[Any, ...]) -> None:
    graph, arrays = gather(RNG.normal(size=(4, 5)), *index)
    program = compile_graph(graph)
    assert "launch" not in program.source
    assert_agrees(program, graph, arrays)


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_range_of_rows_is_made_once_unless_somebody_gets_it(is_shown: bool) -> None:
    recorder = Recorder()
    x, columns = recorder.input(RNG.normal(size=(4, 5))), recorder.input(np.array([1, 4, 0, 0]), "columns")
    rows = recorder.call("arange", 4)
    chosen = recorder.call("getitem", x, (rows, columns))
    graph = recorder.finish(*([chosen, rows] if is_shown else [chosen]))
    program = compile_graph(graph)
    arrays = [recorder.values[x], recorder.values[columns]]
    assert_agrees(program, graph, arrays)
    if is_shown:
        first, second = program(arrays)[1], program(arrays)[1]
        assert first is not second
        assert first.flags.writeable
    else:
        assert "range0" in program.source


def picked(x: Any, labels: Any) -> Any:
    return np.sum(x[np.arange(len(labels)), labels] ** 2)


def test_the_gradient_of_picked_elements() -> None:
    x, labels = RNG.normal(size=(30, 7)), RNG.integers(-7, 7, 30)
    wanted = np.zeros_like(x)
    np.add.at(wanted, (np.arange(30), labels), 2 * x[np.arange(30), labels])
    for _ in range(3):
        assert jm.grad(picked)(x, labels).tobytes() == wanted.tobytes()
