"""Which operations that stand alone get a kernel."""

from __future__ import annotations

import re

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


def test_short_rows_that_do_not_follow_each_other_are_worth_a_loop() -> None:
    """NumPy begins anew for each row; where rows follow without a gap it does not."""
    rng = np.random.default_rng(1)
    x, y = rng.random((40, 9, 20)), rng.random((40, 8, 18))
    for part, count in ((np.s_[:, :8, 1:19], 1), (np.s_[:, 1:], 0)):
        recorder = Recorder()
        whole, other = recorder.input(x), recorder.input(y if count else x[:, 1:].copy())
        program = compile_graph(recorder.finish(recorder.call("add", recorder.call("getitem", whole, part), other)))
        assert len(program.kernels) == count
        assert_agrees(program, recorder.graph, recorder.inputs)


def test_a_fold_that_cannot_join_its_operand_is_a_loop_of_its_own() -> None:
    """What is added to each sample alike has other rows than the mean."""
    rng = np.random.default_rng(2)
    recorder = Recorder()
    x, places = recorder.input(rng.random((30, 8, 32))), recorder.input(rng.random((8, 32)))
    total = recorder.call("multiply", recorder.call("add", x, places), 2.0)
    graph = recorder.finish(total, recorder.call("mean", total, axis=-1))
    program = compile_graph(graph)
    assert program.extern_count == 0
    assert [kernel.name for kernel in program.kernels] == ["k0", "k1"]
    assert_agrees(program, graph, recorder.inputs)


def test_beside_products_the_pool_is_for_long_loops() -> None:
    """BLAS has threads of its own."""

    def work(with_product: bool) -> int:
        recorder = Recorder()
        x = recorder.input(np.random.default_rng(3).random((300, 300)))
        y = recorder.call("matmul", x, x) if with_product else x
        program = compile_graph(recorder.finish(recorder.call("multiply", recorder.call("add", y, 1.0), y)))
        return int(re.search(r"launch0\(k0, 0, \d+, (\d+),", program.source)[1])  # type: ignore[index]  # it is there

    assert 0 < work(with_product=True) < work(with_product=False)
