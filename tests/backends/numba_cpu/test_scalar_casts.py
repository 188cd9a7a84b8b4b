"""A scalar that only kernels read is cast there, and tells of an overflow as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.graph import Graph
from tests.backends.building import Recorder, assert_agrees

F4 = np.dtype(np.float32)
RNG = np.random.default_rng(5)


def scaled(x: Any, rate: Any, *, shows_cast: bool = False) -> tuple[Graph, Program, list[Any]]:
    """``x * float32(rate) + 1``."""
    recorder = Recorder()
    a, b = recorder.input(x), recorder.input(rate, "rate")
    cast = recorder.call("astype", b, F4)
    y = recorder.call("add", recorder.call("multiply", a, cast), 1.0)
    graph = recorder.finish(*([y, cast] if shows_cast else [y]))
    return graph, compile_graph(graph), [x, rate]


@pytest.mark.parametrize("rate", [0.1, -1e30, 1e-42, 0.0, np.inf])
def test_a_kernel_rounds_it(rate: float) -> None:
    graph, program, arrays = scaled(RNG.normal(size=100).astype(F4), np.float64(rate))
    assert "astype" not in program.source
    assert_agrees(program, graph, arrays)


def test_who_else_reads_it_gets_it() -> None:
    graph, program, arrays = scaled(RNG.normal(size=100).astype(F4), np.float64(0.1), shows_cast=True)
    assert "astype" in program.source
    assert_agrees(program, graph, arrays)


@pytest.mark.parametrize("size", [0, 100])
def test_an_overflow_is_told(size: int) -> None:
    """Also where the kernel has nothing to do."""
    _, program, arrays = scaled(np.zeros(size, F4), np.float64(1.0))
    arrays[1] = np.float64(1e300)
    with np.errstate(over="raise"), pytest.raises(Bail):
        program(arrays)
