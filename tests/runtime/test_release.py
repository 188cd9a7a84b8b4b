"""What a call was given is let go when it ends, without a garbage collection."""

from __future__ import annotations

import contextlib
import gc
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def straight(x: Any) -> Any:
    return x * 2 + 1


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("plain", [straight])
@pytest.mark.parametrize("backend", ["numba", "aot_eager"])
def test_no_array_of_a_call_that_compiled_is_kept(plain: Callable[[Any], Any], backend: str) -> None:
    compiled = jm.compile(plain, backend=backend)
    for size in (3, 4, 5):  # static sizes, then a symbol, then a hit
        x = np.ones(size)
        watched = weakref.ref(x)
        compiled(x)
        del x
        assert watched() is None


class _Holder:
    x = np.ones(3)


@jm.compile
def _after_a_break(a: _Holder) -> object:
    b = a.x + 1
    open(os.devnull).close()
    return b * 2


@jm.compile
def _in_a_loop(a: _Holder) -> object:
    b = a.x
    for i in range(3):
        open(os.devnull).close()
        b = b + i
    return b


@jm.compile
def _in_a_block(a: _Holder) -> object:
    with np.errstate(all="ignore"):
        return open(os.devnull).close() or a.x + 1


@jm.compile
def _that_fails(a: _Holder) -> object:
    b = a.x * 2
    return b[open(os.devnull).close() or 7]


@pytest.mark.parametrize("function", [_after_a_break, _in_a_loop, _in_a_block, _that_fails])
def test_arguments_die_when_the_call_ends(function: Any) -> None:
    """Without the garbage collector, in the call that compiles too: a graph break leaves no cycle."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            argument = _Holder()
            alive = weakref.ref(argument)
            with contextlib.suppress(IndexError):
                function(argument)
            del argument
            assert alive() is None
    finally:
        gc.enable()
