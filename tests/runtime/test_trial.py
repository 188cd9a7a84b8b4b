"""Never slower: the first calls of an entry are timed in turns with plain calls, and the slower one goes."""

from __future__ import annotations

import numpy as np
import pytest

from jitmagic import configure
from jitmagic.events import DemotionEvent, recording
from jitmagic.runtime import measuring
from jitmagic.runtime.function import compile_callable
from jitmagic.runtime.lowering import Lowered, lower
from jitmagic.runtime.serving import Server
from jitmagic.runtime.trial import Trial
from jitmagic.tracer.capture import Options
from tests.runtime.captures import EAGER, Tracer

X = np.arange(4.0)
MS = 1_000_000


def play(compiled_ns: list[int], plain_ns: list[int]) -> tuple[str, str]:
    """The order of the calls (c and p), and the verdict."""
    trial, order = Trial(), ""
    times = {"c": iter(compiled_ns), "p": iter(plain_ns)}
    while not trial.verdict and len(order) < 100:
        kind = "p" if trial.wants_plain else "c"
        order += kind
        (trial.add_plain if kind == "p" else trial.add_compiled)(next(times[kind]))
    return order, trial.verdict


@pytest.mark.parametrize(
    ("compiled_ns", "plain_ns", "expected"),
    [
        ([10**9, MS], [5 * MS], ("ccp", "keep")),
        ([10**9, MS, MS, MS], [1.9 * MS] * 3, ("ccpcpcp", "keep")),
        ([10**9, 5 * MS, 5 * MS, 5 * MS], [MS] * 3, ("ccpcpcp", "demote")),
        ([10**9, 5 * MS, MS, 5 * MS], [1.1 * MS, 9 * MS, 9 * MS], ("ccpcpcp", "keep")),
        ([10**9, 1.02 * MS, 1.02 * MS, 1.02 * MS], [MS] * 3, ("ccpcpcp", "keep")),
        ([10**9] + [240] * 8, [100] * 8, ("c" + 8 * "cp", "keep")),
        ([10**9] + [2400] * 8, [9000] * 7 + [1000], ("c" + 8 * "cp", "demote")),
        ([10**9] + [1900] * 40, [2700] * 9 + [600] * 31, ("c" + 10 * "cp", "demote")),
        ([10**9] + [1900] * 40, [2700] * 40, ("c" + 40 * "cp", "keep")),
        ([10**9] + [1900] * 40, [1500] * 40, ("c" + 40 * "cp", "demote")),
    ],
    ids=[
        "clearly faster",
        "a little faster",
        "slower",
        "one slow call does not count",
        "within 3 %",
        "within 150 ns",
        "short",
        "brief, and slower once it is warm",
        "brief, and a little faster",
        "brief, and a little slower",
    ],
)
def test_calls_and_verdict(compiled_ns: list[int], plain_ns: list[int], expected: tuple[str, str]) -> None:
    assert play(compiled_ns, plain_ns) == expected


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(measuring, "time", made)
    return made


def timed_function(clock: Clock, compiled_ns: int, plain_ns: int):
    """A function whose plain and compiled calls take these times, and the list of who served."""
    served: list[str] = []

    def f(x):
        clock.now += plain_ns
        served.append("plain")
        return x * 1.0

    def slow_lower(graph, examples, options):
        def run(arguments):
            clock.now += compiled_ns
            served.append("compiled")
            return list(arguments)

        return Lowered(run)

    return compile_callable(f, Options(backend="numba"), Server(Tracer(), slow_lower)), served


def test_a_winner_is_probed_once_and_stays(clock: Clock) -> None:
    f, served = timed_function(clock, 1 * MS, 9 * MS)
    for _ in range(6):
        assert f(X).tolist() == X.tolist()
    assert served == ["compiled", "compiled", "plain", "compiled", "compiled", "compiled"]
    assert f.jit.hits == 5


def test_a_loser_is_demoted_and_told_with_both_times(clock: Clock) -> None:
    f, served = timed_function(clock, 9 * MS, 1 * MS)
    with recording() as events:
        for _ in range(12):
            assert f(X).tolist() == X.tolist()
    [event] = [e for e in events if isinstance(e, DemotionEvent)]
    assert (event.compiled_ns, event.plain_ns) == (9 * MS, 1 * MS)
    assert served[7:] == ["plain"] * 5
    assert len(served) == 12


def test_a_demoted_function_looks_at_its_guards_again_now_and_then(clock: Clock) -> None:
    f, served = timed_function(clock, 9 * MS, 1 * MS)
    for _ in range(20):
        f(X)
    for _ in range(70):
        assert f(X[:2]).tolist() == X[:2].tolist()
    assert f.jit.entries == 2
    assert len(served) == 90


def test_a_call_is_never_made_twice(clock: Clock) -> None:
    for times in ((9 * MS, MS), (MS, 9 * MS), (MS, MS), (900, 800)):
        f, served = timed_function(clock, *times)
        for n in range(1, 25):
            f(X)
            assert len(served) == n


def test_backends_that_are_asked_for_are_not_measured() -> None:
    tracer = Tracer()
    f = compile_callable(lambda x, y: x * y, EAGER, Server(tracer, lower))
    f(X, X)
    assert f.jit.frame.entries[0].trial is None


def test_measuring_can_be_switched_off(clock: Clock) -> None:
    with configure(demote=False):
        f, served = timed_function(clock, 9 * MS, 1 * MS)
        for _ in range(9):
            f(X)
    assert served == ["compiled"] * 9
