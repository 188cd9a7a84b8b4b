"""Which operations that stand alone get a kernel."""

from __future__ import annotations

import numpy as np

from jitmagic.backends.numba_cpu.program import compile_graph
from tests.backends.building import Recorder, assert_agrees


def test_one_operation_is_left_to_numpy() -> None:
    recorder = Recorder()
    graph = recorder.finish(recorder.call("add", recorder.input(np.arange(5.0)), 1.0))
    assert not compile_graph(graph).kernels


def test_between_loops_a_short_one_is_a_loop_too() -> None:
    """A call of NumPy would keep the program from running natively."""
    recorder = Recorder()
    e = recorder.call("exp", recorder.input(np.random.default_rng(0).random((4, 4))))
    graph = recorder.finish(recorder.call("true_divide", e, recorder.call("sum", e, axis=1, keepdims=True)))
    program = compile_graph(graph)
    assert program.extern_count == 0
    assert len(program.kernels) == 2
    assert_agrees(program, graph, recorder.inputs)
