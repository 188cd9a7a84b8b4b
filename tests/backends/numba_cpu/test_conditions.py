"""Floating-point conditions: a kernel bails exactly when somebody listens, and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.graph import Graph
from tests.backends.building import Recorder, assert_agrees


def quotient(n: int = 100) -> tuple[Program, Graph, list[np.ndarray]]:
    """``(x / y) + 1`` where one ``y`` is 0."""
    x, y = np.ones(n), np.arange(n) * 1.0
    recorder = Recorder()
    nodes = [recorder.input(x), recorder.input(y)]
    graph = recorder.finish(recorder.call("add", recorder.call("true_divide", *nodes), 1.0))
    return compile_graph(graph), graph, [x, y]


@pytest.mark.parametrize("mode", ["warn", "raise", "print", "call"])
def test_a_condition_that_is_reported_bails(mode: str) -> None:
    program, _, inputs = quotient()
    with np.errstate(divide=mode), pytest.raises(Bail):  # type: ignore[arg-type]  # each is a mode
        program(inputs)


def test_a_condition_that_is_ignored_gives_numpys_result() -> None:
    program, graph, inputs = quotient()
    assert_agrees(program, graph, inputs)


def test_threads_report_too() -> None:
    """The condition is met in one chunk of many."""
    program, _, inputs = quotient(2_000_000)
    with pytest.raises(Bail):
        program(inputs)


@pytest.mark.parametrize("n", [3, 8, 1000])
def test_a_value_that_where_drops_is_still_reported(n: int) -> None:
    """``where(x > 0, sqrt(x), 0)`` warns for negative ``x``, wherever in the vector it stands."""
    x = np.ones(n)
    recorder = Recorder()
    node = recorder.input(x)
    root = recorder.call("sqrt", node)
    graph = recorder.finish(recorder.call("where", recorder.call("greater", node, 0.0), root, 0.0))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    program([x])
    for place in range(min(n, 9)):
        negative = np.where(np.arange(n) == place, -1.0, 1.0)
        with pytest.raises(Bail):
            program([negative])


def test_an_extern_that_warns_or_raises_bails() -> None:
    """Nothing is shown: the plain run shows it."""
    recorder = Recorder()
    node = recorder.input(np.ones((2, 2)))
    graph = recorder.finish(recorder.call("cumsum", recorder.call("log", node)))
    program = compile_graph(graph)
    assert program.extern_count == 2
    with pytest.raises(Bail):
        program([np.zeros((2, 2))])
    with pytest.raises(Bail):
        program([np.array("text")])


def test_a_shape_that_guards_should_have_refused_bails() -> None:
    """Never foreign memory."""
    program, _, _ = quotient()
    with pytest.raises(Bail):
        program([np.ones(50), np.ones(50)])


def test_externs_heed_the_callers_error_state() -> None:
    """What the caller ignores is computed; the caller's state is as before, bail or not."""
    recorder = Recorder()
    node = recorder.input(np.ones(3))
    graph = recorder.finish(recorder.call("cumsum", recorder.call("log", node)))
    program = compile_graph(graph)
    assert_agrees(program, graph, [np.array([0.0, 1.0, -1.0])])
    before = np.geterr()
    for _ in range(2):
        with pytest.raises(Bail):
            program([np.array([0.0, 1.0, 2.0])])
        with np.errstate(divide="ignore"):
            assert program([np.array([0.0, 1.0, 2.0])])[0][0] == -np.inf
    assert np.geterr() == before
