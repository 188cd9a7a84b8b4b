"""The text around a program: it shows what happens at a call, in the order in which it happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.aot import aot_eager, compile_inference
from jitmagic.errors import InternalError
from tests.aot.recorder import Recorder, assert_same


def data() -> np.ndarray[Any, Any]:
    return np.arange(12.0).reshape(3, 4)


def test_a_graph_with_nothing_around_it_is_called_as_it_is() -> None:
    r = Recorder([data()])
    compiled = assert_same(r.output(r.call("exp", r.inputs[0])), lambda: [data()])
    assert compiled.text.splitlines()[1:] == [
        "    if len(arguments) != 1:",
        "        refuse(arguments, 1)",
        "    return list(checked(program(arguments)))",
    ]


def test_views_come_first_and_copies_last() -> None:
    r = Recorder([data(), data()])
    x, y = r.inputs
    corner = r.call("getitem", x, (slice(1, None), None))
    r.call("add", x, y, out=x)
    z = r.call("multiply", x, y)
    compiled = assert_same(r.output(corner, r.call("transpose", z), x), lambda: [data(), data()])
    assert compiled.text.splitlines()[3:] == [
        "    [a0, a1] = arguments",
        "    arguments.clear()",
        "    o0 = getitem_(a0, (slice(1, None, None), None, ))",
        "    passed = [a0, a1]",
        "    del a1",
        "    [r0, r1] = checked(program(passed))",
        "    r1 = layout1(r1)",
        "    o1 = transpose_(r1)",
        "    a0[...] = r0",
        "    return [o0, o1, a0]",
    ]


def test_overlapping_arguments_are_passed_as_their_base() -> None:
    def inputs() -> list[Any]:
        a = data()
        return [a, a[1]]

    r = Recorder(inputs())
    r.call("setitem", r.inputs[1], 0, 7.0)
    compiled = assert_same(r.output(), inputs)
    assert "    passed = [base0([a0, a1])]" in compiled.text.splitlines()


def test_operands_of_views_that_have_no_literal_are_named() -> None:
    """Two equal names stand for two objects."""
    r = Recorder([data(), data()])
    first = r.call("getitem", r.inputs[0], (np.int64(1), slice(np.int64(1), None)))
    compiled = assert_same(r.output(first), lambda: [data(), data()])
    assert "o0 = getitem_(a0, (k_, slice(k__, None, None), ))" in compiled.text


@pytest.mark.parametrize("count", [0, 2])
def test_a_wrong_number_of_arguments_is_an_error(count: int) -> None:
    """Row A41."""
    r = Recorder([data()])
    compiled = compile_inference(r.output(r.inputs[0]), [data()], aot_eager)
    with pytest.raises(InternalError, match=f"takes 1 arguments, got {count}"):
        compiled.run([data()] * count)
