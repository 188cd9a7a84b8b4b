"""``np.array(x, copy=None, ndmin=n)``, and ``np.c_`` and ``np.r_`` that are made of it."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm

LAYOUTS = {
    "line": lambda: np.arange(5.0),
    "backwards": lambda: np.arange(5.0)[::-1],
    "column": lambda: np.arange(12.0).reshape(4, 3)[:, 1],
    "table": lambda: np.arange(12).reshape(4, 3),
    "parts": lambda: np.arange(48.0).reshape(8, 6)[::2, ::3],
    "columns first": lambda: np.arange(12.0).reshape(4, 3).T,
    "number": lambda: np.array(2.0),
    "empty": lambda: np.zeros((0, 2)),
    "other bytes": lambda: np.arange(3, dtype=">f8"),
    "read only": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
}
MADE = {
    "kept": lambda x: np.array(x, copy=None, subok=True, ndmin=3),
    "kept as it is": lambda x: np.array(x, copy=None, ndmin=1),
    "cast": lambda x: np.array(x, copy=None, ndmin=3, dtype=np.complex64),
    "copied": lambda x: np.array(x, ndmin=3),
    "in order": lambda x: np.array(x, copy=None, ndmin=3, order="F"),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_before_are_those_of_numpy(layout: str, made: str) -> None:
    x = LAYOUTS[layout]()
    expected, found = MADE[made](x), jm.compile(MADE[made])(x)
    assert found.tobytes() == expected.tobytes()
    assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
    assert found.flags.writeable == expected.flags.writeable
    assert np.shares_memory(found, x) == np.shares_memory(expected, x)
    assert (found is x) == (expected is x)


def test_a_kept_view_writes_through() -> None:
    def f(x):
        v = np.array(x, copy=None, ndmin=2)
        v[0, 1:] = x[:-1] * 2
        return v

    g = jm.compile(f)
    for n in (4, 6, 9):
        x = np.arange(1.0, n)
        y = x.copy()
        np.testing.assert_array_equal(g(x), f(y))
        np.testing.assert_array_equal(x, y)
    assert not g.jit.breaks()
    assert g.jit.compiles <= 2


JOINED = [
    lambda x: np.c_[x, x**2],
    lambda x: np.c_[np.ones(len(x)), x, x[::-1]],
    lambda x: np.c_[np.outer(x, x), x],
    lambda x: np.c_[x[0], x[1] * 2, 3],
    lambda x: np.r_["0,2", x, x * 2],
    lambda x: np.r_["1,2,0", x, x * 2],
    lambda x: np.r_[0:3, x, 1.5],
]


@pytest.mark.parametrize("joined", JOINED)
def test_index_tricks_compile_and_have_gradients(joined) -> None:
    def weighted(x):
        table = joined(x)
        return np.sum(table**2 * np.arange(table.size).reshape(table.shape))

    x = np.linspace(0.5, 2, 5)
    compiled = jm.compile(joined)
    np.testing.assert_array_equal(compiled(x), joined(x))
    assert not compiled.jit.breaks()
    value, found = jm.value_and_grad(weighted)(x)
    assert value == weighted(x)
    steps = 1e-6 * np.eye(5)
    np.testing.assert_allclose(found, [(weighted(x + s) - weighted(x - s)) / 2e-6 for s in steps], rtol=1e-5)
