"""From graph to callable: backends by name, variants for overlaps, warnings and errors as in plain Python."""

from __future__ import annotations

import traceback
import warnings

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.aot import aot_eager
from jitmagic.backends.base import get_backend
from jitmagic.errors import UserError
from jitmagic.events import FallbackEvent, recording
from jitmagic.graph.graph import Graph
from jitmagic.runtime.lowering import lower
from jitmagic.tracer.capture import Options

X = np.arange(1.0, 7.0)
BACKENDS = ["eager", "aot_eager"]


def shift(x, y):
    x += 1
    return x + y


def test_an_unknown_backend_is_a_users_error() -> None:
    jm.register_backend("known", lambda graph, examples: aot_eager(graph))
    with pytest.raises(UserError, match="no backend 'unknown'"):
        get_backend("unknown")
    assert lower(Graph(), [], Options(backend="known")).run([]) == []


def test_arguments_that_share_memory_in_another_way_get_a_variant() -> None:
    built = []

    def backend(graph, examples):
        built.append(1)
        return aot_eager(graph)

    jm.register_backend("counted", backend)
    f = jm.compile(shift, backend="counted")
    pairs = [
        lambda b: (b[:4], b[4:8]),
        lambda b: (b[1:5], b[:4]),
        lambda b: (b[:4], b[2:6]),
        lambda b: (b[:4], b[3::-1]),
    ]
    for _ in range(3):
        for make in pairs:
            ours, plain = np.arange(8.0), np.arange(8.0)
            assert f(*make(ours)).tolist() == shift(*make(plain)).tolist()
            assert ours.tolist() == plain.tolist()
    before = len(built)
    assert f.jit.compiles < before
    for make in pairs:
        f(*make(np.arange(8.0)))
    assert len(built) == before


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_warning_comes_from_the_users_line(backend: str) -> None:
    def f(x):
        y = x * 2
        return y / 0

    g = jm.compile(f, backend=backend)
    found = []
    for call in (f, g, g):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            result = call(X)
        found.append((result.tolist(), [(str(w.message), w.filename, w.lineno, w.category) for w in seen]))
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) == 1
    assert g.jit.compiles == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_of_numpy_comes_from_the_users_line(backend: str) -> None:
    def f(x, i):
        y = x * 2
        return y[i]

    g = jm.compile(f, backend=backend)
    g(X, np.array([0, 1]))
    found = []
    for call in (f, g):
        with pytest.raises(IndexError) as raised:
            call(X, np.array([0, 99]))
        entries = traceback.extract_tb(raised.value.__traceback__)[1:]
        found.append((str(raised.value), [(e.filename, e.lineno, e.name) for e in entries]))
    assert found[0] == found[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_leaves_arguments_as_plain_python_leaves_them(backend: str) -> None:
    def f(x, i):
        x += 1
        return x[i]

    g = jm.compile(f, backend=backend)
    g(X.copy(), np.array([0, 1]))
    ours, plain = X.copy(), X.copy()
    for call, x in ((f, plain), (g, ours)):
        with pytest.raises(IndexError):
            call(x, np.array([99, 0]))
    assert ours.tolist() == plain.tolist()


def test_code_that_keeps_giving_up_is_left_to_plain_python() -> None:
    def f(x):
        return x / 0

    g = jm.compile(f, backend="aot_eager")
    with recording() as events, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            g(X)
    [event] = [e for e in events if isinstance(e, FallbackEvent)]
    assert "had to give up in 8 calls" in event.reason
    assert "errstate" in event.hint
    assert g.jit.calls == 20


def test_random_draws_happen_once_even_if_the_call_fails() -> None:
    def f(x, i):
        y = x + np.random.rand(x.size)
        return y[i]

    g = jm.compile(f, backend="aot_eager")
    streams = []
    for call in (f, g):
        np.random.seed(2)
        call(X, np.array([1]))
        with pytest.raises(IndexError):
            call(X, np.array([99]))
        streams.append(np.random.rand())
    assert streams[0] == streams[1]


def picks_for_nobody(x):
    np.isinf(x[..., [0, 5]])
    return x * 2.0


def test_what_nobody_reads_is_out_of_bounds_all_the_same() -> None:
    compiled = jm.compile(picks_for_nobody)
    np.testing.assert_array_equal(compiled(X), X * 2.0)
    for x in (X[:3], X[:3], X[:0]):
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(x)
