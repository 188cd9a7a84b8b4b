"""Which nodes share a loop, and in which order the loops run."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.loops.fuse import fuse
from jitmagic.backends.numba_cpu.program import compile_graph
from tests.backends.building import Recorder, assert_agrees


def test_branches_that_meet_become_one_loop() -> None:
    recorder = Recorder()
    z = recorder.input(np.arange(20.0))
    left, right = recorder.call("getitem", z, np.s_[1:]), recorder.call("getitem", z, np.s_[:-1])
    both = recorder.call("add", recorder.call("multiply", left, left), recorder.call("multiply", right, right))
    program = compile_graph(recorder.finish(both))
    assert len(program.kernels) == 1
    assert_agrees(program, recorder.graph, recorder.inputs)


def test_a_call_of_numpy_between_two_loops_keeps_them_apart() -> None:
    """``cumsum`` reads the first loop, and the second reads ``cumsum``."""
    recorder = Recorder()
    y = recorder.call("add", recorder.call("multiply", recorder.input(np.arange(20.0)), 2.0), 1.0)
    total = recorder.call("cumsum", y)
    graph = recorder.finish(recorder.call("multiply", recorder.call("add", total, y), y))
    program = compile_graph(graph)
    assert len(program.kernels) == 2
    assert_agrees(program, graph, recorder.inputs)


def test_a_long_chain_needs_no_recursion() -> None:
    recorder = Recorder()
    node = recorder.input(np.arange(4.0))
    for _ in range(3000):
        node = recorder.call("cumsum", node)
    groups, _ = fuse(recorder.finish(node))
    assert len(groups) == 3001


def test_cheap_arithmetic_is_done_again_in_every_loop_that_reads_it() -> None:
    """``centred`` is never in memory: the loop that divides it computes it again."""
    recorder = Recorder()
    x = recorder.input(np.linspace(-1.0, 2.0, 5000))
    centred = recorder.call("subtract", x, recorder.call("max", x))
    spread = recorder.call("mean", recorder.call("multiply", centred, centred))
    graph = recorder.finish(recorder.call("true_divide", centred, spread))
    program = compile_graph(graph)
    made = [o.dtype for kernel in program.kernels for o in kernel.loops.operands if o.kind == "out" and o.ndim]
    assert len(program.kernels) >= 2
    assert len(made) == len(program.kernels)  # each leaves one result
    assert set(program.marks.values()) <= {kernel.name for kernel in program.kernels} | {"extern"}
    assert program.marks[centred] != "extern"
    assert_agrees(program, graph, recorder.inputs)


def test_functions_are_not_computed_twice() -> None:
    recorder = Recorder()
    x = recorder.input(np.linspace(-1.0, 2.0, 5000))
    e = recorder.call("exp", recorder.call("multiply", x, 0.5))
    graph = recorder.finish(recorder.call("true_divide", e, recorder.call("sum", e)))
    program = compile_graph(graph)
    assert sum(o.kind == "loop" for kernel in program.kernels for o in kernel.loops.operands) == 1
    assert_agrees(program, graph, recorder.inputs)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_the_terms_of_a_short_sum_are_never_in_memory(name: str, keepdims: bool, axis: int) -> None:
    """Broadcast, then summed: one loop over the result. The array of all differences is not made."""
    shape = [5, 4, 6]
    shape[axis] = 3
    recorder = Recorder()
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=shape) * 1e3, rng.normal(size=shape)
    a[0], b[0] = 0.0, 0.0
    left = recorder.call("getitem", recorder.input(a), np.s_[:, :1])
    right = recorder.call("getitem", recorder.input(b), np.s_[::-1])
    squares = recorder.call("multiply", recorder.call("subtract", left, right), recorder.call("negative", right))
    total = recorder.call(name, squares, axis=axis, keepdims=keepdims)
    graph = recorder.finish(recorder.call("sqrt", recorder.call("absolute", total)))
    program = compile_graph(graph)
    if axis != 1:  # (one element there)
        assert len(program.kernels) == 1
        assert program.extern_count == 0
        assert_agrees(program, graph, recorder.inputs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint32", "bool"])
@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1], np.s_[:, ::-1], np.s_[2:, ::2]])
def test_short_sums_of_views(dtype: str, view: object) -> None:
    recorder = Recorder()
    values = (np.random.default_rng(4).normal(size=(9, 6, 3)) * 50).astype(dtype)
    values[1] = 0
    x = recorder.call("getitem", recorder.input(values), view)
    graph = recorder.finish(recorder.call("multiply", recorder.call("sum", x, axis=2), 2))
    assert_agrees(compile_graph(graph), graph, recorder.inputs)


def test_a_short_sum_of_negative_zeros_is_positive() -> None:
    recorder = Recorder()
    x = recorder.call("multiply", recorder.input(np.full((70, 3), -0.0)), 1.0)
    graph = recorder.finish(recorder.call("copysign", 1.0, recorder.call("sum", x, axis=1)))
    assert_agrees(compile_graph(graph), graph, recorder.inputs)


def test_loops_that_meet_in_a_reader_of_both_do_not_wait_for_each_other() -> None:
    """``clip`` joins the loop of ``c``; that of ``a`` may not, because ``cumsum`` reads it and ``clip`` reads that."""
    recorder = Recorder()
    a = recorder.call("multiply", recorder.input(np.arange(20.0)), 2.0)
    c = recorder.call("multiply", recorder.input(np.ones(20)), 3.0)
    graph = recorder.finish(recorder.call("clip", a, recorder.call("cumsum", a), c))
    assert [len(group.nodes) for group in fuse(graph)[0]] == [1, 1, 1, 1, 2]
    assert_agrees(compile_graph(graph), graph, recorder.inputs)
