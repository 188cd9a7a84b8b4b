"""Views in which elements stand several times: read, reduced, returned, and seen after a write to their base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as windows

import jitmagic as jm


def _mean(x: Any) -> Any:
    return windows(x, 3, axis=0).mean(axis=-1)


def _median(x: Any) -> Any:
    return np.median(windows(x, (2,) * x.ndim), axis=-1)


def _returned(x: Any) -> Any:
    return windows(x * 2, 2, axis=-1)


def _of_the_argument(x: Any) -> Any:
    return windows(x, 2, axis=-1), windows(x, 2, 0)[..., 0]


def _written_base(x: Any) -> Any:
    found = windows(x, 2, axis=0)
    x[0] = 7
    return found + 1, found


def _of_a_part(x: Any) -> Any:
    return (windows(x[::-1, ...], 2, axis=0) * np.array([1.0, -1.0])).sum(axis=-1)


def _twice(x: Any) -> Any:
    return windows(windows(x, 2, axis=0), 2, axis=-1).max(axis=(-1, -2))


def _of_a_size(x: Any) -> Any:
    return np.einsum("...k,k->...", windows(x, x.shape[-1] // 2 + 1, axis=-1), np.arange(x.shape[-1] // 2 + 1.0))


def _too_long(x: Any) -> Any:
    return windows(x, x.shape[0] + 1, axis=0)


def _written(x: Any) -> Any:
    windows(x, 2, axis=0, writeable=True)[0] = 5
    return x


PROGRAMS = [_mean, _median, _returned, _of_the_argument, _written_base, _of_a_part, _twice, _of_a_size, _too_long]
ARRAYS = [
    np.arange(9.0),
    np.random.default_rng(0).random((5, 6)),
    np.random.default_rng(1).random((6, 4)).T,
    np.arange(40)[::2],
    np.arange(24, dtype="f4").reshape(2, 3, 4),
    np.zeros((3, 0)),
    np.random.default_rng(2).random((300, 70)),
]


def shown(function: Callable[..., Any], x: Any) -> Any:
    """Result, its layout, whether it may be written, whether it shares the argument's memory; or the exception."""
    x = x.copy("K")
    try:
        result = function(x)
    except Exception as error:
        return type(error), str(error), x.tolist()
    parts = result if isinstance(result, tuple) else (result,)
    told = [(p.dtype, p.shape, p.strides, p.tobytes(), p.flags.writeable, np.shares_memory(p, x)) for p in parts]
    return told, x.tolist()


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("program", [*PROGRAMS, _written], ids=lambda p: p.__name__.strip("_"))
def test_the_same_as_plain(program: Callable[..., Any]) -> None:
    compiled = jm.compile(program)
    for x in ARRAYS * 2:
        assert shown(compiled, x) == shown(program, x), x.shape


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not _too_long], ids=lambda p: p.__name__.strip("_"))
def test_it_is_no_break(program: Callable[..., Any]) -> None:
    assert not jm.explain(program)(np.random.default_rng(0).random((5, 6))).breaks
