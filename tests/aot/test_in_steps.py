"""Functions of NumPy taken apart into steps have NumPy's bits, layout, warnings and errors; others are left to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def chosen(x: Any, y: Any) -> Any:
    return np.select([x < 0.3, x < 0.6], [y, y * 2], y * 3) + 1


def chosen_numbers(x: Any, y: Any) -> Any:
    return np.select([x < 0.3, x < 0.6, y > 0.9], [x, 2.5, y], -0.0) * 2


def chosen_of_numbers(x: Any, y: Any) -> Any:
    """The dtype is that of no array."""
    return np.select([x < 0.3, x < 0.6], [1, 2]) + y


def finite(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.nan_to_num((x - 0.5) / (y - y)), np.nan_to_num((x - x) / (y - y), nan=1.5, posinf=7, neginf=-2.0) * y


def lengths(x: Any, y: Any) -> Any:
    return x / np.linalg.norm(x, axis=-1, keepdims=True), np.linalg.norm(x - y, 1, axis=0), np.linalg.norm(y)


def known_sums(x: Any, y: Any) -> Any:
    holes = np.where(x > 0.5, np.nan, x) * 2
    return np.nansum(holes), np.nansum(holes * y, axis=0), np.nansum(holes, axis=-1, keepdims=True)


def spans(x: Any, y: Any) -> Any:
    return np.ptp(x), np.ptp(x * y, axis=0), (x + y).mean()


def rounded(x: Any, y: Any) -> Any:
    return np.round(x * 100, 2) + np.round(y * 9), np.round(x * 1e4, -2), (x * 7).round(3) * 2


def slopes(x: Any, y: Any) -> Any:
    found = np.gradient(x * 2)
    parts = found if isinstance(found, tuple) else (found,)
    return *(part * 1.5 for part in parts), np.gradient(y, 0.5, axis=0), np.gradient(y, axis=-1, edge_order=2)


def reduced(x: Any, y: Any) -> Any:
    largest, least = np.maximum.reduce(x + 1, axis=None), np.minimum.reduce(x * y)
    return np.add.reduce(x * 2), np.multiply.reduce(y * 1, -1), largest, least, np.add.reduce(x, initial=3.0)


PROGRAMS = [chosen, chosen_numbers, chosen_of_numbers, finite, lengths, known_sums, spans, rounded, slopes, reduced]


def described(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [described(each) for each in value]
    array = np.asarray(value)
    whole = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array
    return type(value), array.dtype, array.shape, array.strides, whole.tobytes()


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return described(function(*arguments))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((40,), "f8"), ((5, 6), "f8"), ((5, 6), "f4"), ((5, 6), "i8"), ((1, 5), "f8"), ((0, 4), "f8")],
    ids=str,
)
def test_bits_and_layout(program: Callable[..., Any], shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(len(shape))
    x, y = (np.asarray(rng.random(shape) * (9 if dtype == "i8" else 1), dtype) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(jm.compile(program), x, y) == outcome(program, x, y)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_layouts_of_operands(program: Callable[..., Any]) -> None:
    x, y = np.random.default_rng(7).random((2, 6, 7))
    compiled = jm.compile(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in ((np.asfortranarray(x), np.asfortranarray(y)), (x, y[::-1])):
            assert outcome(compiled, a, b) == outcome(program, a, b)


def test_steps_are_loops_only() -> None:
    def program(x: Any, y: Any) -> Any:
        scaled = np.nan_to_num(x) / np.linalg.norm(y, axis=1, keepdims=True)
        return np.select([x < 0.3, x < 0.6], [scaled, y], np.round(y, 2))

    compiled = jm.compile(program)
    x, y = np.random.default_rng(0).random((2, 30, 40))
    assert described(compiled(x, y)) == described(program(x, y))
    assert compiled.jit.frame.entries[0].lowered.extern_count == 0


def test_warnings_of_the_steps_are_those_of_the_call() -> None:
    def program(x: Any) -> Any:
        return np.round(x, 3) + 1

    x = np.full(50, 1e308)
    compiled = jm.compile(program)
    with np.errstate(over="raise"):
        with pytest.raises(FloatingPointError) as expected:
            program(x)
        with pytest.raises(FloatingPointError) as found:
            compiled(x)
    assert str(found.value) == str(expected.value)
