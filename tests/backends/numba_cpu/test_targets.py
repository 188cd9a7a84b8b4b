"""Values that are computed where an update wants them: bits, what overlaps, and no array in between."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def shifted(x: Any) -> Any:
    y = x * 2.0
    y[1:] += 1.0
    return y


def several(x: Any) -> Any:
    y = x * 2.0
    y[1:] = (y[1:] + 1.0) * 0.5 - y[1:] * y[1:]
    return y


def neighbours(x: Any) -> Any:
    """Reads what it is about to write elsewhere: all sums come first."""
    y = x * 2.0
    y[1:-1] = (y[:-2] + y[2:]) * 0.5 + y[1:-1]
    return y


def moved(x: Any) -> Any:
    y = x * 2.0
    y[1:] = y[:-1] + 1.0
    y[:-1] = np.sqrt(y[1:] * y[1:])
    return y


def backwards(x: Any) -> Any:
    y = x * 2.0
    y[::-1] += x
    y[::2] *= y[::2] + 1.0
    return y


def made_and_turned(x: Any) -> Any:
    """One loop could make all of ``y`` and what is written over it, in the wrong order."""
    y = x * x
    y[::-1] = y + x
    z = np.empty_like(x)
    np.multiply(x, y, out=z)
    np.add(z, x, out=z[::-1])
    square = np.outer(x[:8], x[:8])
    square[:, ::-1] = square * 2.0
    square[::-1] = np.outer(y[:8], x[:8]) + square
    return y, z, square


def read_again(x: Any) -> Any:
    """The sum is needed besides."""
    y = x * 2.0
    part = y[2:] * 3.0 + 1.0
    y[2:] = part
    return y, part


def spread(x: Any) -> Any:
    y = x * 2.0
    y[3:] = y[:1] + 1.0
    return y


def other_type(x: Any) -> Any:
    y = x * 2.0
    y[1:] = (x[1:] > 0.5) & (x[1:] < 0.9)
    return y


def stencil(x: Any) -> Any:
    u = np.outer(x, x)
    new = u.copy()
    new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] - 2.0 * u[1:-1, 1:-1])
    new[0] = new[1] * 2.0 + new[2]
    new[:, -1] = new[:, -2] + 1.0
    return new


def masked(x: Any) -> Any:
    y = np.zeros_like(x)
    y[x > 0.5] = 1.0
    y[x < 0.2] = x[x < 0.2] * 2.0
    return y


def masked_once(x: Any) -> Any:
    y = np.zeros_like(x)
    y[x > 0.5] = 1.0
    return y


def gathered(x: Any) -> Any:
    y = x * 2.0
    y[np.arange(0, len(x), 2)] = y[::2][::-1]
    y[3:][y[3:] > 1.0] = 0.5
    return y


def kept(x: Any) -> Any:
    """The array before the write is a result too."""
    y = x * 2.0
    z = y + 0.0
    z[y > 1.0] = -1.0
    z[1:] += y[1:]
    return y, z


def turned(x: Any) -> Any:
    """Written through turned axes."""
    y = np.sqrt(x).reshape(4, -1) * 2.0
    y.T[1:] += y.T[:-1]
    y.swapaxes(0, 1)[0] = 3.0
    y.transpose(1, 0)[y.T > 1.5] *= 0.5
    y.mT[...] = y.mT[::-1]
    return y


PROGRAMS = (
    turned,
    shifted,
    several,
    neighbours,
    moved,
    backwards,
    made_and_turned,
    read_again,
    spread,
    other_type,
    stencil,
    masked,
    masked_once,
    gathered,
    kept,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [8, 300])
def test_bits(program: Callable[..., Any], size: int) -> None:
    x = np.random.default_rng(size).random(size)
    compiled = jm.compile(program)
    for _ in range(2):
        found, wanted = compiled(x), program(x)
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, wanted)), strict=True):
            assert a.tobytes() == b.tobytes()
            assert a.flags.owndata == b.flags.owndata
    assert compiled.jit.entries


@pytest.mark.parametrize("program", [shifted, several, backwards, stencil, masked_once], ids=lambda f: f.__name__)
def test_no_more_memory_than_plainly(program: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).random(400 if program is stencil else 100_000)
    with jm.configure(demote=False):
        compiled = jm.compile(program)
        peaks = []
        for function in (compiled, program):
            for _ in range(3):
                function(x)
            tracemalloc.start()
            function(x)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[0] <= peaks[1] + 4096
