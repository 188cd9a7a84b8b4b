"""What a call without a graph break was given is let go when it ends, without a garbage collection."""

from __future__ import annotations

import gc
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
