"""Large results go past the caches, line by line: all bytes arrive, and no others are touched."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native.abi import can_stream
from jitmagic.backends.native.codegen import assembly
from jitmagic.backends.numba_cpu import streaming
from jitmagic.backends.numba_cpu.program import compile_graph
from tests.backends.building import Recorder

pytestmark = pytest.mark.skipif(not can_stream(), reason="ordinary stores only on this processor")
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float32", "float64"]


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(streaming, "LEAST_BYTES", 0)
    monkeypatch.setattr(streaming, "SHORTEST_RUN", 0)


def streamed(program) -> bool:
    return any(kernel.loops.streamed for kernel in program.kernels)


def sums(x, y):
    recorder = Recorder()
    a, b = recorder.input(x, "x"), recorder.input(y, "y")
    total = recorder.call("add", recorder.call("multiply", a, b), b)
    return recorder.finish(total), recorder.values[total]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, 7, 63, 64, 65, 129, 1000, 5003])
def test_every_element_arrives(any_size, dtype, size):
    rng = np.random.default_rng(5)
    x, y = (rng.integers(0, 9, size).astype(dtype) for _ in range(2))
    graph, plain = sums(x, y)
    program = compile_graph(graph, [x, y])
    assert streamed(program)
    (given,) = program([x, y])
    assert given.tobytes() == plain.tobytes()


@pytest.mark.parametrize("shape", [(5, 9), (40, 130), (3, 2049)])
def test_rows_that_begin_anywhere_in_a_line(any_size, shape):
    def laplace(u, v):
        return u[1:-1, 2:] + u[1:-1, :-2] - 2.0 * v[1:-1, 1:-1]

    u, v = (np.random.default_rng(k).random(shape) for k in range(2))
    for threads in (1, 2):
        with jm.configure(threads=threads, background=False):
            given = jm.compile(laplace)(u, v)
        assert given.tobytes() == laplace(u, v).tobytes()


def test_functions_and_several_results(any_size):
    def both(x, y):
        e = np.exp(x) * y
        return e, e > y

    x, y = np.random.default_rng(0).random((2, 3001))
    with jm.configure(background=False):
        given = jm.compile(both)(x, y)
    for a, b in zip(given, both(x, y), strict=True):
        assert a.tobytes() == b.tobytes()
        assert a.dtype == b.dtype


def test_only_large_results_that_nothing_reads():
    def program(size, read):
        x, y = np.ones((2, size))
        recorder = Recorder()
        total = recorder.call("add", recorder.call("multiply", recorder.input(x, "x"), 2.0), recorder.input(y, "y"))
        outputs = [total, recorder.call("cumsum", total)] if read else [total]
        return compile_graph(recorder.finish(*outputs), [x, y])

    enough = streaming.LEAST_BYTES // 8
    assert streamed(program(enough, read=False))
    assert not streamed(program(enough // 2, read=False))
    assert not streamed(program(streaming.MOST_BYTES // 8 + 1, read=False))
    assert not streamed(program(enough, read=True))


def test_lines_are_stored_past_the_caches(any_size):
    graph, _ = sums(*np.ones((2, 1000)))
    (kernel,) = compile_graph(graph).kernels
    text = assembly(kernel.source, "kernel")
    assert re.search(r"\bv?movnt", text)
    assert "sfence" in text
