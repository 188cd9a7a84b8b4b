"""Kernels whose innermost loop takes few turns: many rows in one tile, NumPy's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native import codegen
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.config import configure
from tests.backends.building import Recorder, assert_agrees


def softmax(x: Any, b: Any) -> Any:
    y = x * 0.5 + b
    powers = np.exp(y - y.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True), powers.mean(axis=-1)


def rectified(x: Any, b: Any) -> Any:
    y = x + b
    return np.maximum(y, 0), y > 0, np.tanh(y) * x[..., :1]


def with_gaps(x: Any, b: Any) -> Any:
    """One operand whose rows do not follow each other, one that has one element for each row."""
    return np.exp(x[..., :-1] + b[1:]) * x.sum(axis=-1)[..., None]


def raised(x: Any, b: Any) -> Any:
    """NumPy squares where the exponent of a row is 2, and asks the mathematics library elsewhere."""
    return np.power(x + 1.5, np.broadcast_to(b[:1] * 0 + 2.0, x.shape)) + np.power(x + 1.5, x[..., :1] * 0 + 2.0)


def over_operand(x: Any, b: Any) -> Any:
    y = x - b
    np.exp(y, out=y)
    y -= y[..., -1:]
    return y


SHAPES = [(7, 2), (33, 16), (2, 3, 50, 10), (9, 128), (9, 129), (2, 1000)]


@pytest.mark.parametrize(("shape", "dtype"), [*((s, "f4") for s in SHAPES), ((33, 16), "f8")], ids=str)
def test_rows_of_every_length(shape: tuple[int, ...], dtype: str) -> None:
    """Bits, memory order and shape of every result, with special values among the elements."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal(shape).astype(dtype)
    x.flat[:: max(3, x.size // 11)] = -0.0
    with configure(background=False, demote=False):
        for function in (softmax, rectified, raised, over_operand, with_gaps):
            b = rng.standard_normal(shape[-1:]).astype(dtype)
            compiled = jm.compile(function)
            for k in range(3):
                expected, found = function(x + k, b), compiled(x + k, b)
                for p, q in zip(*(v if isinstance(v, tuple) else (v,) for v in (expected, found)), strict=True):
                    assert (p.dtype, p.shape, p.strides) == (q.dtype, q.shape, q.strides)
                    assert p.tobytes() == q.tobytes(), function
            assert not compiled.jit.breaks()


def test_threads_share_short_rows() -> None:
    """Chunks of rows begin anywhere in the array."""
    x = np.random.default_rng(5).standard_normal((50021, 7))
    b = x[0]
    with configure(background=False, demote=False, threads=3):
        compiled = jm.compile(softmax)
        for _ in range(3):
            for p, q in zip(softmax(x, b), compiled(x, b), strict=True):
                assert p.tobytes() == q.tobytes()


def test_conditions_of_short_rows_are_heard() -> None:
    """An overflow in one row of a tile warns as it does in NumPy."""
    x = np.zeros((50, 5))
    x[30, 2] = 1000.0
    with configure(background=False, demote=False):
        compiled = jm.compile(rectified_exp)
        for _ in range(3):
            with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
                found = compiled(x, x[0])
        with np.errstate(over="ignore"):
            assert found.tobytes() == rectified_exp(x, x[0]).tobytes()


def rectified_exp(x: Any, b: Any) -> Any:
    return np.maximum(np.exp(x + b), 0.5)


def test_repeated_operands_are_read_where_they_lie() -> None:
    """``np.broadcast_to`` is no array of its own to a kernel."""
    x, b = np.random.default_rng(6).random((20, 30)), np.random.default_rng(7).random((20, 1))
    recorder = Recorder()
    wide, narrow = recorder.input(x), recorder.input(b)
    once = recorder.call("multiply", wide, recorder.call("broadcast_to", narrow, (20, 30)))
    row = recorder.call("getitem", wide, 3)
    graph = recorder.finish(recorder.call("add", once, recorder.call("broadcast_to", row, (20, 30))))
    program = compile_graph(graph)
    assert_agrees(program, graph, [x, b])
    assert [len(k.nodes) for k in program.kernels] == [2]
    assert "ndarray" not in program.source
    assert "broadcast" not in program.source


def test_they_do_not_take_numbas_long_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel that the native lowering does not know takes ten times as long to compile."""
    compile_text, unknown = codegen._compile, []

    def noted(source: str, name: str, *rest: Any) -> Any:
        if name == "kernel":
            unknown.append(source)
        return compile_text(source, name, *rest)

    monkeypatch.setattr(codegen, "_compile", noted)
    x = np.random.default_rng(8).standard_normal((50, 9))
    with configure(background=False, demote=False, cache_dir=tmp_path):
        for function in (softmax, rectified, raised, over_operand, with_gaps):
            jm.compile(function)(x, x[0])
    assert not unknown
