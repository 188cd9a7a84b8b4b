"""``check=True``: the first call of each entry is compared with plain Python, on copies."""

from __future__ import annotations

import numpy as np

import jitmagic as jm
from jitmagic.events import FallbackEvent, recording

X = np.arange(1.0, 7.0)


def wrong(graph, examples):
    return lambda inputs: [inputs[0] + 1e-9]


jm.register_backend("wrong", wrong)


def double(x):
    return x * 2


def test_an_entry_that_differs_is_left_to_plain_python_and_told() -> None:
    f = jm.compile(double, backend="wrong", check=True)
    with recording() as events:
        for _ in range(3):
            assert f(X).tolist() == double(X).tolist()
    [event] = [e for e in events if isinstance(e, FallbackEvent)]
    assert "result[0] is np.float64(2.0) in plain Python" in event.reason
    assert [c.same for c in f.jit.record.checks] == [False]


def test_each_new_entry_is_checked_once_and_the_call_is_made_once() -> None:
    def f(x):
        x += 1
        return x

    g = jm.compile(f, backend="aot_eager", check=True)
    x = X.copy()
    g(x)
    g(x)
    g(x.astype("f4"))
    assert x.tolist() == (X + 2).tolist()
    assert [c.same for c in g.jit.record.checks] == [True, True]
    assert all(c.compared for c in g.jit.record.checks)


def test_what_cannot_be_done_twice_is_not_checked() -> None:
    log, w = [], np.ones(6)

    def appends(x):
        log.append(1)
        return x + 1

    def writes(x):
        w[0] += 1
        return x + w

    for f in (appends, writes):
        g = jm.compile(f, backend="aot_eager", check=True)
        g(X)
        [found] = g.jit.record.checks
        assert "cannot be done twice" in found.refused
        assert "not checked" in str(g.jit.check(X))
    assert len(log) == 1
    assert w[0] == 2


def test_without_the_option_nothing_is_checked() -> None:
    f = jm.compile(double, backend="aot_eager")
    f(X)
    assert f.jit.record.checks == []
