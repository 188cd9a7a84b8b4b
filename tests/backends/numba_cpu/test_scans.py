"""What accumulates along an axis has NumPy's bits, wherever the axis lies in memory."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.config import configure
from jitmagic.ops import by_name
from jitmagic.ops.extern import extern
from jitmagic.ops.record import Op
from tests.backends.building import Recorder, assert_agrees

KINDS = {
    "cumsum": by_name("cumsum"),
    "cumprod": by_name("cumprod"),
    "max": extern(np.maximum.accumulate),
    "min": extern(np.minimum.accumulate),
}
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0]


def data(kind: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(len(kind) + len(shape))
    values = rng.normal(size=shape) * (3 if np.dtype(dtype).kind != "f" else 1)
    return values.astype(dtype)


def compiled(op: Op, x: np.ndarray, axis: int, view: object = np.s_[:]):
    recorder = Recorder()
    source = recorder.call("getitem", recorder.input(x), view)
    graph = recorder.finish(recorder.call(op, source, axis=axis))
    return compile_graph(graph), graph, recorder.inputs


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_axis(kind: str, dtype: str, order: str, threads: int) -> None:
    x = np.asarray(data(kind, dtype, (130, 7, 300)), order=order)
    with configure(threads=threads):
        for axis in (0, 1, 2, -1):
            program, graph, inputs = compiled(KINDS[kind], x, axis)
            assert program.extern_count == (axis == 1)
            assert_agrees(program, graph, inputs)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [2, 128, 129, 130, 1000])
def test_extremes_of_rising_falling_and_noisy_numbers(kind: str, dtype: str, size: int) -> None:
    noise = data(kind, dtype, (size,))
    for values in (
        noise,
        np.sort(noise),
        np.sort(noise)[::-1].copy(),
        np.full(size, -2.0, dtype),
        np.zeros(size, dtype),
    ):
        program, graph, inputs = compiled(KINDS[kind], values, 0)
        assert program.extern_count == 0
        assert_agrees(program, graph, inputs)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_among_special_values(kind: str, dtype: str) -> None:
    """Of zeros the later one stays, whatever its sign; NaN stays, of either sign."""
    rng = np.random.default_rng(8)
    for _ in range(40):
        x = rng.choice([*SPECIAL, *([0.0, -0.0] * rng.integers(0, 20))], size=(400,)).astype(dtype)
        x[rng.random(400) < 0.5] = rng.choice([-3.0, 0.0, -0.0, 5.0])
        x = np.where(np.isnan(x), np.copysign(x, rng.choice([-1, 1], 400)), x).astype(dtype)
        if rng.random() < 0.7:
            x[np.isnan(x)] = -1.0
        program, graph, inputs = compiled(KINDS[kind], x, 0)
        assert_agrees(program, graph, inputs)
        program, graph, inputs = compiled(KINDS[kind], x.reshape(20, 20), 0)
        assert_agrees(program, graph, inputs)


@pytest.mark.parametrize("kind", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_whole_numbers_wrap_around(kind: str, dtype: str, axis: int) -> None:
    x = data(kind, dtype, (60, 80)) + np.array(7, dtype)
    program, graph, inputs = compiled(KINDS[kind], x, axis)
    assert program.extern_count == 0
    assert_agrees(program, graph, inputs)


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[:, ::2], np.s_[5:, 3:], np.s_[:, ::-1]])
def test_views(view: object) -> None:
    for kind, op in KINDS.items():
        program, graph, inputs = compiled(op, data(kind, "float64", (40, 50)), 1, view)
        assert_agrees(program, graph, inputs)


def test_sums_that_overflow_are_reported() -> None:
    program, _, inputs = compiled(KINDS["cumsum"], np.full((3, 4), 1e308), 0)
    with np.errstate(all="raise"), pytest.raises(Bail):
        program(inputs)


def test_an_operand_that_dies_is_written_over() -> None:
    recorder = Recorder()
    x = recorder.call("multiply", recorder.call("add", recorder.input(data("max", "float64", (300,))), 1.0), 2.0)
    graph = recorder.finish(recorder.call(KINDS["max"], x))
    program = compile_graph(graph)
    assert program.source.count("empty(") == 1
    assert_agrees(program, graph, recorder.inputs)
