"""Parts of arrays that kernels read where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm

PARTS = [np.s_[:2, :2], np.s_[:, :-1], np.s_[:-1, :], np.s_[:2, 1:], np.s_[:100, :4]]


def doubled(x: Any, part: Any) -> Any:
    return x[part] * 2.0 + x[part]


def summed(x: Any, part: Any) -> Any:
    return (x[part] * x[part]).sum(), np.maximum(x[part], 0.5).max(), (x[part] * 2.0).mean(axis=-1)


def exponentials(x: Any, part: Any) -> Any:
    return np.exp(x[part]) - 1.0


def written(x: Any, part: Any) -> Any:
    y = x.copy()
    y[part] = y[part] * 2.0 + 1.0
    y[part] += y[part] * y[part]
    return y


def of_a_part(x: Any, part: Any) -> Any:
    inner = x[part][:, :2]
    return inner * 2.0 + inner, (inner + 1.0).sum()


@pytest.mark.parametrize("dynamic", [None, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(("shape", "order"), [((5, 6), "C"), ((4, 5, 3), "F")], ids=str)
@pytest.mark.parametrize("function", [doubled, summed, exponentials, written, of_a_part])
def test_rows_of_a_part_do_not_follow_without_a_gap(
    function: Any, shape: tuple[int, ...], order: Any, dynamic: Any
) -> None:
    """``x[:, :-1]`` starts where ``x`` starts, but its second row does not lie behind its first."""
    first, last = np.random.default_rng(2).random(shape), np.random.default_rng(3).random([n + 3 for n in shape])
    for part in PARTS:
        with jm.configure(background=False, demote=False):
            compiled = jm.compile(function, dynamic=dynamic)
            for x in (np.asarray(first, order=order), np.asarray(last, order=order)):
                expected, found = function(x, part), compiled(x, part)
                for a, b in _pairs(expected, found):
                    assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
                    assert a.tobytes() == b.tobytes(), part
        assert compiled.jit.compiles >= 1
        assert not compiled.jit.breaks()


def _pairs(expected: Any, found: Any) -> Any:
    return zip(*((v if isinstance(v, tuple) else (v,)) for v in (expected, found)), strict=True)
