"""How often a changing size, int or float is compiled: the rows on dynamic values, as call sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def a(*shape: int) -> np.ndarray:
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def double(x: Any) -> Any:
    return x * 2


def times(x: Any, n: Any) -> Any:
    return x * n


def counts(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], **settings: Any) -> list[int]:
    """The number of compiles after each call; every answer is compared with the plain one."""
    with jm.configure(**settings), np.errstate(all="ignore"):
        f = jm.compile(function, backend="aot_eager")
        found = []
        for arguments in calls:
            plain = outcome(function, arguments)
            assert outcome(f, arguments) == plain
            found.append(f.jit.compiles)
    return found


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    copies = [v.copy() if isinstance(v, np.ndarray) else v for v in arguments]
    if len({id(v) for v in arguments}) < len(arguments):
        copies = [copies[0]] * len(copies)
    try:
        result = function(*copies)
    except Exception as error:
        return type(error), str(error)
    array = np.asarray(result)
    return type(result), array.dtype, array.shape, array.tobytes(), [str(v) for v in copies]


def add_into(x: Any, y: Any) -> Any:
    x += 1
    return x + y


x2, y2 = a(2), a(2) * 3


@pytest.mark.parametrize(
    ("function", "calls", "expected"),
    [
        pytest.param(times, [(x2, x2), (x2, y2), (y2, y2)], [1, 2, 2], id="B04"),
        pytest.param(add_into, [(x2, y2), (x2, x2)], [1, 2], id="B05"),
        pytest.param(times, [(x2, float("nan"))] * 3, [1, 1, 1], id="B22 nan"),
        pytest.param(lambda x, s: np.copysign(x, s), [(x2, 0.0), (x2, -0.0)], [1, 2], id="B22 zero"),
        pytest.param(times, [(x2.astype("f4"), 0.1 * k) for k in range(1, 11)], [1] + [2] * 9, id="B23"),
        pytest.param(times, [(x2, n) for n in (5, 7, 9, 11, 5)], [1, 2, 2, 2, 2], id="B24"),
        pytest.param(times, [(x2, n) for n in (5, 1, 5, 7, 1)], [1, 2, 2, 3, 3], id="B25"),
        pytest.param(double, [(a(4, 5),), (a(6, 5),), (a(8, 5),), (a(8, 7),), (a(9, 11),)], [1, 2, 2, 3, 3], id="B73"),
        pytest.param(double, [(a(5),), (a(6),), (a(1),), (a(0),), (a(9),)], [1, 2, 3, 4, 4], id="B74"),
        pytest.param(
            double, [(a(2, 3),), (a(2, 3, 4),), (a(5, 6, 7),), (a(7, 8),), (a(9, 4),)], [1, 2, 2, 3, 3], id="B75"
        ),
        pytest.param(lambda x: x * x.shape[0], [(a(5),), (a(6),), (a(7),)], [1, 2, 2], id="size as a value"),
        pytest.param(lambda x, y: x + y, [(a(5), a(5)), (a(6), a(6)), (a(6), a(7))], [1, 2, 2], id="G18"),
    ],
)
def test_number_of_compiles(function: Callable[..., Any], calls: list[tuple[Any, ...]], expected: list[int]) -> None:
    assert counts(function, calls) == expected


@pytest.mark.parametrize(
    ("settings", "function", "calls", "expected"),
    [
        pytest.param(
            {"automatic_dynamic_floats": False}, times, [(x2, float(k)) for k in (2, 3, 4)], [1, 2, 3], id="B23 off"
        ),
        pytest.param({"specialize_int": True}, times, [(x2, n) for n in (5, 7, 9)], [1, 2, 3], id="B27"),
        pytest.param(
            {"automatic_dynamic_shapes": False}, double, [(a(5),), (a(6),), (a(7),)], [1, 2, 3], id="B80 automatic"
        ),
    ],
)
def test_number_of_compiles_with_settings(
    settings: dict[str, Any], function: Callable[..., Any], calls: list[tuple[Any, ...]], expected: list[int]
) -> None:
    assert counts(function, calls, **settings) == expected


def test_b26_a_global_counter_becomes_a_symbol_at_its_fourth_value() -> None:
    names: dict[str, Any] = {"K": 5}
    f = make("def f(x): return x * K", names)
    found = []
    for value in (5, 6, 7, 8, 9, 10):
        names["K"] = value
        assert f(x2).tolist() == (x2 * value).tolist()
        found.append(f.jit.compiles)
    assert found[:3] == [1, 2, 3]
    assert found[3:] == [4, 4, 4]


def test_b28_a_dynamic_int_keeps_pythons_meaning() -> None:
    calls = [(np.arange(3, dtype="i1"), n) for n in (3, 5, 7, 300, 2**70, -1)]
    counts(lambda x, n: x + n, calls)
    counts(lambda x, n: x * 2.0**n, [(x2, n) for n in (3, 5, -1)])


def test_g22_a_float_that_keeps_changing_stops_at_the_limit() -> None:
    with jm.configure(entry_limit=8, automatic_dynamic_floats=False):
        f = jm.compile(times, backend="aot_eager")
        for k in range(20):
            assert f(x2, k + 0.5).tolist() == (x2 * (k + 0.5)).tolist()
    assert f.jit.entries == 8
    [event] = f.jit.record.fallbacks
    assert "what kept changing: n (" in event.reason


def make(text: str, names: dict[str, Any]) -> Any:
    import linecache

    filename = f"<dynamic {text}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), names)
    return jm.compile(names["f"], backend="aot_eager")
