"""A compiled function that others were compiled along with: however its own calls are served, it means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm

X = np.arange(6.0)


@jm.compile
def _scaled(x: Any) -> Any:
    return x * 2 + 1


@jm.compile
def _length(x: Any) -> int:
    return len(x)


@jm.compile
def _factorial(n: int) -> int:
    return 1 if n < 2 else n * _factorial(n - 1)


def _calls_scaled(x: Any) -> Any:
    return _scaled(x) * 3


def _calls_length(x: Any) -> Any:
    return x * _length(x)


def _calls_factorial(x: Any) -> Any:
    return x * _factorial(4)


CALLEES = [
    (_calls_scaled, lambda: _scaled(X), "its door to compiled code opens"),
    (_calls_length, lambda: _length(X), "it gets its own code back"),
    (_calls_factorial, lambda: _factorial(7), "it calls itself"),
]


@pytest.mark.parametrize(("caller", "call", "why"), CALLEES, ids=[c[2] for c in CALLEES])
@pytest.mark.parametrize("first", ["the caller first", "the callee first"])
def test_calls_of_a_callee_compile_no_caller_again(caller: Any, call: Any, why: str, first: str) -> None:
    compiled = jm.compile(caller)
    if first == "the callee first":
        call()
    for _ in range(6):
        assert compiled(X).tolist() == caller(X).tolist()
        for _ in range(4):
            call()
    assert compiled.jit.compiles == 1, [str(r) for r in jm.recompiles(compiled)]
    assert compiled.jit.hits == 5


def test_another_code_of_a_callee_is_noticed() -> None:
    @jm.compile(backend="eager")
    def g(x: Any) -> Any:
        return x * 2

    @jm.compile(backend="eager")
    def f(x: Any) -> Any:
        return g(x) + 1

    assert f(X).tolist() == (X * 2 + 1).tolist()
    served = g.__code__
    g.__code__ = (lambda x: x * 5).__code__
    assert f(X).tolist() == (X * 5 + 1).tolist()
    g.__code__ = served
    assert f(X).tolist() == (X * 2 + 1).tolist()
    g.__code__ = g.jit.plain.__code__
    assert f(X).tolist() == (X * 2 + 1).tolist()
    assert f.jit.compiles == 2
