"""Floating-point conditions: a kernel bails exactly when somebody listens, and changes nothing."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.graph import Graph
from jitmagic.ops.quiet import outspoken
from tests.backends.building import Recorder, assert_agrees, assert_same
from tests.loops.outcomes import define


def quotient(n: int = 100) -> tuple[Program, Graph, list[np.ndarray]]:
    """``(x / y) + 1`` where one ``y`` is 0."""
    x, y = np.ones(n), np.arange(n) * 1.0
    recorder = Recorder()
    nodes = [recorder.input(x), recorder.input(y)]
    graph = recorder.finish(recorder.call("add", recorder.call("true_divide", *nodes), 1.0))
    return compile_graph(graph), graph, [x, y]


@pytest.mark.parametrize("mode", ["warn", "raise", "print", "call"])
def test_a_condition_that_is_reported_bails(mode: str) -> None:
    program, _, inputs = quotient()
    with np.errstate(divide=mode), pytest.raises(Bail):  # type: ignore[arg-type]  # each is a mode
        program(inputs)


def test_a_condition_that_is_ignored_gives_numpys_result() -> None:
    program, graph, inputs = quotient()
    assert_agrees(program, graph, inputs)


def test_threads_report_too() -> None:
    """The condition is met in one chunk of many."""
    program, _, inputs = quotient(2_000_000)
    with pytest.raises(Bail):
        program(inputs)


@pytest.mark.parametrize("n", [3, 8, 1000])
def test_a_value_that_where_drops_is_still_reported(n: int) -> None:
    """``where(x > 0, sqrt(x), 0)`` warns for negative ``x``, wherever in the vector it stands."""
    x = np.ones(n)
    recorder = Recorder()
    node = recorder.input(x)
    root = recorder.call("sqrt", node)
    graph = recorder.finish(recorder.call("where", recorder.call("greater", node, 0.0), root, 0.0))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    program([x])
    for place in range(min(n, 9)):
        negative = np.where(np.arange(n) == place, -1.0, 1.0)
        with pytest.raises(Bail):
            program([negative])


def test_an_extern_that_warns_or_raises_bails() -> None:
    """Nothing is shown: the plain run shows it."""
    recorder = Recorder()
    node = recorder.input(np.ones((2, 2)))
    graph = recorder.finish(recorder.call("cumsum", recorder.call("log", node)))
    program = compile_graph(graph)
    assert program.extern_count == 2
    with pytest.raises(Bail):
        program([np.zeros((2, 2))])
    with pytest.raises(Bail):
        program([np.array("text")])


def test_a_shape_that_guards_should_have_refused_bails() -> None:
    """Never foreign memory."""
    program, _, _ = quotient()
    with pytest.raises(Bail):
        program([np.ones(50), np.ones(50)])


def test_externs_heed_the_callers_error_state() -> None:
    """What the caller ignores is computed; the caller's state is as before, bail or not."""
    recorder = Recorder()
    node = recorder.input(np.ones(3))
    graph = recorder.finish(recorder.call("cumsum", recorder.call("log", node)))
    program = compile_graph(graph)
    assert_agrees(program, graph, [np.array([0.0, 1.0, -1.0])])
    before = np.geterr()
    for _ in range(2):
        with pytest.raises(Bail):
            program([np.array([0.0, 1.0, 2.0])])
        with np.errstate(divide="ignore"):
            assert program([np.array([0.0, 1.0, 2.0])])[0][0] == -np.inf
    assert np.geterr() == before


NAN = np.array([np.nan, 1.0, 0.25, -0.0, 0.0, np.inf, -np.inf, -1.5, 5e-324, -5e-324] * 30)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_comparing_nan_reports_nothing(dtype: str) -> None:
    """``where(x > 0.5, x * 2, x)`` and its like, for every comparison, NaN on either side, both zeros."""
    x, y = NAN.astype(dtype), NAN[::-1].astype(dtype)
    recorder = Recorder()
    a, b = recorder.input(x), recorder.input(y)
    results = [
        recorder.call("where", recorder.call(name, first, second), recorder.call("multiply", a, 2.0), a)
        for name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")
        for first, second in ((a, 0.5), (a, b))
    ]
    results += [recorder.call(name, a, b) for name in ("maximum", "minimum", "fmax", "fmin")]
    results.append(recorder.call("sign", recorder.call("add", a, 1.0)))
    graph = recorder.finish(*results)
    program = compile_graph(graph)
    assert program.extern_count == 0
    with np.errstate(all="raise"):
        program([x, y])  # (no Bail)
    assert_agrees(program, graph, [x, y])


def test_an_invalid_operation_beside_a_comparison_is_reported() -> None:
    """The comparison hides nothing."""
    recorder = Recorder()
    x = recorder.input(np.ones(300))
    root = recorder.call("sqrt", recorder.call("subtract", x, 1.0))
    graph = recorder.finish(recorder.call("where", recorder.call("greater", x, 0.5), root, x))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    program([np.full(300, np.nan)])
    with pytest.raises(Bail):
        program([np.where(np.arange(300) == 200, 0.0, np.nan)])


def test_loops_of_numpy_hide_no_condition() -> None:
    """``maximum(1 / x, 0)``: NumPy's loop for maximum clears the flags, the division is reported nevertheless."""
    recorder = Recorder()
    x = recorder.input(np.ones(3000))
    graph = recorder.finish(recorder.call("maximum", recorder.call("true_divide", 1.0, x), 0.0))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    program([np.full(3000, np.nan)])
    for place in (0, 1500, 2999):
        with pytest.raises(Bail):
            program([np.where(np.arange(3000) == place, 0.0, 1.0)])


@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, -1, 3, 0])
def test_powers_run_as_numpy_runs_them(exponent: float) -> None:
    """``x ** 2`` is ``square(x)`` in the kernel."""
    recorder = Recorder()
    x = recorder.input(np.random.default_rng(0).uniform(0.1, 9, 3000))
    graph = recorder.finish(recorder.call("add", recorder.call("pow", x, exponent), 1.0))
    program = compile_graph(graph)
    assert program.extern_count == 0
    assert_agrees(program, graph, recorder.inputs)


def test_clip_runs_in_the_kernel() -> None:
    """With numbers, arrays and one bound only."""
    rng = np.random.default_rng(1)
    recorder = Recorder()
    x, low = recorder.input(rng.standard_normal((40, 50))), recorder.input(rng.standard_normal(50))
    y = recorder.call("multiply", x, 3.0)
    bounds = [(0.0, 1.0), (low, 1.0), (None, 0.5), (-0.5, None), (0.0, low)]
    graph = recorder.finish(*(recorder.call("clip", y, *b) for b in bounds))
    program = compile_graph(graph)
    assert program.extern_count == 0
    assert not program.kernels[0].loops.serial
    assert_agrees(program, graph, [NAN[: 40 * 5].repeat(10).reshape(40, 50), recorder.inputs[1]])


def real_part(x: Any) -> Any:
    """Warns twice: about the imaginary part, and about the logarithm of 0."""
    y = x.astype(np.float64)
    return np.log(y) * 2.0 + 1.0


def spread(x: Any) -> Any:
    """Warns in words only if there are less than five elements."""
    return np.var(x, ddof=4) + np.log(x) * 2.0


@pytest.mark.parametrize(("function", "x"), [(real_part, np.zeros(4) + 0j), (spread, np.zeros(3))])
def test_what_an_extern_says_is_said_once_at_the_users_line(function: Any, x: Any) -> None:
    """Messages, categories, files and lines are those of the plain function, call after call."""
    compiled = jm.compile(function)
    for _ in range(3):
        seen = []
        for form in (function, compiled):
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                form(x)
            seen.append([(str(w.message), w.category, w.filename, w.lineno) for w in shown])
        assert seen[0] == seen[1]
        assert len(seen[0]) >= 2


def test_warnings_of_other_threads_stay_warnings() -> None:
    """While an extern runs in one thread, a second one warns and goes on; the filters are as before."""
    inside, done = threading.Event(), threading.Event()

    def run() -> list[Any]:
        inside.set()
        assert done.wait(10)
        warnings.warn("from the extern", stacklevel=1)
        return []

    caught: list[BaseException] = []

    def call() -> None:
        try:
            outspoken(run)()
        except Warning as warning:
            caught.append(warning)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        thread = threading.Thread(target=call)
        thread.start()
        assert inside.wait(10)
        warnings.warn("from another thread", stacklevel=1)
        done.set()
        thread.join()
        assert list(warnings.filters) == before
    assert [str(w.message) for w in shown] == ["from another thread"]
    assert [str(c) for c in caught] == ["from the extern"]


FEW = {  # expressions over values that are one of a few constants, and the condition that they meet
    "1 / m": "divide",
    "(m & ~m) / (m | m)": "invalid",
    "1 / np.where(m, 1.0, 0.0)": "divide",
    "np.float32(1) / np.where(m, np.float32(1), np.float32(0))": "divide",
    "(i - i) / (i - i)": "invalid",
    "1.0 / (i * 0)": "divide",
    "np.where(m, 1e300, 1.0) * np.where(m, 1e300, 1.0)": "over",
    "np.where(m, np.inf, 1.0) - np.where(m, np.inf, 1.0)": "invalid",
    "np.where(m, np.inf, 0.0) * 0": "invalid",
    "np.where(m, 1 / np.where(m, 1.0, 0.0), 0.0)": "divide",
    "(1 / np.sign(x)).sum()": "divide",
    "np.sqrt(np.where(m, 1.0, -1.0))": "invalid",
}


@pytest.mark.parametrize("expression", FEW)
def test_constants_that_a_compiler_could_compute_with_still_report(expression: str) -> None:
    """``1 / where(m, 1.0, 0.0)`` must not become ``where(m, 1.0, inf)``: NumPy divides, and says so."""
    f = define(f"def f(x, m, i):\n    return {expression}\n", "few", np=np)
    compiled = jm.compile(f)
    x, m, i = np.array([1.0, 0.0, -2.0, 3.0] * 5), np.array([True, False] * 10), np.arange(20)
    with jm.configure(demote=False):
        for _ in range(2):
            with np.errstate(all="ignore", **{FEW[expression]: "raise"}), pytest.raises(FloatingPointError):  # type: ignore[arg-type]  # the names are keys
                compiled(x, m, i)
        with np.errstate(all="ignore"):
            assert_same(compiled(x, m, i), f(x, m, i))
    assert compiled.jit.compiles
    assert not compiled.jit.breaks()


GLIMPSED = {  # expressions of which only the sign, the kind or a comparison is asked, and the condition that they meet
    "np.copysign(x * 2, -2.5 / i)": "divide",
    "np.abs(np.copysign(x * 2, 1 / x)) + 1": "divide",
    "np.signbit(-2.5 / i) | (x > 5)": "divide",
    "np.signbit(np.abs(1 / x)) | m": "divide",
    "np.isnan(1 / i) | m": "divide",
    "np.isnan(np.sqrt(x)) | m": "invalid",
    "np.mean(np.isnan(np.sqrt(x - 9)))": "invalid",
    "np.isinf(np.abs(x * 1e300 * 1e300)) & m": "over",
    "(np.abs(1 / i) >= 0) & m": "divide",
    "((1 / i) != (1 / i)) | m": "divide",
    "np.minimum(1 / i, -1) + x": "divide",
    "np.clip(1 / i, 0, 1) * x": "divide",
    "np.where(1 / x >= 0, x + 1, x + 1)": "divide",
    "(1 / np.abs(x)).astype(bool) | m": "divide",
    "np.sum(np.abs(1 / i) >= 0)": "divide",
}


@pytest.mark.parametrize("expression", GLIMPSED)
def test_what_is_only_looked_at_is_computed_all_the_same(expression: str) -> None:
    """``isnan(sqrt(x))`` must not become ``x < 0``: NumPy takes the root, and says so."""
    f = define(f"def f(x, m, i):\n    return {expression}\n", "glimpsed", np=np)
    compiled = jm.compile(f)
    x, m, i = np.array([1.0, 0.0, -2.0, 3.0] * 5), np.array([True, False] * 10), np.arange(20, dtype=np.uint8)
    with jm.configure(demote=False):
        for _ in range(2):
            with np.errstate(all="ignore", **{GLIMPSED[expression]: "raise"}), pytest.raises(FloatingPointError):  # type: ignore[arg-type]  # the names are keys
                compiled(x, m, i)
        with np.errstate(all="ignore"):
            assert_same(compiled(x, m, i), f(x, m, i))
    assert compiled.jit.compiles
    assert not compiled.jit.breaks()
