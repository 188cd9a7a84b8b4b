"""Symbolic sizes: a compiled graph serves calls with other sizes, and views are made with those of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.aot import CompiledGraph, aot_eager, compile_inference
from jitmagic.graph import Graph, interpret
from tests.aot.recorder import Recorder, facts, relations


def table(rows: int, columns: int) -> np.ndarray[Any, Any]:
    return np.arange(float(rows * columns)).reshape(rows, columns) - 5


def assert_same_in_other_calls(graph: Graph, traced: list[Any], *others: list[Any]) -> CompiledGraph:
    compiled = compile_inference(graph, traced, aot_eager)
    for arguments in (traced, *others):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        plain = [*copies, *interpret(graph, copies)]
        ours = [*arguments, *compiled.run(list(arguments))]
        assert list(map(facts, ours)) == list(map(facts, plain))
        assert relations(ours) == relations(plain)
    return compiled


@pytest.mark.parametrize("shape", [(6, 3), (2, 9)])
def test_views_of_inputs_and_intermediates_have_the_sizes_of_the_call(shape: tuple[int, int]) -> None:
    """Row A17."""
    r = Recorder([table(4, 6)], symbolic=True)
    (x,) = r.inputs
    rows, columns = x.meta.shape
    half = r.call("getitem", x, slice(rows // 2, None))
    flat = r.call("reshape", r.call("multiply", x, 2.0), (columns * rows,))
    assert_same_in_other_calls(r.output(half, flat), [table(4, 6)], [table(*shape)])


def test_writes_through_views_have_the_sizes_of_the_call() -> None:
    r = Recorder([table(4, 6)], symbolic=True)
    (x,) = r.inputs
    rows, columns = x.meta.shape
    part = r.call("getitem", r.call("transpose", x), (slice(columns - 2, None), slice(None, rows // 2)))
    r.call("add", part, 1.0, out=part)
    r.call("setitem", x, (rows - 1, 0), 9.0)
    graph = r.output(part, r.call("sum", x))
    assert_same_in_other_calls(graph, [table(4, 6)], [table(6, 3)], [table(3, 2)])


def test_an_integer_argument_may_select_the_view_that_is_returned() -> None:
    r = Recorder([table(4, 6), 1])
    x, i = r.inputs
    row = r.call("getitem", x, i)
    r.call("multiply", row, 2.0, out=row)
    assert_same_in_other_calls(r.output(row, r.call("sum", x)), [table(4, 6), 1], [table(4, 6), 3])


def test_a_computed_index_of_a_returned_view_becomes_a_result_of_the_graph() -> None:
    r = Recorder([table(4, 6), np.arange(4)])
    x, order = r.inputs
    index = r.call("getitem", order, 2)
    graph = r.output(r.call("getitem", x, index))
    compiled = assert_same_in_other_calls(graph, [table(4, 6), np.arange(4)], [table(4, 6), np.arange(4)[::-1].copy()])
    assert len(compiled.pure_graph.outputs) == 1
    assert str(compiled.plan) == "out0: view of x0: .getitem(result 0)"


def test_sizes_that_only_the_data_tell() -> None:
    """``y = x[x > 0]; return y[: len(y) // 2], y``."""
    r = Recorder([table(4, 6), table(4, 6) > 0])
    x, mask = r.inputs
    picked = r.call("getitem", x, mask)
    (length,) = picked.meta.shape
    half = r.call("getitem", picked, slice(None, length // 2))
    r.call("add", half, 100.0, out=half)
    traced = [table(4, 6), table(4, 6) > 0]
    assert_same_in_other_calls(r.output(half, picked), traced, [table(4, 6), table(4, 6) > 11])
