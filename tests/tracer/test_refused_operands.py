"""Operators that raise for their operands' types alone: the error is Python's or NumPy's, and the card says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "array and text": lambda x: x * "a",
    "text and array": lambda x: "a" - x,
    "product of matrices": lambda x: x @ "a",
    "compared": lambda x: x < "a",
    "lists": lambda x: ([1] - [2], x),
    "list and text": lambda x: ([1, 2] - "a", x),
    "list by a float": lambda x: ([1] * 2.5, x),
    "dicts": lambda x: ({} + {}, x),
    "sign of a list": lambda x: (-[1], x),
    "a scalar": lambda x: x[0] * "a",
    "a size": lambda x: (len(x) - "a", x),
    "ordered": lambda x: ([1] < "a", x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_card_says_what_is_raised(name: str) -> None:
    plain = PROGRAMS[name]
    compiled = jm.compile(plain)
    x = np.arange(1.0, 4.0)
    with pytest.raises(TypeError) as expected:
        plain(x)
    with pytest.raises(TypeError) as found:
        compiled(x)
    assert (found.type, str(found.value)) == (expected.type, str(expected.value))
    card = " ".join(compiled.jit.report().text.split())
    assert f"this call raises {expected.type.__name__}: " in card
    assert "is not known" not in card


def caught_text(x: Any) -> Any:
    try:
        return x * "a"
    except TypeError as error:
        return str(error), x + 1


def caught_attribute(x: Any) -> Any:
    try:
        return x.sum(axis=5)
    except ValueError as error:
        return error.axis, error.ndim, x + 1  # type: ignore[attr-defined]  # an AxisError


@pytest.mark.parametrize("plain", [caught_text, caught_attribute])
def test_what_numpy_raised_has_its_attributes_when_it_is_caught(plain: Callable[[Any], Any]) -> None:
    compiled = jm.compile(plain)
    x = np.ones(3)
    assert str(compiled(x)) == str(plain(x))
    assert "raises" not in compiled.jit.report().text


def test_the_text_of_an_exception_of_the_users_is_not_asked_for() -> None:
    asked = []

    class Mine(Exception):
        def __str__(self) -> str:
            asked.append(1)
            return "mine"

    @jm.compile
    def f(x: Any) -> Any:
        raise Mine(x.shape)

    with pytest.raises(Mine):
        f(np.ones(3))
    assert not asked
    assert "this call raises Mine" in " ".join(f.jit.report().text.split())
