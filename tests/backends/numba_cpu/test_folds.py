"""Sums and means fused with what they sum: NumPy's order of additions, bit for bit."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.base import Bail
from jitmagic.backends.numba_cpu.program import Program, compile_graph
from jitmagic.config import configure
from jitmagic.graph import Graph
from tests.backends.building import Recorder, assert_agrees
from tests.conformance.programs import load


def both(x: Any, axis: Any = None, kind: str = "sum") -> tuple[Program, Graph]:
    """``kind`` of ``x * x`` and of ``-x`` in one graph."""
    recorder = Recorder()
    node = recorder.input(x)
    options = {} if axis is None else {"axis": axis}
    squares, negated = recorder.call("multiply", node, node), recorder.call("negative", node)
    graph = recorder.finish(recorder.call(kind, squares, **options), recorder.call(kind, negated, **options))
    return compile_graph(graph), graph


LENGTHS = [*range(1, 40), 127, 128, 129, 136, 255, 256, 257, 1000, 8191, 8192, 8193, 40000, 1000003]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_sums_of_every_length(dtype: str, kind: str) -> None:
    """Blocks of eight, of 128, halves, tails, and sums that threads share; one kernel text for all lengths."""
    rng = np.random.default_rng(1)
    texts = set()
    for n in LENGTHS[1:]:
        x = (rng.standard_normal(n) * 10.0 ** rng.integers(-5, 5, n)).astype(dtype)
        program, graph = both(x, kind=kind)
        assert program.extern_count == 0
        assert_agrees(program, graph, [x])
        texts.add(program.kernels[0].source)
    assert len(texts) == 1


def test_sums_of_0_to_1000_elements() -> None:
    """One kernel serves every length from 2 on; shorter ones are left to NumPy."""
    x = np.random.default_rng(2).standard_normal(1000)
    for n in [*range(40), *range(40, 1000, 17), 1000]:
        program, graph = both(x[:n].copy())
        assert_agrees(program, graph, [x[:n].copy()])


SHAPES = [(3, 5), (100, 300), (9000, 2), (2, 9000), (1, 7), (7, 1), (4, 5, 6), (3, 900, 2), (2, 3, 4, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("order", ["C", "F", "permuted"])
def test_sums_along_axes(shape: tuple[int, ...], order: str) -> None:
    """All sets of axes, C and Fortran order, axes of one element; what has no loop is left to NumPy."""
    x = np.random.default_rng(3).standard_normal(shape)
    x = x if order == "permuted" else np.asarray(x, order=order)  # type: ignore[call-overload]  # a literal
    if order == "permuted":
        x = x.transpose(1, 0, *range(2, x.ndim)).copy().transpose(1, 0, *range(2, x.ndim))
    subsets = [a for count in range(1, x.ndim + 1) for a in itertools.combinations(range(x.ndim), count)]
    for axes, kind in zip(subsets, itertools.cycle(("sum", "mean"))):  # every kernel is compiled: one kind for each
        program, graph = both(x, axes, kind)
        assert_agrees(program, graph, [x])


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_negative_zeros_sum_to_zero(axis: int | None) -> None:
    """NumPy starts from 0.0."""
    x = np.zeros((3, 40))
    program, graph = both(x, axis)
    assert_agrees(program, graph, [x])
    assert_agrees(program, graph, [-x])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "?"])
def test_whole_numbers_wrap(dtype: str) -> None:
    """In the dtype that NumPy sums in."""
    x = np.random.default_rng(4).integers(0, 2, (70, 90)).astype(dtype)
    for axis in (None, 0, 1):
        recorder = Recorder()
        node = recorder.input(x)
        graph = recorder.finish(recorder.call("sum", recorder.call("bitwise_xor", node, node), axis=axis))
        assert_agrees(compile_graph(graph), graph, [x])


def test_folds_of_functions_and_of_several_values_share_a_kernel() -> None:
    """exp(x), its sum and the sum of its square: one pass, one kernel."""
    x = np.random.default_rng(5).standard_normal(50_000)
    recorder = Recorder()
    e = recorder.call("exp", recorder.input(x))
    graph = recorder.finish(e, recorder.call("sum", e), recorder.call("mean", recorder.call("multiply", e, e)))
    program = compile_graph(graph)
    assert len(program.kernels) == 1
    assert program.extern_count == 0
    assert_agrees(program, graph, [x])


def test_a_small_softmax_runs_in_two_kernels() -> None:
    """What reads a sum runs after it. (Large ones: ``test_chains``.)"""
    x = np.random.default_rng(6).standard_normal((20, 30))
    recorder = Recorder()
    e = recorder.call("exp", recorder.call("multiply", recorder.input(x), 0.5))
    total = recorder.call("sum", e, axis=1, keepdims=True)
    graph = recorder.finish(recorder.call("multiply", recorder.call("true_divide", e, total), 2.0))
    program = compile_graph(graph)
    assert len(program.kernels) == 2
    assert_agrees(program, graph, [x])


def test_threads_do_not_change_sums() -> None:
    """One thread and four give equal bits."""
    x = np.random.default_rng(7).standard_normal((1500, 1100))
    for axis in (None, 0, 1):
        program, graph = both(x, axis)
        for threads in (1, 4):
            with configure(threads=threads):
                assert_agrees(program, graph, [x])


EXTREMES = [np.inf, -np.inf, 0.0, 1e30, np.nan]
AXES: list[Any] = [((40_000,), None), ((7, 90), 1), ((90, 7), 0), ((2, 30, 40), 1)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u8", "i4"])
def test_extremes_tests_and_products(dtype: str) -> None:
    """With NaN and infinities and without, in one kernel with what they fold."""
    rng = np.random.default_rng(8)
    for shape, axis in AXES if dtype == "f8" else AXES[:2]:
        x = (rng.standard_normal(shape) * 50).astype(dtype) if dtype[0] == "f" else rng.integers(0, 99, shape, dtype)
        special = x.copy()
        if dtype[0] == "f":
            special.flat[:: x.size // 5] = np.array([*EXTREMES, 7.0])[: len(special.flat[:: x.size // 5])]
        recorder = Recorder()
        y = recorder.call("subtract", recorder.input(x), np.dtype(dtype).type(3).item())
        kinds = ["max", "min", "any", "all", *(["prod"] if dtype[0] != "f" else [])]
        results = [recorder.call(kind, y, axis=axis) for kind in kinds]
        results += [
            recorder.call(kind, recorder.call("less", y, limit), axis=axis)
            for kind in ("any", "all")
            for limit in (0, 100)
        ]
        graph = recorder.finish(*results)
        program = compile_graph(graph)
        assert program.extern_count == 0
        assert_agrees(program, graph, [x])
        assert_agrees(program, graph, [special])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_zeros_of_both_signs_are_left_to_numpy(kind: str, axis: int | None) -> None:
    """Which one NumPy gives depends on its vectors; zeros of one sign, or with a larger number, are no matter."""
    sign = 1.0 if kind == "max" else -1.0
    x = np.full((50, 60), -sign)
    recorder = Recorder()
    y = recorder.call("multiply", recorder.input(x), 1.0)
    graph = recorder.finish(recorder.call(kind, y, axis=axis))
    program = compile_graph(graph)
    assert program.extern_count == 0
    for zero in (0.0, -0.0):
        x[10, 5:], x[20, 5:] = zero, zero
        assert_agrees(program, graph, [x])
    x[10, 7], x[20] = 0.0, 0.0
    x[20, 7] = -0.0
    with pytest.raises(Bail):
        program([x])
    if axis != 1:
        x[0] = sign
        assert_agrees(program, graph, [x])


def test_softmax_with_its_maximum() -> None:
    """Maximum, exponential and sum along rows: bits of NumPy, nothing but kernels after the first maximum."""
    x = np.random.default_rng(9).standard_normal((60, 500))
    recorder = Recorder()
    scaled = recorder.call("multiply", recorder.input(x), 3.0)
    shifted = recorder.call("subtract", scaled, recorder.call("max", scaled, axis=1, keepdims=True))
    e = recorder.call("exp", shifted)
    graph = recorder.finish(recorder.call("true_divide", e, recorder.call("sum", e, axis=1, keepdims=True)))
    program = compile_graph(graph, smallest=1)
    assert program.extern_count == 0
    assert_agrees(program, graph, [x])


def test_middle_axes_have_a_kernel() -> None:
    """The mean over the middle of three axes, columns added one after the other."""
    x = np.random.default_rng(10).standard_normal((4, 70, 30))
    program, graph = both(x, 1, "mean")
    assert len(program.kernels) == 1
    assert program.extern_count == 0
    assert_agrees(program, graph, [x])


def test_what_follows_a_fold_has_a_kernel_even_alone() -> None:
    """One division of half a million elements is worth threads."""
    x = np.random.default_rng(11).standard_normal((800, 700))
    recorder = Recorder()
    e = recorder.call("exp", recorder.input(x))
    graph = recorder.finish(recorder.call("true_divide", e, recorder.call("sum", e)))
    program = compile_graph(graph)
    assert len(program.kernels) == 2
    assert program.extern_count == 0
    assert_agrees(program, graph, [x])


def test_a_short_fold_alone_has_a_kernel_and_a_long_one_has_not() -> None:
    """NumPy's functions cost microseconds before they start; its loops are as good as ours."""
    for n, count in ((300, 1), (100_000, 0)):
        recorder = Recorder()
        graph = recorder.finish(recorder.call("mean", recorder.input(np.linspace(0, 1, n))))
        program = compile_graph(graph)
        assert len(program.kernels) == count
        assert_agrees(program, graph, recorder.inputs)


@pytest.mark.parametrize("shape", [(3, 4), (3, 1), (2, 3, 4)])
@pytest.mark.parametrize("name", ["sum", "any"])
def test_all_strides_are_numpys(name: str, shape: tuple[int, ...]) -> None:
    """Those of axes of size 1 too, which ``keepdims`` makes, for every order of the axes in memory."""
    for order in itertools.permutations(range(len(shape))):
        x = np.ones(tuple(shape[a] for a in order)).transpose(np.argsort(order))
        for axis in range(len(shape)):
            recorder = Recorder()
            node = recorder.input(x)
            doubled = recorder.call("multiply", node, 2.0)
            graph = recorder.finish(doubled, recorder.call(name, doubled, axis=axis, keepdims=True))
            found = compile_graph(graph)([x])
            wanted = [x * 2.0, getattr(x * 2.0, name)(axis=axis, keepdims=True)]
            assert [a.strides for a in found] == [a.strides for a in wanted], (order, axis)
            assert all(a.flags.owndata for a in found)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_a_fold_of_good_numbers_never_gives_up(name: str, dtype: str) -> None:
    fold = getattr(np, name)

    def f(x: Any) -> Any:
        return fold(x)

    compiled = jm.compile(f)
    x = np.linspace(0.5, 1.5, 37).astype(dtype)
    with np.errstate(all="warn"), jm.configure(demote=False):
        for _ in range(12):
            assert compiled(x).tobytes() == fold(x).tobytes()
    assert "give up" not in str(compiled.jit.breaks())


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("expression", ["v.mean()", "np.mean(v)", "(v * 2).mean()", "v.var()", "v.sum() / len(v)"])
def test_the_mean_of_what_turns_out_to_be_nothing(expression: str, dtype: str) -> None:
    """The kernel was compiled for some elements; how many there are, only the data tell."""
    f = load(f"def f(x):\n    v = x[x > 0]\n    return {expression}\n")["f"]
    compiled = jm.compile(f)
    for values in ([1, 2, 0, 4], [0, 0, 0, 0], [0, 0], [3, 4, 5, 0], [0] * 300, []):
        x = np.array(values, dtype)
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            wanted = f(x)
        with warnings.catch_warnings(record=True) as given, jm.configure(demote=False):
            warnings.simplefilter("always")
            found = compiled(x)
        assert (type(found), repr(found)) == (type(wanted), repr(wanted)), values
        assert [str(w.message) for w in given] == [str(w.message) for w in expected], values
