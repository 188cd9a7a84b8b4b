"""Functions of NumPy that are traced through text of ours give what NumPy gives, without a graph break."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.sameness import difference

COLUMN, ROW = np.arange(3.0).reshape(3, 1), np.arange(4.0)


def stretched(x, y):
    p, q = np.broadcast_arrays(x, y)
    return p, q[1:], np.exp(p) * q


def stretched_inside(x, y):
    p, q = np.broadcast_arrays(x * 2.0, y)
    return p[1:], q.T, p - q


def shapes(x, y):
    return np.broadcast_shapes(x.shape, y.shape, 1), np.zeros(np.broadcast_shapes(x.shape, y.shape)) + x


def totals(x, y):
    return np.apply_along_axis(np.sum, 0, x + y)


def shares(x, y):
    return np.apply_along_axis(lambda row: row / row.sum(), 1, x + y + 1.0)


def ends(x, y):
    return np.apply_along_axis(lambda row, k: np.stack([row[k:], row[:-k]]), -1, (x + y)[None], 2)


@pytest.mark.filterwarnings("ignore:future versions will not create:FutureWarning")  # of looking at flags
@pytest.mark.parametrize("function", [stretched, stretched_inside, shapes, totals, shares, ends])
@pytest.mark.parametrize("x", [COLUMN, ROW, COLUMN[::-1], np.ones((0, 1)), np.float32(COLUMN)])
def test_they_are_captured(function, x) -> None:
    def outcome(call):
        try:
            return call(x.copy(), ROW.copy())
        except ValueError as error:
            return repr(error)

    compiled = jm.compile(function)
    plain = outcome(function)
    for _ in range(2):
        assert not difference(plain, outcome(compiled))
    assert not compiled.jit.record.breaks
    assert isinstance(plain, str) or compiled.jit.hits == 1


def test_what_broadcast_arrays_gives_is_numpys_own_view() -> None:
    compiled = jm.compile(stretched)
    for call in (stretched, compiled, compiled):
        x, y = COLUMN.copy(), ROW.copy()
        first, second, _ = call(x, y)
        assert np.shares_memory(first, x)
        assert np.shares_memory(second, y)
        with pytest.warns(DeprecationWarning, match="writing to an array"):
            first[0, 0] = 7.0
        assert x[0, 0] == 7.0


def written(x, y):
    _, q = np.broadcast_arrays(x, y)
    q[0] = 5.0
    return q + 1.0


def test_who_writes_into_it_hears_numpys_warning() -> None:
    compiled = jm.compile(written)
    for call in (written, compiled, compiled):
        y = ROW.copy()
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = call(COLUMN, y)
        assert [w.category for w in heard] == [DeprecationWarning]
        assert (y == 5.0).all()
        assert (found == 6.0).all()


def unlike(x, y):
    return np.broadcast_arrays(x, y[:2])


def test_shapes_that_do_not_fit_are_told_by_numpy() -> None:
    compiled = jm.compile(unlike)
    for _ in range(2):
        with pytest.raises(ValueError, match="shape mismatch"):
            compiled(np.ones(3), ROW)


def fitted(a, b):
    solution, residuals, rank, singular = np.linalg.lstsq(a, b, rcond=None)
    return solution * 2.0, residuals, rank, singular.sum()


@pytest.mark.parametrize("columns", [None, 2])
def test_residuals_are_there_or_not_by_the_data(columns) -> None:
    full = np.random.default_rng(0).random((9, 3))
    poor = np.ones((9, 3))
    b = np.arange(9.0) if columns is None else np.arange(18.0).reshape(9, 2)
    compiled = jm.compile(fitted)
    for a in (full, poor, full, full[:2].copy(), poor):
        assert not difference(fitted(a, b[: len(a)]), compiled(a, b[: len(a)]))
    assert not compiled.jit.record.breaks
