"""What a card marks: loops as loops, and the lines that called what was compiled along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.errors import Span
from jitmagic.runtime.marks import lines_of
from tests.runtime import helpers_of_marks as helpers


def marks(compiled: Any) -> dict[int, str]:
    """Line (0 is the ``def``) -> mark, of the latest compile."""
    first = compiled.jit.plain.__code__.co_firstlineno + 1  # below the decorator
    return {line - first: mark for line, mark in compiled.jit.record.compiled[-1].lines}


def test_a_loop_is_counted_and_marked_as_a_loop() -> None:
    @jm.compile
    def f(x: Any) -> Any:
        y = x * 2 + 1
        s = 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                s += y[i] * i
        return s

    f(np.ones(100))
    assert marks(f) == {1: "k0", 3: "loop", 4: "loop", 5: "loop"}
    card = f.jit.report().text
    assert card.startswith("f: 1 kernel, 1 compiled loop, 0 breaks")
    assert "NumPy call" not in card.splitlines()[0]
    assert "def region(" in f.jit.source().text


def test_a_loop_alone_has_no_kernels_to_count() -> None:
    @jm.compile
    def f(x: Any) -> Any:
        s = 0.0
        for v in x:
            s += v * 2
        return s

    f(np.ones(100))
    assert f.jit.report().text.startswith("f: 1 compiled loop, 0 breaks")


def test_a_loop_that_the_data_decide_is_marked_so() -> None:
    @jm.compile
    def f(x: Any) -> Any:
        while np.abs(x).max() > 1:
            x = x / 2
        return x

    f(np.arange(100.0))
    assert marks(f) == {1: "flow", 2: "flow"}
    assert "1 loop or branch by data" in f.jit.report().text


def test_several_such_loops_have_a_plural_of_their_own() -> None:
    @jm.compile
    def f(x: Any) -> Any:
        while np.abs(x).max() > 1:
            x = x / 2
        while np.abs(x).min() < 1:
            x = x + 1
        return x

    f(np.arange(100.0))
    assert "2 loops or branches by data" in f.jit.report().text


def test_what_a_callee_does_is_marked_at_the_line_of_the_call() -> None:
    class Layer:
        def __call__(self, x: Any) -> Any:
            return self.act(x)

        def act(self, x: Any) -> Any:
            return np.sqrt(x) * 2 + 1

    @jm.compile
    def f(layer: Any, x: Any) -> Any:
        y = helpers.sort_and_scale(x)

        return layer(y)

    f(Layer(), np.ones(50))
    assert marks(f) == {1: "k0, extern", 3: "k0"}


def test_lines_of_another_file_mark_no_lines_here() -> None:
    compiled = jm.compile(helpers.on_line_one)
    compiled(np.ones(50))
    assert set(dict(compiled.jit.record.compiled[-1].lines)) == {helpers.on_line_one.__code__.co_firstlineno + 1}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"extern", "k10", "k2"}, "k2, k10, extern"),
        ({"k0", "k1", "k2", "loop"}, "k0, k1, ..."),
        ({"loop"}, "loop"),
    ],
)
def test_a_line_with_several_marks_has_kernels_first(found: set[str], told: str) -> None:
    assert lines_of((Span("f", 3), mark) for mark in found) == ((3, told),)


def test_the_card_of_a_gradient_marks_the_lines_of_its_function() -> None:
    def loss(w: Any, x: Any) -> Any:
        y = np.tanh(x * w)
        return (y * y).sum()

    gradient = jm.grad(loss)
    gradient(np.ones(30), np.ones(30))
    first = loss.__code__.co_firstlineno
    event = gradient.jit.record.compiled[-1]
    assert event.span.line == first
    marked = {line - first for line, _ in event.lines}
    assert marked
    assert marked <= {1, 2}
