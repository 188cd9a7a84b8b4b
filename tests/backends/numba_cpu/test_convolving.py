"""Convolutions whose elements kernels move: the bits of the rows themselves, whatever the geometry and layout."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.numba_cpu import convolving
from jitmagic.ops.convolution import convolution, convolution_input, convolution_weight
from jitmagic.ops.sliding import inside

# spatial sizes, kernel, stride, padding, dilation, groups
GEOMETRIES: list[tuple[Any, ...]] = [
    ((8, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1),
    ((9, 7), (3, 2), (2, 1), ((0, 2), (1, 0)), (1, 2), 2),
    ((5, 6), (1, 1), (1, 3), ((0, 0), (0, 0)), (1, 1), 1),
    ((4, 5), (4, 5), (1, 1), ((3, 3), (4, 4)), (1, 1), 1),  # places that meet padding only, for some rows
    ((6, 6), (2, 2), (3, 3), ((5, 1), (4, 4)), (2, 1), 1),  # and for some places, all of them
    ((11,), (3,), (2,), ((2, 1),), (2,), 2),
    ((70, 60), (3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), 1),  # planes that are too large to be copied first
    ((3, 12), (1, 9), (1, 1), ((0, 0), (4, 4)), (1, 1), 1),  # too many columns: NumPy
    ((3, 4, 3), (2, 2, 2), (1, 1, 1), ((0, 0), (1, 1), (0, 0)), (1, 1, 1), 1),  # three axes: NumPy
]
MADE_BY_KERNELS = 7


def operands(geometry: Any, dtype: Any, batch: int = 3) -> tuple[Any, Any, Any]:
    sizes, kernel, *settings, groups = geometry
    rng = np.random.default_rng(2)
    x = rng.normal(size=(batch, 4, *sizes)).astype(dtype)
    w = rng.normal(size=(6, 4 // groups, *kernel)).astype(dtype)
    g = rng.normal(size=convolution(x, w, *settings, groups).shape).astype(dtype)
    x[x > 2], g[g > 2] = -0.0, np.inf
    return x, w, g


def calls(geometry: Any) -> tuple[Any, Any, Any]:
    sizes, kernel, *settings = geometry

    def forwards(x: Any, w: Any) -> Any:
        return convolution(x, w, *settings)

    def backwards(g: Any, w: Any) -> Any:
        return convolution_input(g, w, sizes, *settings)

    def weights(g: Any, x: Any) -> Any:
        return convolution_weight(g, x, kernel, *settings)

    return forwards, backwards, weights


def negative_zeros(a: Any) -> Any:
    return [(part == 0) & np.signbit(part) for part in (a.real, a.imag)]


def check(function: Any, *arrays: Any) -> None:
    """Compiled twice over, against plain: bits but those of NaN, dtype, strides."""
    compiled = jm.compile(function)
    with np.errstate(all="ignore"):
        wanted = function(*arrays)
        for _ in range(2):
            found = compiled(*arrays)
            assert (found.dtype, found.shape, found.strides) == (wanted.dtype, wanted.shape, wanted.strides)
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(negative_zeros(found), negative_zeros(wanted))
    assert not compiled.jit.breaks()
    assert compiled.jit.compiles == 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", ">f8"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_the_results_have_the_bits_of_the_rows(geometry: Any, dtype: str) -> None:
    x, w, g = operands(geometry, "f8")
    forwards, backwards, weights = calls(geometry)
    check(forwards, x.astype(dtype), w.astype(dtype))
    check(backwards, g.astype(dtype), w.astype(dtype))
    check(weights, g.astype(dtype), x.astype(dtype))


@pytest.mark.parametrize("batch", [0, 1, 40])
def test_batches_of_any_size(batch: int) -> None:
    """Of forty samples the columns are made in several parts."""
    geometry = ((24, 24), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    x, w, g = operands(geometry, np.float32, batch)
    forwards, backwards, weights = calls(geometry)
    check(forwards, x, w)
    check(backwards, g, w)
    check(weights, g, x)


LAYOUTS = {
    "reversed": lambda a: a[:, :, ::-1, ::-1],
    "turned": lambda a: a.transpose(0, 1, 3, 2),
    "channels last": lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
    "cut": lambda a: np.repeat(a, 2, axis=1)[::-1, ::2],
    "one for all": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
def test_operands_of_any_layout(layout: Any) -> None:
    geometry = ((8, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    x, w, g = operands(geometry, np.float64)
    forwards, backwards, weights = calls(geometry)
    check(forwards, layout(x), layout(w))
    check(backwards, layout(g), layout(w))
    check(weights, layout(g), layout(x))


def test_an_overflow_while_adding_up_is_reported_as_plainly() -> None:
    geometry = ((4, 4), (2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), 1)
    _, backwards, _ = calls(geometry)
    g, w = np.full((1, 1, 3, 3), 1.5e38, np.float32), np.ones((1, 1, 2, 2), np.float32)
    compiled = jm.compile(backwards)
    for run in (backwards, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = run(g, w)
        assert np.isinf(found).any()
        assert [str(w.message) for w in caught] == ["overflow encountered in add"]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in add"):
        compiled(g, w)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_kernels_move_the_elements_where_sizes_are_known(geometry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    whole = convolving.Moves
    monkeypatch.setattr(convolving, "Moves", lambda *moves: made.append(moves) or whole(*moves))
    x, w, g = operands(geometry, np.float32)
    forwards, backwards, weights = calls(geometry)
    check(forwards, x, w)
    check(backwards, g, w)
    check(weights, g, x)
    assert len(made) == (3 if GEOMETRIES.index(geometry) < MADE_BY_KERNELS else 0)


def test_what_of_a_row_of_places_lies_inside() -> None:
    for start, step, size, count in np.ndindex(19, 3, 6, 6):
        begin, by, long, places = start - 9, step + 1, size + 1, count + 1
        wanted = [i for i in range(places) if 0 <= begin + by * i < long]
        where, which = inside(begin, by, long, places)
        assert list(range(places))[which] == wanted
        assert list(range(long))[where] == [begin + by * i for i in wanted]
