"""The code in front of a compiled function: to its frame, or past it to the plain function for a number of calls."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest

from jitmagic.runtime.trampoline import Link, Target, link_in, make_byway, make_trampoline


class Frame(Target):
    __slots__ = ("plain",)

    plain: Any


def function(a: Any, /, b: Any, *rest: Any, key: Any, **more: Any) -> Any:
    if key == "fail":
        raise KeyError(key)
    return "plain", a, b, rest, key, more


def run(*values: Any) -> Any:
    return "run", *values


def framed() -> tuple[Frame, Link]:
    frame = Frame()
    frame.plain, frame.run = function, run
    return frame, Link(frame)


def test_a_byway_calls_the_plain_function_until_it_is_used_up() -> None:
    frame, link = framed()
    called = FunctionType(make_byway(function.__code__, link, iter([()] * 2)), {})
    found = [called(1, 2, 3, key=4, other=5) for _ in range(3)]
    plain = ("plain", 1, 2, (3,), 4, {"other": 5})
    assert found == [plain, plain, ("run", 1, 2, (3,), 4, {"other": 5})]
    assert link_in(called.__code__) is link
    assert link() is frame


def test_an_exception_leaves_a_byway_as_it_leaves_the_plain_function() -> None:
    frame, link = framed()
    called = FunctionType(make_byway(function.__code__, link, iter([()])), {})
    with pytest.raises(KeyError) as caught:
        called(1, 2, key="fail")
    entries = [entry.frame.code.raw for entry in caught.traceback]
    assert entries[1:] == [frame.plain.__code__]


def test_a_trampoline_calls_the_frame() -> None:
    frame, link = framed()
    called = FunctionType(make_trampoline(function.__code__, link), {})
    assert called(1, 2, 3, key=4) == ("run", 1, 2, (3,), 4, {})
    assert link_in(called.__code__)() is frame  # type: ignore[misc]  # it has a link
