"""A recursion that plain Python finishes is finished compiled, at the first call too, and compiles few levels."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import events
from jitmagic.runtime.recursion import may_recur


def opaque(x: Any) -> Any:
    return np.array(x.tolist())


def direct(a: Any, n: int) -> Any:
    return a.sum() if n == 0 else direct(a + 1, n - 1) + 1


def with_a_break(a: Any, n: int) -> Any:
    b = opaque(a + 1)
    return b.sum() if n == 0 else with_a_break(b, n - 1) + 1


def even(a: Any, n: int) -> Any:
    return a.sum() if n == 0 else odd(a + 1, n - 1)


def odd(a: Any, n: int) -> Any:
    return a.sum() * 2 if n == 0 else even(a * 1.0, n - 1)


def shrinking(a: Any, n: int) -> Any:
    return a.sum() if n == 0 else shrinking(a[1:], n - 1) + a[0]


def without_end(a: Any, n: int) -> Any:
    return without_end(a + 1, n + 1)


PROGRAMS = (direct, with_a_break, even, shrinking)
SHRINKING = shrinking  # the name is that of the compiled function while it is tested


def arguments(program: Any, depth: int) -> tuple[Any, int]:
    return np.ones(depth + 1 if program is SHRINKING else 3), depth


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Compile a program under its own name; what it calls by name is compiled then, too."""

    def make(program: Any) -> Any:
        for each in (odd, program):
            monkeypatch.setitem(globals(), each.__name__, jm.compile(each))
        return globals()[program.__name__]

    return make


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    before = sys.getrecursionlimit()
    yield sys.setrecursionlimit
    sys.setrecursionlimit(before)


def on_an_empty_stack(run: Callable[[], Any]) -> Any:
    """What ``run`` gives, or raises, in a thread of its own: frames of pytest stand below nothing there."""
    done: list[Any] = []

    def catch() -> None:
        try:
            done.append(run())
        except RecursionError as error:
            done.append(type(error))

    thread = threading.Thread(target=catch)
    thread.start()
    thread.join()
    return done[0]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_depth_near_the_limit_is_reached(program: Any, compiled: Any, limit: Any) -> None:
    limit(1000)
    plain = on_an_empty_stack(lambda: program(*arguments(program, 800)))
    function = compiled(program)
    for _ in range(3):
        assert on_an_empty_stack(lambda: function(*arguments(program, 800))) == plain


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_raised_limit_is_used_and_few_levels_are_compiled(program: Any, compiled: Any, limit: Any) -> None:
    limit(8000)
    plain = on_an_empty_stack(lambda: program(*arguments(program, 5000)))
    function = compiled(program)
    with events.recording() as seen:
        assert on_an_empty_stack(lambda: function(*arguments(program, 5000))) == plain
    assert len([event for event in seen if isinstance(event, events.CompileEvent)]) <= 12


def test_a_recursion_without_end_is_the_same_error(compiled: Any, limit: Any) -> None:
    limit(1000)
    function = compiled(without_end)
    assert on_an_empty_stack(lambda: function(np.ones(2), 0)) is RecursionError
    assert on_an_empty_stack(lambda: function(np.ones(2), 0)) is RecursionError


def test_a_recursion_of_a_few_levels_stays_compiled(compiled: Any) -> None:
    function = compiled(with_a_break)
    for _ in range(12):
        assert function(np.ones(3), 6) == np.ones(3).sum() + 7 * 3 + 6
    assert not function.jit.record.fallbacks
    assert function.jit.hits > 0


def test_a_function_that_calls_itself_twice_is_not_written_out() -> None:
    """A tree of hundreds of calls would take a minute to compile; each call runs compiled code instead."""

    def halves(x):
        return x.sum() if x.size < 4 else halves(x[: x.size // 2]) + halves(x[x.size // 2 :])

    compiled = jm.compile(halves)
    for n in (1000, 900, 30):
        assert compiled(np.arange(float(n))) == halves(np.arange(float(n)))
    assert [b.code for b in compiled.jit.breaks()][:1] == ["recursion"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_shallow_calls_leave_room_for_deep_ones(program: Any, compiled: Any, limit: Any) -> None:
    """Short calls decide whether compiling pays; whatever they decide, the levels of a deep call fit on the stack."""
    limit(1000)
    plain = on_an_empty_stack(lambda: program(*arguments(program, 850)))
    function = compiled(program)
    for depth in (5, 7, 9, 20, 21, 101, 401):
        function(*arguments(program, depth))
    assert on_an_empty_stack(lambda: function(*arguments(program, 850))) == plain


def test_a_function_is_seen_to_be_reached_from_itself() -> None:
    def alone(n: int) -> Any:
        return np.ones(n)

    def factorial(n: int) -> Any:
        return factorial(n - 1) * n if n else 1

    assert not may_recur(alone)
    assert may_recur(factorial)
    assert may_recur(even)
    assert may_recur(odd)
