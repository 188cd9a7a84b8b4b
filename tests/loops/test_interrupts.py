"""Ctrl-C in a long loop: it stops soon, and shows a state that plain Python might have shown."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

HANG_S = 60  # nothing here runs that long if the loop stops at all


def spin(n):
    x = 1
    while x > 0:
        x = (x * 5 + 1) % n + 1
    return x


def one_loop(x):
    s = 0.0
    for i in range(10**12):
        s += x[i % 7]
    return s


def nested(x, n):
    s = 0.0
    for _t in range(n):
        for i in range(len(x)):
            for j in range(3):
                s += x[i] * j
    return s


def writes(x, n):
    for t in range(n):
        for i in range(len(x)):
            x[i] = t
    return x


def independent(x, y, n):
    for i in range(len(x)):
        s = 0.0
        for k in range(n):
            s += y[k % 5]
        x[i] = s
    return x


LOOPS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], tuple[Any, ...]]] = [
    (spin, lambda: (10**6,), ()),
    (one_loop, lambda: (np.ones(9),), ()),
    (nested, lambda: (np.ones(1000), 10**9), (np.ones(1000), 3)),
    (writes, lambda: (np.full(50, -1.0), 10**9), (np.full(50, -1.0), 3)),
    (independent, lambda: (np.zeros(10**5), np.ones(9), 10**7), (np.zeros(10), np.ones(9), 3)),
]


def stopped_after(function: Callable[..., Any], arguments: tuple[Any, ...], delay_s: float = 0.5) -> float:
    """Seconds from the signal to KeyboardInterrupt."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay_s, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        function(*arguments)
    elapsed = time.perf_counter() - sent[0]
    timer.join()
    return elapsed


@pytest.mark.parametrize(("function", "make", "short"), LOOPS, ids=[f.__name__ for f, _, _ in LOOPS])
def test_ctrl_c_stops_a_loop_that_runs_for_minutes(function: Any, make: Any, short: Any) -> None:
    """One loop, nested loops, loops that write, and rounds on several threads."""
    compiled = jm.compile(function)
    if short:
        compiled(*short)
    assert stopped_after(compiled, make(), 2.0) < HANG_S


def sweeps(x, y, n):
    for t in range(n):
        for i in range(len(x)):
            x[i] = t
        for i in range(len(x)):
            y[i] = 2 * x[i] + 1


def fresh(x, n):
    room = np.zeros(len(x))
    for t in range(n):
        for i in range(len(x)):
            room[i] = t
            x[i] = room[i]
    return room


def after_a_print(x, n):
    print("begin")
    for t in range(n):
        for i in range(len(x)):
            x[i] = t


def stopped_late_enough(compiled: Any, make: Callable[[], list[Any]], has_begun: Callable[[list[Any]], bool]) -> Any:
    """The arguments after Ctrl-C in the loop: the first signals may come while the function is compiled."""
    for delay_s in (0.3, 1.0, 4.0, 16.0):
        given = make()
        stopped_after(compiled, tuple(given), delay_s)
        if has_begun(given):
            return given
    pytest.fail("Ctrl-C left nothing of what the loop had written")


def test_what_was_written_before_ctrl_c_is_one_of_plain_pythons_states() -> None:
    """All elements before some place have a later round's number than those after it."""
    for function in (writes, fresh):
        compiled = jm.compile(function)
        compiled(np.full(50, -1.0), 3)
        x, _ = stopped_late_enough(compiled, lambda: [np.full(50, -1.0), 10**9], lambda given: given[0][0] > 2)
        assert np.unique(x).size <= 2
        assert (np.diff(x) <= 0).all()
        assert x[0] - x[-1] in (0, 1)


def test_arrays_are_those_of_one_moment() -> None:
    """One of two loops that alternate is somewhere, the other one has all of this round or of the last."""
    compiled = jm.compile(sweeps)
    compiled(np.zeros(50), np.zeros(50), 3)
    x, y, _ = stopped_late_enough(compiled, lambda: [np.zeros(50), np.zeros(50), 10**9], lambda given: given[0][0] > 9)
    for each in (x, (y - 1) / 2):
        assert (np.diff(each) <= 0).all()
        assert each[0] - each[-1] in (0, 1)
    if np.unique(x).size > 1:
        assert (y == 2 * x[-1] + 1).all()
    else:
        assert y[0] in (2 * x[0] + 1, 2 * x[0] - 1)


def test_what_happened_before_the_loop_is_not_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A call that prints first has either printed, or done nothing at all."""
    compiled = jm.compile(after_a_print)
    compiled(np.zeros(50), 3)
    capsys.readouterr()
    x = np.zeros(50)
    stopped_after(compiled, (x, 10**9), 2.0)
    assert capsys.readouterr().out or not x.any()
