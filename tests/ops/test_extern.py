"""Functions without a row run as they are: what is inferred of them holds, and what may not run is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.special

import jitmagic as jm
from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import ShapeEnv, SymInt
from jitmagic.ops import all_ops, lookup
from jitmagic.ops.extern import extern
from tests.ops.symbolic import symbolic_disagreement
from tests.ops.variations import disagreement, variations

RNG = np.random.default_rng(1)
SQUARE = RNG.random((4, 4)) + 4 * np.eye(4)
MATRIX = RNG.random((5, 3))
VECTOR = RNG.random(6)

CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (np.linalg.inv, (SQUARE,), {}),
    (np.linalg.det, (SQUARE,), {}),
    (np.linalg.solve, (SQUARE, RNG.random(4)), {}),
    (np.linalg.norm, (MATRIX,), {"axis": 1}),
    (np.linalg.norm, (MATRIX,), {}),
    (np.linalg.svd, (MATRIX,), {"full_matrices": False}),
    (np.linalg.eigh, (SQUARE + SQUARE.T,), {}),
    (np.linalg.qr, (MATRIX,), {}),
    (np.linalg.cholesky, (SQUARE @ SQUARE.T,), {}),
    (np.linalg.slogdet, (SQUARE,), {}),
    (np.linalg.pinv, (MATRIX,), {}),
    (np.fft.fft, (VECTOR,), {}),
    (np.fft.rfft, (VECTOR,), {}),
    (np.fft.fft2, (MATRIX,), {}),
    (np.fft.fftshift, (MATRIX,), {}),
    (np.cov, (MATRIX,), {}),
    (np.corrcoef, (MATRIX,), {}),
    (np.unwrap, (VECTOR,), {}),
    (np.polyval, (VECTOR, MATRIX), {}),
    (np.delete, (VECTOR, 2), {}),
    (np.insert, (VECTOR, 2, 0.5), {}),
    (np.hamming, (5,), {}),
    (np.tril_indices, (4,), {}),
    (scipy.special.erf, (MATRIX,), {}),
    (scipy.special.gammaln, (MATRIX,), {}),
    (scipy.fft.dct, (VECTOR,), {}),
    (scipy.linalg.expm, (SQUARE,), {}),
    (scipy.ndimage.gaussian_filter, (MATRIX, 1.0), {}),
    (np.add.reduce, (MATRIX,), {}),
    (np.multiply.accumulate, (MATRIX,), {"axis": 1}),
    (np.add.outer, (VECTOR, VECTOR), {}),
    (np.maximum.reduceat, (VECTOR, [0, 2, 3]), {}),
]

REFUSED: list[Any] = [
    np.random.rand,
    np.random.default_rng(0).normal,
    np.save,
    np.load,
    np.apply_along_axis,
    np.vectorize,
    np.set_printoptions,
    np.frombuffer,
    np.trim_zeros,
    np.array2string,
    print,
    len,
    lambda x: x,
    [].append,
]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_inferred_results_hold(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """For every dtype and layout, what is inferred is what NumPy gives; with symbols too."""
    row = extern(function)
    wrong = [f"{name}: {found}" for name, varied in variations(args) if (found := disagreement(row, varied, kwargs))]
    wrong += filter(None, [symbolic_disagreement(row, args, kwargs)])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS[:12], ids=lambda v: getattr(v, "__name__", ""))
def test_common_functions_are_inferred(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Linear algebra and transforms are no graph breaks."""
    metas = tuple(ArrayMeta.of(a) for a in args)
    assert extern(function).infer(metas, kwargs, ShapeEnv()).meta is not None


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: getattr(f, "__name__", "object"))
def test_what_may_not_run_on_made_up_arrays_is_refused(function: Any) -> None:
    with pytest.raises(Unsupported):
        extern(function)


def test_random_functions_are_told_apart() -> None:
    with pytest.raises(Unsupported, match="random"):
        extern(np.random.rand)


def test_functions_with_a_row_get_it() -> None:
    found = lookup(np.exp)
    assert found is not None
    assert extern(np.exp) is found[0]


def test_an_operand_that_may_be_overwritten_is_refused() -> None:
    meta = ArrayMeta.of(SQUARE)
    with pytest.raises(Unsupported):
        extern(scipy.linalg.inv).infer((meta,), {"overwrite_a": True}, ShapeEnv())


def test_sizes_that_depend_on_data_are_run_time_sizes() -> None:
    found = extern(np.histogram_bin_edges).infer((ArrayMeta.of(np.zeros(7)), "auto"), {}, ShapeEnv())
    assert isinstance(found.meta, ArrayMeta)
    assert isinstance(found.meta.shape[0], SymInt)


def test_large_operands_are_not_computed_with() -> None:
    """A matrix of terabytes is inferred like any other."""
    n = 10**6
    meta = ArrayMeta(np.dtype("f8"), (n, n), (8 * n, 8))
    found = extern(np.linalg.inv).infer((meta,), {}, ShapeEnv())
    assert found.meta == meta


def test_every_ufunc_of_numpy_has_a_row() -> None:
    ufuncs = {f for f in vars(np).values() if isinstance(f, np.ufunc)}
    rows = {row.call for row in all_ops() if isinstance(row.call, np.ufunc)}
    assert ufuncs <= rows


@pytest.mark.parametrize("counts", [(300, 301), (50_000, 50_003)])
def test_functions_that_ask_for_a_short_axis_are_no_breaks(counts: tuple[int, int]) -> None:
    """Vectors of three components, whatever their number."""

    def program(a: Any, b: Any) -> Any:
        return np.cross(a, b) * 2 + a

    compiled = jm.compile(program)
    for count in counts:
        a, b = np.random.default_rng(count).random((2, count, 3))
        found, expected = compiled(a, b), program(a, b)
        assert (found.strides, found.tobytes()) == (expected.strides, expected.tobytes())
    assert not compiled.jit.breaks()
