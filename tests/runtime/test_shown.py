"""What the verbs of a compiled function show is complete, agrees with the card, and says why there is nothing."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def broken(x: Any, tag: bytes) -> Any:
    y = np.sin(x) + zlib.crc32(tag) * (x - 1).sum()
    return np.sqrt(abs(y)) + zlib.adler32(tag) * 2.5


def smooth(z: Any) -> Any:
    return (z[1:] + z[:-1]) / 2


@pytest.fixture
def pieces() -> Any:
    function = jm.compile(broken)
    function(np.ones((8, 8)), b"a")
    function(np.ones((8, 8), np.float32), b"a")
    yield function.jit  # noqa: PT022  # the function lives as long as the test


def test_no_two_kernels_of_a_function_share_a_name(pieces: Any) -> None:
    names = [kernel.kernel for kernel in pieces.record.kernels]
    assert names == [f"k{i}" for i in range(len(names))]
    assert len(names) >= 2
    headings = re.findall(r"^k\d+", pieces.source().text, re.MULTILINE)
    assert headings == names
    assert pieces.report().text.startswith(f"broken: 2 entries, {len(names)} kernels, ")
    marks = {mark for event in pieces.record.compiled for _, line in event.lines for mark in line.split(", ")}
    marks -= {"extern", "python"}
    assert marks <= set(names)


def test_clearing_starts_to_count_kernels_again(pieces: Any) -> None:
    function = pieces.record.function()
    pieces.clear()
    function(np.ones(5), b"a")
    assert pieces.record.kernels[0].kernel == "k0"


def test_the_graph_of_a_function_that_breaks_has_all_its_pieces(pieces: Any) -> None:
    text = pieces.graph().text
    assert "%sin = sin(%x)" in text
    assert "graph break, then on from line" in text
    assert re.search(r"%\d\.\w+ = sqrt\(%\d\.\w+\)", text)
    assert "_jm_" not in text
    assert "<svg" in pieces.graph().svg()


def test_parts_of_a_line_have_readable_names(pieces: Any) -> None:
    for text in (pieces.guards().text, pieces.report().text, pieces.why().text, pieces.graph().text):
        assert "_jm_" not in text
    assert re.search(r"[\w.]+\([^\n]*\)\.dtype is float64", pieces.guards().text)


def test_a_kernel_returns_named_statuses_which_are_explained() -> None:
    function = jm.compile(smooth)
    function(np.ones(100))
    text = function.jit.source().text
    assert "return SHAPE_ERROR" in text
    assert "return OK" in text
    assert not re.search(r"return \d", text)
    assert "SHAPE_ERROR: sizes or strides are not those" in text


def test_a_function_that_was_not_called_says_so_everywhere() -> None:
    function = jm.compile(smooth)
    for verb in ("report", "guards", "graph", "source"):
        view = getattr(function.jit, verb)()
        assert "smooth has not been compiled yet: call it once" in view.text, verb
        assert "has not been compiled yet" in view.html, verb


def test_a_function_that_runs_plainly_says_why_everywhere() -> None:
    function = jm.compile(smooth)
    function(np.ones(10))
    function.jit.clear()
    function.jit.record.fall_back("for a reason", "do something")
    for verb in ("guards", "graph", "source", "breaks"):
        assert "for a reason" in getattr(function.jit, verb)().text, verb


def test_time_tells_what_this_call_cost_and_agrees_with_the_card() -> None:
    function = jm.compile(smooth)
    function(np.ones(1000))
    view = function.jit.time(np.ones(1000, np.float32))
    spent = [event.elapsed_ns for event in function.jit.record.compiled]
    assert view.record.now_ns == function.jit.record.recompiles[-1].cost_ns == spent[-1]
    assert view.record.compile_ns == sum(spent)
    again = function.jit.time(np.ones(1000, np.float32))
    assert again.record.now_ns == 0
    assert "for this call" not in again.text


def test_a_check_of_a_call_that_raises_says_so() -> None:
    function = jm.compile(smooth)
    view = function.jit.check(1)
    assert view
    assert "both raise TypeError: " in view.text
    counted = function.jit.check(np.ones((30, 40)))
    assert "2360 values compared bit for bit" in counted.text  # the result, and the argument afterwards
