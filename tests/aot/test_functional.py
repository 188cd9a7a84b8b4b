"""The pure counterparts of writes: the original stays, and the copy is laid out as the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from jitmagic.errors import InternalError
from jitmagic.graph.meta import layout_key
from jitmagic.ops import Op
from jitmagic.ops.functional import UPDATE, UPDATE_INDEX, WINDOW, ViewStep, copy_layout, follow, pure_form
from tests.aot.rows import METHODS, ROWS, ask_numpy

steps = st.sampled_from(
    [slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(None, None, -3)]
)


@st.composite
def layouts(draw: Any) -> np.ndarray[Any, Any]:
    """Slices of a transposed block: every order of axes, sign and gap."""
    shape = draw(st.lists(st.integers(1, 5), min_size=0, max_size=3))
    dtype = draw(st.sampled_from(["f8", "f4", "i2", "c16", "S3", "O"]))
    block = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    block = block.transpose(draw(st.permutations(range(len(shape)))))
    return block[(*(draw(steps) for _ in shape), ...)]


@given(layouts())
def test_a_copy_keeps_order_signs_and_contiguity_of_the_strides(array: np.ndarray[Any, Any]) -> None:
    copy = copy_layout(array)
    assert not np.shares_memory(copy, array)
    assert copy.tolist() == array.tolist()
    assert copy.flags.writeable
    assert copy.flags.aligned
    assert layout_key(copy.shape, copy.strides) == layout_key(array.shape, array.strides)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
        assert copy.flags[flag] == array.flags[flag]
    moves = [axis for axis, n in enumerate(array.shape) if n > 1] if array.size else []
    assert all((abs(copy.strides[a]) == array.itemsize) == (abs(array.strides[a]) == array.itemsize) for a in moves)


@given(layouts())
def test_a_copy_allows_the_reshapes_that_its_original_allows(array: np.ndarray[Any, Any]) -> None:
    copy = copy_layout(array)
    assert np.shares_memory(copy.reshape(-1), copy) == np.shares_memory(array.reshape(-1), array)


def test_a_sparse_view_is_copied_without_its_gaps() -> None:
    column = np.zeros((1000, 1000))[:, 3]
    assert copy_layout(column).strides == (16,)


def test_a_copy_that_owns_its_memory_wherever_numpy_can_allocate_it() -> None:
    for array in (
        np.zeros((3, 4)),
        np.zeros((4, 3)).T,
        np.zeros((2, 3, 4)).transpose(1, 0, 2),
        np.zeros((1, 4)).copy("F"),
    ):
        copy = copy_layout(array)
        assert copy.base is None
        assert copy.strides == array.strides


def step(name: str, *args: Any) -> ViewStep:
    return ViewStep(ROWS[name], args)


def test_update_replaces_a_part_and_leaves_the_original() -> None:
    x = np.arange(12.0).reshape(3, 4)
    path = (step("transpose"), step("getitem", (slice(1, 3), Ellipsis)))
    changed = UPDATE.call(x, -1.0, path)
    expected = x.copy()
    expected.T[1:3] = -1.0
    assert np.array_equal(changed, expected)
    assert np.array_equal(x, np.arange(12.0).reshape(3, 4))


def test_update_finds_the_places_where_a_step_copies_in_another_layout() -> None:
    x = np.asfortranarray(np.arange(6).reshape(2, 3))
    changed = UPDATE.call(x, [10, 20], (step("reshape", (-1,)), step("getitem", slice(2, 4))))
    assert changed.tolist() == [[0, 1, 10], [20, 4, 5]]


def test_update_refuses_a_part_that_is_no_view_for_another_dtype() -> None:
    changed = Op("astype", lambda a: a.astype(np.int8), ask_numpy)
    with pytest.raises(InternalError, match="is not a view"):
        UPDATE.call(np.zeros(3), 1, (ViewStep(changed),))


def test_update_index_is_assignment_with_an_advanced_index() -> None:
    x = np.zeros((3, 4))
    assert UPDATE_INDEX.call(x, 5.0, (step("transpose"),), ([0, 0, 3],))[:, [0, 3]].tolist() == [[5.0, 5.0]] * 3
    assert not x.any()


def test_a_path_takes_the_array_at_its_position_and_one_of_several_results() -> None:
    x = np.arange(6.0)
    spread = Op("spread", lambda n, a: np.split(a, n), ask_numpy)
    assert follow(x, (ViewStep(spread, (3,), {}, 1, 2),)).tolist() == [4.0, 5.0]


def test_a_window_is_a_part_of_a_flat_base() -> None:
    base = np.arange(10.0)
    assert WINDOW.call(base, 9, (2, 3), (-4, -1)).tolist() == [[9, 8, 7], [5, 4, 3]]
    assert np.shares_memory(WINDOW.call(base, 0, (), ()), base)


def test_the_pure_form_gives_new_values_then_the_result() -> None:
    x, y = np.array([3.0, 1.0, 2.0]), np.zeros(3)
    (ordered, nothing) = pure_form(METHODS.sort).call(x)
    assert (ordered.tolist(), nothing, x.tolist()) == ([1, 2, 3], None, [3, 1, 2])
    written, result = pure_form(ROWS["add"]).call(x, 1.0, into=y, where=x > 1)
    assert result is written
    assert written.tolist() == [4, 0, 3]
    assert not y.any()


def test_the_pure_form_is_made_once_and_writes_nothing() -> None:
    assert pure_form(METHODS.sort) is pure_form(METHODS.sort)
    assert pure_form(METHODS.sort).writes == ()


def test_overlapping_elements_keep_their_zero_strides() -> None:
    wide = as_strided(np.ones(3), (2, 3), (0, 8))
    assert copy_layout(wide).tolist() == wide.tolist()
