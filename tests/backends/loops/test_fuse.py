"""Which nodes share a loop, and in which order the loops run."""

from __future__ import annotations

import numpy as np

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
    groups, _, _ = fuse(recorder.finish(node))
    assert len(groups) == 3001
