"""The code in front of a compiled function: to its frame, or past it to the plain function for a number of calls."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import cloudpickle
import numpy as np
import pytest

import jitmagic as jm
from jitmagic.runtime.trampoline import Link, Target, link_in, make_byway, make_trampoline


def function(a: Any, /, b: Any, *rest: Any, key: Any, **more: Any) -> Any:
    if key == "fail":
        raise KeyError(key)
    return "plain", a, b, rest, key, more


def run(*values: Any) -> Any:
    return "run", *values


def framed() -> tuple[Target, Link]:
    frame = Target()
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


def test_a_function_that_plain_python_won_can_be_sent_elsewhere() -> None:
    def squares(x: Any) -> Any:
        return x.T

    compiled = jm.compile(squares)
    x = np.ones(3)
    compiled(x)
    frame = compiled.jit.frame
    frame.demote(frame.entries[0])
    arrived = cloudpickle.loads(cloudpickle.dumps(compiled))
    assert [arrived(x).tobytes() for _ in range(200)] == [x.tobytes()] * 200
    assert arrived.jit.calls > 0
    assert compiled(x).tobytes() == x.tobytes()
    compiled.jit.clear()
    assert (compiled(x).tobytes(), compiled.jit.calls) == (x.tobytes(), 1)
