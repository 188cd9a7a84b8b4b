"""``fastmath`` sums floats in any order: how far from the right sum, and beside what is merged in the same loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jitmagic.backends.numba_cpu.program import compile_graph
from tests.backends.building import Recorder

SIZES = [(1, 3), (7, 129), (5, 1000), (3, 2049)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_the_sum_is_right_to_rounding(dtype, shape, axis, kind):
    x = np.random.default_rng(3).normal(size=shape).astype(dtype)
    run, plain = recorded(x, axis, kind, fastmath=True)
    exact = np.apply_along_axis(math.fsum, 0 if axis is None else axis, plain.ravel() if axis is None else plain)
    size = np.abs(plain).sum(axis=axis)
    count = plain.size if axis is None else plain.shape[axis]
    if kind == "mean":
        exact, size = exact / count, size / count
    total, most = run([x])
    assert total.dtype == x.dtype
    assert np.all(np.abs(total - exact) <= 64 * np.finfo(dtype).eps * size)
    assert most.tobytes() == plain.max(axis=axis).tobytes()


def recorded(x, axis, kind, fastmath):
    recorder = Recorder()
    value = recorder.call("multiply", recorder.input(x), x.dtype.type(1.5))
    outputs = [recorder.call(name, value, axis=axis) for name in (kind, "max")]
    graph = recorder.finish(*outputs)
    return compile_graph(graph, [x], smallest=1, fastmath=fastmath), recorder.values[value]


def test_no_tree_is_walked():
    x = np.random.default_rng(3).normal(size=1000)
    fast, exact = (recorded(x, None, "sum", mode)[0] for mode in (True, False))
    assert not any("runs" in kernel.source for kernel in fast.kernels)
    assert any("runs" in kernel.source for kernel in exact.kernels)
