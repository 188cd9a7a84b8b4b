"""``np.concatenate`` of short rows, in one kernel: NumPy's bytes, whatever the sizes and strides of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.graph import Graph
from tests.backends.building import Recorder, assert_agrees


def joined(inputs: list[Any], parts: list[Any], axis: int = -1) -> tuple[Program, Graph]:
    """The subscripts ``parts`` of each input side by side."""
    recorder = Recorder()
    nodes = [recorder.input(x) for x in inputs]
    pieces = [node if part is None else recorder.call("getitem", node, part) for node in nodes for part in parts]
    graph = recorder.finish(recorder.call("concatenate", pieces, axis=axis))
    return compile_graph(graph), graph


@pytest.mark.parametrize("dtype", ["f4", "f8", "?", "i2", "u8"])
def test_windows_side_by_side(dtype: str) -> None:
    """The windows of an image: rows of 1 to 40 elements, with gaps between them."""
    rng = np.random.default_rng(0)
    for channels in (1, 2, 3, 7, 16, 17, 40):
        x = rng.integers(0, 100, (9, 12, 11, channels)).astype(dtype)
        parts = [np.s_[:, i : 10 + i, j : 9 + j] for i in range(3) for j in range(3)]
        program, graph = joined([x], parts)
        assert "launch" in program.source
        assert_agrees(program, graph, [x])


def test_parts_of_several_lengths() -> None:
    """Reversed outer axes, one column, a transposed outer order, and bits of NaN."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((70, 90)), rng.standard_normal((70, 5))
    x[3, :4] = np.frombuffer(np.array([0x7FF8000000000001, 0xFFF0000000000001, 1 << 63, 1], "u8"), "f8")
    for parts in ([np.s_[::-1, 3:60], np.s_[:, :5]], [np.s_[:, :1], np.s_[::-1, :], np.s_[:, 4:5]]):
        program, graph = joined([x], parts)
        assert "launch" in program.source
        assert_agrees(program, graph, [x])
    program, graph = joined([x, y], [None])
    assert "launch" in program.source
    assert_agrees(program, graph, [x, y])


def test_what_numpy_copies_as_fast_is_left_to_it() -> None:
    """Long rows, columns with gaps, few elements, another axis, another dtype."""
    x = np.arange(6400.0).reshape(80, 80)
    wide = np.arange(40_000.0).reshape(4, 10_000)
    for inputs, parts, axis in (
        ([wide], [np.s_[:, 1:], np.s_[:, :-1]], -1),
        ([x], [np.s_[:, ::2], np.s_[:, 1::2]], -1),
        ([x[:4, :4].copy()], [None, None], -1),
        ([x], [np.s_[1:], np.s_[:-1]], 0),
        ([x, x.astype("f4")], [None], -1),
    ):
        program, graph = joined(inputs, parts, axis)
        assert "launch" not in program.source
        assert_agrees(program, graph, inputs)


def test_other_sizes_than_the_text_was_made_for() -> None:
    """Nothing is written past the end of the result."""
    x = np.arange(6400.0).reshape(80, 80)
    program, _ = joined([x], [np.s_[:, 1:], np.s_[:, :-1]])
    with pytest.raises((Bail, ValueError)):
        program([np.arange(6480.0).reshape(80, 81)])
