"""Loop IR, kernel text and host text of five graphs as they stand in ``tests/backends/golden``.

``JITMAGIC_UPDATE_GOLDEN=1 pytest ...`` writes the files anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jitmagic.backends.loops.printer import print_kernel
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import ArrayMeta, Graph, ShapeEnv
from jitmagic.ops import by_name
from tests.backends.building import Recorder, assert_agrees

GOLDEN = Path(__file__).parents[1] / "golden"


def arithmetic(r: Recorder) -> Graph:
    """A flat loop over contiguous arrays."""
    x, y = r.input(np.linspace(0, 1, 50)), r.input(np.linspace(1, 2, 50), "y")
    root = r.call("sqrt", r.call("multiply", x, y))
    return r.finish(r.call("add", r.call("true_divide", root, r.call("add", y, 1)), r.call("multiply", x, x)))


def stencil(r: Recorder) -> Graph:
    """Shifted slices are read through index maps."""
    a = r.input(np.arange(30.0).reshape(5, 6), "a")
    parts = [r.call("getitem", a, s) for s in (np.s_[1:-1, 1:-1], np.s_[:-2, 1:-1], np.s_[2:, 1:-1])]
    return r.finish(r.call("true_divide", r.call("add", r.call("add", *parts[:2]), parts[2]), 3))


def bell(r: Recorder) -> Graph:
    """NumPy's own exp between two loops over tiles."""
    x = r.input(np.linspace(-1, 1, 50))
    e = r.call("exp", r.call("multiply", r.call("negative", x), x))
    return r.finish(r.call("add", r.call("multiply", e, 2.0), 1.0))


def strided(r: Recorder) -> Graph:
    """Strides known only at run time: a contiguous loop and a general one; a row is broadcast."""
    x, row = r.input(np.arange(40.0).reshape(4, 10)[:, ::2]), r.input(np.arange(5, dtype="f4"), "row")
    return r.finish(r.call("multiply", r.call("add", x, row), 2.0))


def means(r: Recorder) -> Graph:
    """Two folds along rows in one pass."""
    x = r.input(np.arange(60.0).reshape(3, 20))
    square = r.call("multiply", x, x)
    return r.finish(r.call("mean", square, axis=1), r.call("sum", r.call("negative", x), axis=1))


PROGRAMS = [arithmetic, stencil, bell, strided, means]


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_text_is_as_recorded(make: Callable[[Recorder], Graph]) -> None:
    recorder = Recorder()
    graph = make(recorder)
    program = compile_graph(graph)
    assert_agrees(program, graph, recorder.inputs)
    parts = [program.source] + [f"{print_kernel(k.loops)}\n{k.source}" for k in program.kernels]
    text = "\n".join(parts)
    path = GOLDEN / f"{make.__name__}.txt"
    if os.environ.get("JITMAGIC_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), "if this change is wanted, run again with JITMAGIC_UPDATE_GOLDEN=1"


def test_symbolic_sizes_need_one_program() -> None:
    """Sizes come from the inputs; outputs, views, folds and externs follow."""
    graph = Graph()
    n = ShapeEnv().new_symbol(8)
    x = graph.input("x", ArrayMeta.dense(np.dtype("f8"), (n, 3)))
    graph.bind(n, x, 0)
    part = ArrayMeta(np.dtype("f8"), (n - 1, 3), (24, 8))
    later = graph.call(by_name("getitem"), (x, np.s_[1:]), {}, part, view_of=x)
    before = graph.call(by_name("getitem"), (x, np.s_[:-1]), {}, part, view_of=x)
    dense = ArrayMeta.dense(np.dtype("f8"), (n - 1, 3))
    step = graph.call(by_name("subtract"), (later, before), {}, dense)
    half = graph.call(by_name("multiply"), (step, 0.5), {}, dense)
    total = graph.call(by_name("sum"), (half,), {}, ArrayMeta(np.dtype("f8"), scalar=True))
    graph.outputs = [half, total]
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    for size in (2, 3, 8, 1000, 70_000):
        assert_agrees(program, graph, [np.random.default_rng(size).random((size, 3))])


def test_threads_do_not_change_bits() -> None:
    """Large enough for the pool."""
    recorder = Recorder()
    x = recorder.input(np.random.default_rng(0).standard_normal((700, 900)))
    e = recorder.call("exp", recorder.call("multiply", x, 0.3))
    graph = recorder.finish(recorder.call("add", e, recorder.call("getitem", x, np.s_[::-1])))
    assert_agrees(compile_graph(graph), graph, recorder.inputs)
