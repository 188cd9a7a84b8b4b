"""Functional updates: a copy and a write, or a write in place where nobody reads the old value."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import Node
from jitmagic.ops import by_name
from jitmagic.ops.functional import UPDATE, ViewStep
from tests.backends.building import Recorder, assert_agrees

GETITEM = by_name("getitem")


def update(recorder: Recorder, base: Node, value: Any, *indices: Any) -> Node:
    assert GETITEM.call is operator.getitem
    return recorder.call(UPDATE, base, value, tuple(ViewStep(GETITEM, (i,)) for i in indices))


@pytest.mark.parametrize("order", ["C", "F", "reversed"])
def test_an_update_of_an_input_leaves_it_alone(order: str) -> None:
    x = np.random.default_rng(0).random((6, 5))
    x = x[::-1] if order == "reversed" else np.asarray(x, order=order)  # type: ignore[call-overload]  # a literal
    recorder = Recorder()
    node = recorder.input(x)
    graph = recorder.finish(update(recorder, node, 3, np.s_[1:], np.s_[:, 2]), node)
    assert_agrees(compile_graph(graph), graph, [x])


def test_a_dead_intermediate_is_written_in_place() -> None:
    """No copy in the program."""
    x = np.random.default_rng(1).random(50)
    recorder = Recorder()
    node = recorder.input(x)
    y = recorder.call("multiply", recorder.call("add", node, 1.0), 2.0)
    first = update(recorder, y, 7.0, np.s_[3:9])
    graph = recorder.finish(update(recorder, first, recorder.call("getitem", node, np.s_[:4]), np.s_[::-1], np.s_[:4]))
    program = compile_graph(graph)
    assert "copy" not in program.source
    assert_agrees(program, graph, [x])


@pytest.mark.parametrize("reader", ["itself", "a view"])
def test_an_intermediate_that_is_read_later_is_copied(reader: str) -> None:
    """By itself or through a view that was made before the update."""
    x = np.random.default_rng(2).random(50)
    recorder = Recorder()
    node = recorder.input(x)
    y = recorder.call("multiply", recorder.call("add", node, 1.0), 2.0)
    view = recorder.call("getitem", y, np.s_[2:30])
    changed = update(recorder, y, 7.0, np.s_[3:9])
    kept = y if reader == "itself" else recorder.call("cumsum", view)
    graph = recorder.finish(changed, kept)
    program = compile_graph(graph)
    assert "copy" in program.source
    assert_agrees(program, graph, [x])


def test_an_update_from_the_base_itself_reads_the_old_value() -> None:
    """Overlap between the part and its new value."""
    x = np.random.default_rng(3).random(50)
    recorder = Recorder()
    y = recorder.call("multiply", recorder.call("add", recorder.input(x), 1.0), 2.0)
    graph = recorder.finish(update(recorder, y, recorder.call("getitem", y, np.s_[:-1]), np.s_[1:]))
    assert_agrees(compile_graph(graph), graph, [x])


def test_a_ufunc_writes_over_an_operand_that_dies_with_it() -> None:
    """Only memory that the program made itself, of the same layout; inputs and outputs are left alone."""
    x = np.arange(12.0).reshape(3, 4)

    def program(x: Any) -> Any:
        y = x * 2
        kept = y + 1
        y = y - x
        z = y.T - kept.T
        return kept, np.negative(z), np.add(y, x[0])

    compiled = jm.compile(program)
    with jm.configure(demote=False):
        before = x.copy()
        for _ in range(3):
            found, expected = compiled(x), program(x)
            for a, b in zip(found, expected, strict=True):
                assert np.array_equal(a, b)
                assert a.strides == b.strides
                assert not any(np.shares_memory(a, other) for other in (x, *(f for f in found if f is not a)))
        assert np.array_equal(x, before)


def _with_its_transpose(x: Any) -> Any:
    y = np.sort(x, axis=0) + 1
    return y * y.T - 1


def _of_an_inverse(x: Any) -> Any:
    z = np.sin(np.linalg.inv(x))
    return z + z.T


def _turned_and_flipped(x: Any) -> Any:
    y = x @ x
    return y / y.T + np.flip(y, 1)


@pytest.mark.parametrize("program", [_with_its_transpose, _of_an_inverse, _turned_and_flipped])
@pytest.mark.parametrize("dynamic", [None, True])
def test_an_operand_whose_view_is_read_too_is_not_written_over(program: Any, dynamic: Any) -> None:
    """A transposed view is read at other places than those that are written at the time."""
    x = np.random.default_rng(0).random((40, 40))
    compiled = jm.compile(program, dynamic=dynamic)
    with jm.configure(demote=False):
        for _ in range(2):
            assert np.array_equal(compiled(x), program(x))


def test_numbers_under_a_mask_are_written_in_the_loop_around_them() -> None:
    def program(x: Any, top: Any) -> Any:
        y = x * 2.0
        y[y > top] = top
        y[y < 0.3] = np.nan
        whole = (x * 10).astype(np.int32)
        whole[x > 0.5] = -1
        return y, whole

    compiled = jm.compile(program)
    for top in (1.5, np.float64(1.2), 1.5):
        x = np.random.default_rng(3).random((40, 50))
        for found, expected in zip(compiled(x, top), program(x, top), strict=True):
            assert (found.dtype, found.strides) == (expected.dtype, expected.strides)
            np.testing.assert_array_equal(found, expected)
    assert all(entry.lowered.extern_count == 0 for entry in compiled.jit.frame.entries)


@pytest.mark.parametrize("order", ["C", "F", "every second"])
def test_a_mask_over_an_argument_changes_it_as_numpy_does(order: str) -> None:
    """Values of other dtypes, of arrays, and masks of fewer axes are NumPy's."""

    def program(x: Any) -> Any:
        x[x > 0.9] = 0
        x[x < 0.1] = np.float32(0.1)
        x[x > 0.8] = x[x > 0.8] * 2
        x[x[:, 0] > 0.5] = -1.0
        return x + 1

    compiled = jm.compile(program)
    for _ in range(3):
        found = np.random.default_rng(4).random((40, 50))
        found = found[::2, ::2] if order == "every second" else np.asarray(found, order=order)  # type: ignore[call-overload]  # a literal
        expected = found.copy("K")
        assert compiled(found).tobytes() == program(expected).tobytes()
        assert found.tobytes() == expected.tobytes()
