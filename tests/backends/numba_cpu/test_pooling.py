"""Max pooling by kernels: the bits of the rows themselves, whatever the geometry, the layout and the elements."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.numba_cpu import pooling
from jitmagic.ops.largest import largest, largest_places, spread_largest, take_largest

# spatial sizes, kernel, stride, padding, dilation
GEOMETRIES: list[tuple[Any, ...]] = [
    ((8, 8), (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    ((7, 9), (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1)),  # a row and a column are in no window
    ((9, 10), (2, 3), (3, 4), ((0, 0), (0, 0)), (1, 1)),  # gaps between windows
    ((9, 8), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    ((6, 7), (3, 2), (1, 1), ((1, 0), (0, 1)), (1, 1)),
    ((9, 9), (2, 2), (1, 2), ((0, 0), (1, 1)), (3, 2)),
    ((8, 8), (2, 2), (2, 2), ((1, 1), (1, 1)), (1, 1)),  # apart, at the border one by one
    ((12, 12), (6, 6), (6, 6), ((0, 0), (0, 0)), (1, 1)),  # too many places to write out
    ((5, 6), (1, 1), (2, 1), ((0, 0), (0, 0)), (1, 1)),
    ((13,), (3,), (2,), ((1, 1),), (1,)),
    ((12,), (4,), (4,), ((0, 0),), (1,)),
    ((3, 3), (3, 3), (1, 1), ((2, 2), (2, 2)), (1, 1)),  # every window meets padding
    ((4, 3, 4), (2, 2, 2), (2, 1, 2), ((0, 0), (1, 1), (0, 0)), (1, 1, 1)),  # three axes: NumPy
]


def elements(sizes: Any, dtype: Any, seed: int = 3, batch: int = 2) -> Any:
    """Few different numbers, so that most windows have several largest, both zeros, NaN and infinities."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 2, (batch, 3, *sizes)).astype(dtype)
    x[(x == 0) & (rng.random(x.shape) < 0.5)] = -0.0
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.3] = -np.inf
    return x


def cotangents(x: Any, settings: Any) -> Any:
    g = np.random.default_rng(5).normal(size=largest(x, *settings).shape).astype(x.dtype)
    g[g > 1] = -0.0
    return g


def check(function: Any, *arrays: Any) -> Any:
    """Compiled twice over, against plain: bits but those of NaN, dtype, strides."""
    compiled = jm.compile(function)
    wanted = function(*arrays)
    for _ in range(2):
        found = compiled(*arrays)
        assert (found.dtype, found.shape, found.strides) == (wanted.dtype, wanted.shape, wanted.strides)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))
    assert not compiled.jit.breaks()
    assert compiled.jit.compiles == 1
    return compiled


def check_rows(x: Any, g: Any, settings: Any, layout: Any = lambda a: a) -> None:
    values = elements(x.shape[2:], x.dtype, seed=8, batch=len(x))
    check(lambda x: largest(x, *settings), layout(x))
    check(lambda values, x: take_largest(values, x, *settings), layout(values), layout(x))
    check(lambda g, x: spread_largest(g, x, *settings), layout(g), layout(x))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ">f4"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_the_results_have_the_bits_of_the_rows(geometry: Any, dtype: str) -> None:
    sizes, *settings = geometry
    x = elements(sizes, dtype)
    check_rows(x, cotangents(x, settings), settings)


LAYOUTS = {
    "reversed": lambda a: a[:, :, ::-1, ::-1],
    "turned": lambda a: np.ascontiguousarray(a.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2),
    "channels last": lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    "cut": lambda a: np.repeat(a, 2, axis=1)[::-1, ::2],
    "one for all": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("geometry", [GEOMETRIES[1], GEOMETRIES[3]], ids=str)
def test_operands_of_any_layout(geometry: Any, layout: Any) -> None:
    sizes, *settings = geometry
    x = elements(sizes, np.float64)
    check_rows(x, cotangents(x, settings), settings, layout)


@pytest.mark.parametrize("batch", [0, 1, 300])
@pytest.mark.parametrize("geometry", [GEOMETRIES[0], GEOMETRIES[3]], ids=str)
def test_batches_of_any_size(geometry: Any, batch: int) -> None:
    sizes, *settings = geometry
    x = elements(sizes, np.float32, batch=batch)
    check_rows(x, cotangents(x, settings), settings)


@pytest.mark.parametrize("geometry", [GEOMETRIES[0], GEOMETRIES[3], GEOMETRIES[9]], ids=str)
def test_sizes_that_are_known_at_run_time_only(geometry: Any) -> None:
    sizes, *settings = geometry
    forwards = jm.compile(lambda x: largest(x, *settings))
    backwards = jm.compile(lambda g, x: spread_largest(g, x, *settings))
    for more in range(6):
        x = elements([n + more for n in sizes], np.float32, seed=more)
        g = cotangents(x, settings)
        np.testing.assert_array_equal(forwards(x), largest(x, *settings))
        np.testing.assert_array_equal(backwards(g, x), spread_largest(g, x, *settings))
    assert forwards.jit.compiles <= 3
    assert backwards.jit.compiles <= 3


def test_kernels_do_it_but_for_three_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    whole = pooling.make_launcher
    monkeypatch.setattr(pooling, "make_launcher", lambda form: made.append(form) or whole(form))
    for sizes, *settings in GEOMETRIES:
        made.clear()
        x = elements(sizes, np.float32, batch=5)  # programs of the other tests are kept
        check_rows(x, cotangents(x, settings), settings)
        assert made == ([] if len(sizes) == 3 else ["a4a4", "a4a4a4", "a4a4a4"])


def test_an_overflow_where_windows_overlap_is_reported_as_plainly() -> None:
    settings = ((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))
    x, g = np.zeros((1, 1, 3, 3), np.float32), np.full((1, 1, 2, 2), 2e38, np.float32)
    x[..., 1, 1] = 1

    def backwards(g: Any, x: Any) -> Any:
        return spread_largest(g, x, *settings)

    compiled = jm.compile(backwards)
    for run in (backwards, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(g, x)
        assert np.isinf(found).any()
        assert [str(w.message) for w in caught] == ["overflow encountered in add"]


def test_nan_and_infinities_warn_of_nothing() -> None:
    sizes, *settings = GEOMETRIES[0]
    x = elements(sizes, np.float32)
    with np.errstate(all="raise"):
        check_rows(x, cotangents(x, settings), settings)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_the_chosen_place_is_the_first_of_the_largest_inside(geometry: Any) -> None:
    sizes, kernel, stride, padding, dilation = geometry
    x = elements(sizes, np.float64)
    chosen = largest_places(x, kernel, stride, padding, dilation)
    for index in np.ndindex(chosen.shape):
        inside = {}
        for place, offset in enumerate(np.ndindex(kernel)):
            at = tuple(
                i * s - before + o * d
                for i, s, (before, _), o, d in zip(index[2:], stride, padding, offset, dilation, strict=True)
            )
            if all(0 <= i < n for i, n in zip(at, sizes, strict=True)):
                inside[place] = x[index[:2] + at]
        assert chosen[index] == list(inside)[int(np.argmax(list(inside.values())))]
