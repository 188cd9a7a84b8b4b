"""A compiled function that others were compiled along with: however its own calls are served, it means the same."""

from __future__ import annotations

import io
import re
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


def _calls_a_library(x: Any, text: str) -> Any:
    return x + len(re.sub("a+", "b", text))


def _calls_another(x: Any, text: str) -> Any:
    print(end="")
    return x * 2 + _said(text)


def _said(text: str) -> int:
    input_like = io.StringIO(text)
    return len(input_like.read())


def test_what_libraries_do_is_not_compiled_on_its_own_and_what_the_user_wrote_is() -> None:
    for function, compiled_along in ((_calls_a_library, []), (_calls_another, ["_said"])):
        compiled = jm.compile(function)
        for text in ("caat", "ca"):
            assert compiled(X, text).tolist() == function(X, text).tolist()
        callees = [c.__name__ for c, form in compiled.jit.frame.blocks._callees.items() if form is not None]
        assert callees == compiled_along
