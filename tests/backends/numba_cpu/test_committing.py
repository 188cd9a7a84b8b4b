"""Writes to inputs happen when nothing can go wrong any more: in place, in one launch, or one by one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.graph import Graph, Node, interpret
from jitmagic.ops import by_name
from jitmagic.ops.functional import COPY_INTO, ViewStep
from tests.backends.building import Recorder

GETITEM = by_name("getitem")
RNG = np.random.default_rng(3)


class Writing(Recorder):
    """Records graphs that end in copies into inputs."""

    def write(self, target: Node, value: Any, *indices: Any) -> None:
        path = tuple(ViewStep(GETITEM, (index,)) for index in indices)
        self.graph.call(COPY_INTO, (target, value, path) if path else (target, value), {}, None)

    def finish(self, *outputs: Node) -> Graph:
        self.graph.outputs = list(outputs)
        return self.graph


def assert_writes(graph: Graph, arrays: Callable[[], list[Any]]) -> Program:
    """The program changes its arguments as the graph says, time and again, and gives its outputs."""
    program = compile_graph(graph)
    ours, theirs = arrays(), arrays()
    for _ in range(3):
        given, wanted = program(ours), interpret(graph, theirs)
        for a, b in zip([*given, *ours], [*wanted, *theirs], strict=True):
            assert a.dtype == b.dtype
            assert a.strides == b.strides
            assert a.tobytes() == b.tobytes()
        for result in given:
            assert not any(np.may_share_memory(result, array) for array in ours if isinstance(array, np.ndarray))
    return program


def scaled(recorder: Writing, x: Node, by: Any) -> Node:
    return recorder.call("multiply", recorder.call("add", x, 1.0), by)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (1, 1), (0, 4), ()])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_kernel_writes_where_it_reads(shape: tuple[int, ...], order: Any, dtype: Any) -> None:
    start = np.asarray(RNG.random(shape) * 9, dtype, order=order)
    recorder = Writing()
    x = recorder.input(start)
    number = dtype(3)
    value = recorder.call("multiply", recorder.call("add", x, number), number)
    if value.meta.scalar:
        value = recorder.call("asarray", value)
    recorder.write(x, value)
    assert_writes(recorder.finish(), lambda: [start.copy("K")])


def test_no_array_is_made_for_what_is_written_in_place() -> None:
    start = RNG.random((20, 30))
    recorder = Writing()
    x, y = recorder.input(start), recorder.input(start, "y")
    recorder.write(x, scaled(recorder, x, y))
    program = assert_writes(recorder.finish(), lambda: [start.copy(), start + 1])
    assert "empty" not in program.source
    assert "scratch.saved" in program.source


def test_integers_cannot_stop_and_keep_nothing() -> None:
    start = np.arange(50)
    recorder = Writing()
    x = recorder.input(start)
    recorder.write(x, recorder.call("multiply", recorder.call("add", x, 1), 3))
    program = assert_writes(recorder.finish(), lambda: [start.copy()])
    assert "saved" not in program.source


@pytest.mark.parametrize("way", ["crosswise", "old value", "view of the old value", "new value", "twice", "later"])
def test_what_others_read_is_there_for_them(way: str) -> None:
    start = RNG.random((6, 6))
    recorder = Writing()
    x, y = recorder.input(start), recorder.input(start, "y")
    new = scaled(recorder, x, y)
    outputs = []
    if way == "crosswise":
        recorder.write(x, new)
        recorder.write(y, scaled(recorder, y, x))
    elif way == "old value":
        recorder.write(x, new)
        recorder.write(y, recorder.call("copy", x))
    elif way == "view of the old value":
        turned = recorder.call("T", x)
        outputs.append(recorder.call("cumsum", turned))
        recorder.write(x, new)
        recorder.write(y, recorder.call("exp", turned))
    elif way == "new value":
        outputs.append(recorder.call("cumsum", new))
        recorder.write(x, new)
    elif way == "twice":
        recorder.write(x, new)
        recorder.write(y, new)
    else:
        recorder.write(x, new)
        outputs.append(new)
    graph = recorder.finish(*outputs)
    copies = [n for n in graph.nodes if n.op is COPY_INTO]
    graph.nodes = [n for n in graph.nodes if n.op is not COPY_INTO] + copies
    assert_writes(graph, lambda: [start.copy(), start + 1])


def test_parts_scalars_and_constants() -> None:
    start = RNG.random((6, 6))
    recorder = Writing()
    x, y, z = recorder.input(start), recorder.input(start, "y"), recorder.input(start, "z")
    number = recorder.call("add", recorder.call("sum", x), 1.0)
    part = recorder.call("getitem", y, np.s_[1:3, ::2])
    recorder.write(x, recorder.call("add", part, 1.0), np.s_[1:3], np.s_[:, ::2])
    recorder.write(x, 7.0, np.s_[5])
    recorder.write(y, number)
    recorder.write(z, recorder.call("T", recorder.call("sin", z)))
    order = sorted(recorder.graph.nodes, key=lambda n: n.op is COPY_INTO)
    recorder.graph.nodes = order
    assert_writes(recorder.finish(), lambda: [start.copy(), start + 1, start + 2])


def test_more_copies_than_one_launch_takes() -> None:
    arrays = [RNG.random((3, n + 1)) for n in range(120)]
    recorder = Writing()
    inputs = [recorder.input(a, f"x{k}") for k, a in enumerate(arrays)]
    values = [recorder.call("exp", x) for x in inputs]
    for x, value in zip(inputs, values, strict=True):
        recorder.write(x, value)
    program = assert_writes(recorder.finish(), lambda: [a.copy() for a in arrays])
    assert program.source.count("copies into arguments") > 1


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_condition_that_is_reported_leaves_all_inputs_as_they_were(bad: int) -> None:
    """Also those that earlier kernels have changed."""
    start = [RNG.random((20, 20)) for _ in range(3)]
    recorder = Writing()
    inputs = [recorder.input(a, f"x{k}") for k, a in enumerate(start)]
    values = [scaled(recorder, x, k + 2.0) for k, x in enumerate(inputs)]
    for x, value in zip(inputs, values, strict=True):
        recorder.write(x, value)
    graph = recorder.finish()
    program = compile_graph(graph)
    start[bad][3, 4] = 1e308
    arrays = [a.copy() for a in start]
    with np.errstate(over="warn"), warnings.catch_warnings(), pytest.raises(Bail):
        program(arrays)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, start, strict=True))
    with np.errstate(over="ignore"):
        program(arrays)
        interpret(graph, start)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(arrays, start, strict=True))
