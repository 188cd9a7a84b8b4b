"""Every elementwise row of the registry, alone in a kernel: NumPy's bits for every dtype that its loop takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.backends.base import Bail
from jitmagic.backends.loops.recipes import recipe
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.ops import Op, all_ops
from jitmagic.ops.lowering import InnerLoop, Pointwise
from tests.backends.building import Recorder, assert_agrees

ELEMENTWISE = [o for o in all_ops() if isinstance(o.lower, Pointwise | InnerLoop) and isinstance(o.call, np.ufunc)]
DTYPES = ["?", "i1", "u1", "i8", "u8", "f4", "f8"]
LENGTH = 1003  # a whole tile less some, and a vector tail
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-310, 1e300, 2.0**63]


def sample(dtype: str, seed: int) -> Any:
    """Numbers of all sizes, special ones included."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(LENGTH) < 0.5
    if dtype[0] in "iu":
        info = np.iinfo(dtype)
        numbers = rng.integers(info.min, info.max, LENGTH, dtype, endpoint=True)
        numbers[:300] = rng.integers(0, 7, 300)
        numbers[300:302] = info.min, info.max
        return numbers
    numbers = rng.standard_normal(LENGTH) * 10.0 ** rng.integers(-3, 3, LENGTH)
    places = rng.choice(LENGTH, 200, replace=False)
    numbers[places] = rng.choice(SPECIAL, 200)
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


UNARY = [op for op in ELEMENTWISE if op.call.nin == 1 and op.call.nout == 1]
BINARY = [op for op in ELEMENTWISE if op.call.nin == 2 and op.call.nout == 1]
MIXED = [("i1", "u8"), ("f4", "i8"), ("?", "i1"), ("u1", "f8")]
COMBINATIONS = [(UNARY, (d,)) for d in DTYPES] + [
    (BINARY, pair) for pair in [*zip(DTYPES, DTYPES, strict=True), *MIXED]
]


@pytest.mark.parametrize(("ops", "dtypes"), COMBINATIONS, ids=lambda x: "-".join(x) if type(x) is tuple else "")
def test_each_row_gives_numpys_bits(ops: list[Op], dtypes: tuple[str, ...]) -> None:
    """All rows that NumPy has a loop for, side by side over the same inputs, so that few kernels hold them."""
    recorder = Recorder()
    inputs = [recorder.input(sample(d, k)) for k, d in enumerate(dtypes)]
    results = []
    for op in ops:
        try:
            results.append(recorder.call(op, *inputs))
        except (TypeError, ValueError):  # no such loop, or a refused value
            continue
    graph = recorder.finish(*results)
    assert_agrees(compile_graph(graph, smallest=1), graph, recorder.inputs)


def test_most_rows_are_kernels() -> None:
    """Of float64 rows with one result only those stay with NumPy that need Python."""
    missing = []
    for op in (*UNARY, *BINARY):
        recorder = Recorder()
        inputs = [recorder.input(sample("f8", k)) for k in range(op.call.nin)]
        try:
            node = recorder.call(op, *inputs)
        except TypeError:
            continue
        if recipe(node) is None:
            missing.append(op.name)
    assert missing == []


CASTS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("source", CASTS)
def test_casts_give_numpys_bits(source: str) -> None:
    """Every pair of dtypes, for values that fit."""
    values = np.arange(127) + 0.5 if source[0] == "f" else np.arange(-300, 1500)
    values = values.astype(source)
    recorder = Recorder()
    node = recorder.input(values)
    graph = recorder.finish(*(recorder.call("astype", node, np.dtype(t)) for t in CASTS if t != source))
    program = compile_graph(graph, smallest=1)
    assert program.extern_count == 0
    assert_agrees(program, graph, [values])


@pytest.mark.parametrize("target", ["i1", "u4", "i8", "u8"])
def test_floats_out_of_range_bail(target: str) -> None:
    """NumPy reports them, and what it gives for them is not defined."""
    recorder = Recorder()
    values = np.ones(600)
    graph = recorder.finish(recorder.call("astype", recorder.input(values), np.dtype(target)))
    program = compile_graph(graph, smallest=1)
    for wrong in (np.nan, 1e30):
        with pytest.raises(Bail), np.errstate(all="ignore"):
            program([np.where(np.arange(600) == 77, wrong, 1.0)])
