"""Explaining a miss runs no code of the user's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.tracer.guards.naming import items_now, length_now, name_now


class Hostile:
    """Fails whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")

    def __len__(self) -> int:
        raise AssertionError("its length was asked")

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("it was looped over")


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        (name_now, math.floor, "floor"),
        (name_now, np, "numpy"),
        (name_now, np.sqrt, "sqrt"),
        (name_now, Hostile, "Hostile"),
        (name_now, items_now, "items_now"),
        (items_now, {"a": 1, "b": 2}, ["a", "b"]),
        (length_now, [1, 2, 3], "a list of 3"),
    ],
)
def test_a_value_is_described_from_outside(words: Any, value: Any, expected: Any) -> None:
    assert words(value) == expected


@pytest.mark.parametrize("words", [name_now, items_now, length_now])
def test_of_a_users_object_only_the_class_is_named(words: Any) -> None:
    assert words(Hostile()) == "Hostile"


def repeat(items: Any, x: Any) -> Any:
    total = x * 0
    for _ in items:
        total = total + x
    return total


@pytest.mark.parametrize("first", [{"a": 1, "b": 2}, {1, 2}, [1, 2], (1, 2)], ids=lambda value: type(value).__name__)
def test_a_generator_after_a_container_is_not_used_up(first: Any) -> None:
    """The first guard that fails is told with the present value: only its class is looked at."""
    function = jm.compile(repeat, backend="eager")
    x = np.arange(3.0)
    assert function(first, x).tolist() == repeat(first, x).tolist()
    assert function((c for c in "abc"), x).tolist() == [0.0, 3.0, 6.0]
