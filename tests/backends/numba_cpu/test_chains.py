"""Loops that take turns over the same rows: bits, memory, and which loops may."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.config import configure
from jitmagic.graph import Graph, Node
from tests.backends.building import Recorder, assert_agrees

ROWS, COLUMNS = 300, 240
Built = tuple[Recorder, Graph]


def softmax(x: np.ndarray, axis: int) -> Built:
    recorder = Recorder()
    node = recorder.input(x)
    most = recorder.call("max", node, axis=axis, keepdims=True)
    e = recorder.call("exp", recorder.call("subtract", node, most))
    return recorder, recorder.finish(recorder.call("true_divide", e, recorder.call("sum", e, axis=axis, keepdims=True)))


def normalised(x: np.ndarray, axis: int) -> Built:
    recorder = Recorder()
    node = recorder.input(x)
    centred = recorder.call("subtract", node, recorder.call("mean", node, axis=axis, keepdims=True))
    spread = recorder.call("mean", recorder.call("multiply", centred, centred), axis=axis, keepdims=True)
    scale = recorder.call("sqrt", recorder.call("add", spread, 1e-5))
    return recorder, recorder.finish(recorder.call("true_divide", centred, scale))


def data(dtype: str, order: str) -> np.ndarray:
    values = np.random.default_rng(7).normal(size=(ROWS, COLUMNS)) * 3
    values[5], values[7] = 1.0, -2.0
    return np.asarray(values.astype(dtype), order=order)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("make", [softmax, normalised])
def test_rows_and_columns(make, axis: int, dtype: str, order: str, threads: int) -> None:
    recorder, graph = make(data(dtype, order), axis)
    with configure(threads=threads):
        assert_agrees(compile_graph(graph), graph, recorder.inputs)


def test_a_softmax_is_one_launch_and_needs_no_second_array() -> None:
    recorder, graph = softmax(data("float64", "C"), 1)
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    assert program.source.count(f"empty(({ROWS}, {COLUMNS})") == 1
    assert_agrees(program, graph, recorder.inputs)


def test_small_arrays_keep_their_own_launches() -> None:
    _, graph = softmax(data("float64", "C")[:20, :20].copy(), 1)
    assert "block" not in "".join(kernel.source for kernel in compile_graph(graph).kernels)


def test_a_loop_that_reads_other_rows_waits_for_all() -> None:
    """Each row is divided by the sum of the one before it: not yet there, if the two took turns."""
    recorder = Recorder()
    x = recorder.input(np.exp(data("float64", "C")))
    e = recorder.call("multiply", recorder.call("sqrt", x), 2.0)
    total = recorder.call("sum", e, axis=1, keepdims=True)
    later, before = recorder.call("getitem", e, np.s_[1:]), recorder.call("getitem", total, np.s_[:-1])
    graph = recorder.finish(recorder.call("true_divide", later, before))
    program = compile_graph(graph)
    assert "block" not in "".join(kernel.source for kernel in program.kernels)
    assert_agrees(program, graph, recorder.inputs)


def test_an_operand_that_another_member_reads_elsewhere_is_not_written_over() -> None:
    """``e`` dies with the last loop, but the first of the same kernel reads its mirror image."""
    recorder = Recorder()
    x = recorder.input(data("float64", "C"))
    e = recorder.call("exp", x)
    mirrored = recorder.call("add", recorder.call("getitem", e, np.s_[::-1]), e)
    total = recorder.call("sum", mirrored, axis=1, keepdims=True)
    graph = recorder.finish(recorder.call("true_divide", e, total))
    assert_agrees(compile_graph(graph), graph, recorder.inputs)


@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[:, ::2], np.s_[10:200, 1:]])
def test_operands_that_die_give_their_memory(view: object) -> None:
    """Several results, views of what is written over, and operands that live on."""
    recorder = Recorder()
    x = recorder.input(data("float64", "C"))
    e = recorder.call("exp", x)
    part = recorder.call("getitem", e, view)
    total = recorder.call("cumsum", recorder.call("add", part, 1.0), axis=0)
    a, b = recorder.call("multiply", recorder.call("add", e, 1.0), e), recorder.call("subtract", e, 0.5)
    graph = recorder.finish(recorder.call("multiply", recorder.call("cumsum", a, axis=1), b), total)
    assert_agrees(compile_graph(graph), graph, recorder.inputs)


def test_flags_of_every_member_count() -> None:
    recorder = Recorder()
    values = data("float64", "C")
    values[-1] = 0.0
    x = recorder.input(values)
    e: Node = recorder.call("multiply", x, 2.0)
    total = recorder.call("sum", e, axis=1, keepdims=True)
    graph = recorder.finish(recorder.call("true_divide", e, total))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    with np.errstate(all="raise"), pytest.raises(Bail):
        program(recorder.inputs)
