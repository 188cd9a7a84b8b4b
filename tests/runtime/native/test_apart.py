"""Compiled code is sure that arguments lie apart only where they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.aot.overlap import analyse_overlap
from jitmagic.runtime.native.apart import apart_check
from jitmagic.runtime.native.code import prepare
from tests.backends.building import Recorder

BASE = np.arange(24.0)


class Mine(np.ndarray[Any, Any]):
    """A subclass."""


def answers(arguments: list[Any], later: list[Any]) -> tuple[int, bool]:
    """What compiled code and the guard say of ``later``, where the graph was captured with ``arguments``."""
    prepare()
    recorder = Recorder()
    for value in arguments:
        recorder.input(value)
    guard = analyse_overlap(arguments, [0])
    check = apart_check(guard, recorder.graph)
    assert check is not None
    return check(later), guard.holds(later)


def some() -> list[Any]:
    return [np.zeros((3, 4)), 2.5, np.ones(5, np.float32), np.ones((2, 2), np.int64)]


@pytest.mark.parametrize(
    "later",
    [
        [np.zeros((3, 4)), 1.0, np.ones(5, np.float32), np.ones((2, 2), np.int64)],
        [np.zeros((3, 4)).T.copy().T, 1.0, np.ones(5, np.float32), np.ones((2, 2), np.int64)],
        [BASE[:12].reshape(3, 4), 1.0, np.ones(5, np.float32), BASE[12:16].view(np.int64).reshape(2, 2)],
        [np.zeros((0, 4)), 1.0, np.ones(0, np.float32), np.ones((2, 2), np.int64)],
    ],
)
def test_contiguous_arrays_apart_are_known(later: list[Any]) -> None:
    assert answers(some(), later) == (1, True)


@pytest.mark.parametrize(
    ("later", "is_fine"),
    [
        ([BASE[:12].reshape(3, 4), 1.0, np.ones(5, np.float32), BASE[11:15].view(np.int64).reshape(2, 2)], False),
        ([BASE[:12].reshape(3, 4), 1.0, BASE[2:5].view(np.float32)[:5], np.ones((2, 2), np.int64)], False),
        ([np.zeros((3, 8))[:, ::2], 1.0, np.ones(5, np.float32), np.ones((2, 2), np.int64)], True),
        ([np.zeros((3, 4)).view(Mine), 1.0, np.ones(5, np.float32), np.ones((2, 2), np.int64)], True),
        ([np.lib.stride_tricks.as_strided(np.zeros(6), (3, 4), (8, 8)), 1.0, np.ones(5, np.float32), BASE[:4]], False),
    ],
)
def test_the_guard_is_asked_about_others(later: list[Any], is_fine: bool) -> None:
    assert answers(some(), later) == (0, is_fine)


def test_one_array_given_twice() -> None:
    x = np.ones(5)
    assert answers([np.zeros(5), np.zeros(5)], [x, x]) == (0, False)


def test_groups_are_left_to_the_guard() -> None:
    """Arguments that must overlap."""
    recorder = Recorder()
    shared = np.zeros(9)
    arguments = [shared[:6], shared[3:]]
    for value in arguments:
        recorder.input(value)
    assert apart_check(analyse_overlap(arguments, [0]), recorder.graph) is None
