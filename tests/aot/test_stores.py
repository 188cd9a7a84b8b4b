"""Writes kept in the graph: only what was written is copied, and never before all else is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.graph import Node
from tests.aot.recorder import Recorder, assert_same
from tests.aot.rows import METHODS


def data(dtype: Any = float) -> np.ndarray[Any, Any]:
    return np.arange(12).reshape(3, 4).astype(dtype)


def kept(r: Recorder, *outputs: Node, arguments: Any = lambda: [data()]) -> list[str]:
    """The names of the operations of the pure graph, compared with the plain run."""
    compiled = assert_same(r.output(*outputs), arguments, keep_input_mutations=True)
    return [n.op.name for n in compiled.pure_graph.calls() if n.op]


def test_a_part_is_stored_by_itself() -> None:
    r = Recorder([data()])
    (x,) = r.inputs
    r.call("setitem", x, 0, 7.0)
    r.call("setitem", x, (1, slice(2, None)), 8.0)
    assert kept(r) == ["copy_into", "copy_into"]


def test_a_whole_that_is_read_again_is_updated_first() -> None:
    r = Recorder([data()])
    (x,) = r.inputs
    r.call("setitem", x, 0, 7.0)
    assert kept(r, r.call("sum", x)) == ["update", "sum", "copy_into"]


def two() -> list[Any]:
    return [data(), data() + 100]


def test_a_value_that_lies_in_an_input_is_taken_before_the_first_copy() -> None:
    """``x[1] = y[0]; y[0] = 5``."""
    r = Recorder(two())
    x, y = r.inputs
    r.call("setitem", x, 1, r.call("getitem", y, 0))
    r.call("setitem", y, 0, 5.0)
    assert kept(r, arguments=two) == ["getitem", "update", "copy_into", "copy_into"]


def test_a_whole_that_is_stored_into_a_part_of_itself_is_updated_first() -> None:
    """Found by the random programs: ``x += x; x[::-1] = x``."""
    r = Recorder([data()])
    (x,) = r.inputs
    r.call("add", x, x, out=x)
    r.call("setitem", x, slice(None, None, -1), x)
    assert kept(r)[-1] == "copy_into"


def test_arguments_can_swap_their_rows() -> None:
    r = Recorder(two())
    x, y = r.inputs
    first = r.call(METHODS.copy, r.call("getitem", x, 0))
    r.call("setitem", x, 0, r.call("getitem", y, 0))
    r.call("setitem", y, 0, first)
    assert kept(r, arguments=two)[-2:] == ["copy_into", "copy_into"]


@pytest.mark.parametrize("index", [[0, 2], np.array([True, False, True])])
def test_an_index_that_may_fail_is_used_before_the_first_copy(index: Any) -> None:
    r = Recorder([data()])
    r.call("setitem", r.inputs[0], index, 7.0)
    assert kept(r) == ["update_index", "copy_into"]


def test_a_cast_that_may_warn_is_done_before_the_first_copy() -> None:
    def arguments() -> list[Any]:
        return [data(np.float32), data()]

    r = Recorder(arguments())
    x, y = r.inputs
    r.call("setitem", x, 0, r.call("sum", y))
    assert kept(r, arguments=arguments) == ["sum", "update", "copy_into"]


def test_a_number_too_large_for_the_array_is_stored_before_the_first_copy() -> None:
    r = Recorder([data(np.float32)])
    with np.errstate(over="ignore"):
        r.call("setitem", r.inputs[0], 0, 1e300)
    assert kept(r, arguments=lambda: [data(np.float32)]) == ["update", "copy_into"]
