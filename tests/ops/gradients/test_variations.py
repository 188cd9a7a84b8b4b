"""Rules hold for other operands than the samples: complex, single precision, broadcast, empty, and at kinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jitmagic.ops import Op, all_ops, by_name
from jitmagic.ops.differentiable import DIFFERENTIABLE
from jitmagic.ops.extern import differentiable_row
from jitmagic.ops.gradients import Elementwise, cotangents
from tests.ops.gradients.differences import cotangents_of_result, disagreements, is_real, over, result_of

ROWS = [row for row in all_ops() if row.vjp and row.samples and not row.name.startswith("scalar_")]
POINTWISE = [row for row in ROWS if any(isinstance(rule, Elementwise) for rule in row.vjp or ())]
NO_COMPLEX = {"view", "empty_like", "empty"}  # views pair other dtypes; the others hold anything


def varied(row: Op, change: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The samples with ``change`` applied to each real operand, where NumPy takes that."""
    for sample in row.samples:
        args = tuple(over(a, change) if is_real(a) else a for a in sample.args(np.random.default_rng(5)))
        kwargs = dict(sample.kwargs)
        try:
            result_of(row, args, kwargs)
        except (TypeError, ValueError, ZeroDivisionError, IndexError):
            continue
        yield args, kwargs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [r for r in ROWS if r.name not in NO_COMPLEX], ids=lambda row: row.name)
def test_complex_operands(row: Op) -> None:
    """The convention of HIPS autograd: the change of the result is ``Re(sum(g * dz))``."""
    rng = np.random.default_rng(8)

    def as_complex(x: Any) -> Any:
        return x + 0.3j * rng.random(np.shape(x))

    for args, kwargs in varied(row, as_complex):
        assert disagreements(row, args, kwargs) == []


GAUGED = {"eigh", "eig", "svd"}  # vectors up to a phase


@pytest.mark.parametrize("name", sorted(set(DIFFERENTIABLE["numpy.linalg"]) - GAUGED))
def test_complex_matrices(name: str) -> None:
    function = getattr(np.linalg, name, None)
    if function is None:
        pytest.skip("a later NumPy has it")
    rng = np.random.default_rng(8)
    row = differentiable_row(function)
    assert row is not None

    def as_complex(x: Any) -> Any:
        return x + 0.3j * rng.random(np.shape(x))

    for sample in DIFFERENTIABLE["numpy.linalg"][name].samples:
        args = tuple(over(a, as_complex) if is_real(a) else a for a in sample.args(np.random.default_rng(5)))
        if name in ("cholesky", "eigvalsh"):
            args = (args[0] @ np.conj(np.swapaxes(args[0], -1, -2)), *args[1:])
        assert disagreements(row, args, dict(sample.kwargs)) == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [r for r in ROWS if r.name != "view"], ids=lambda row: row.name)
def test_single_precision_stays_single(row: Op) -> None:
    """Each cotangent has its operand's dtype; nothing is widened."""
    for args, kwargs in varied(row, lambda x: x.astype(np.float32)):
        ans = result_of(row, args, kwargs)
        g = cotangents_of_result(np.random.default_rng(3), ans) if _all_real(ans) else None
        if g is None:
            continue
        places = [i for i, a in enumerate(args) if is_real(a)]
        for place, found in cotangents(row, places, g, ans, args, kwargs):
            for c, x in zip(_list(found), _list(args[place]), strict=True):
                assert c.dtype == x.dtype
                assert np.shape(c) == np.shape(x)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _all_real(ans: Any) -> bool:
    return any(map(is_real, _list(ans)))


@pytest.mark.parametrize(
    "row", [r for r in POINTWISE if isinstance(r.call, np.ufunc) and r.name != "ldexp"], ids=lambda row: row.name
)
@pytest.mark.parametrize(
    "shapes", [((4, 3), (3,)), ((4, 1), (1, 3)), ((), (4, 3)), ((2, 1, 3), (4, 1)), ((1,), (1, 1))]
)
def test_broadcast_operands(row: Op, shapes: tuple[tuple[int, ...], ...]) -> None:
    """What was repeated is summed again."""
    sample = row.samples[0].args(np.random.default_rng(5))
    args = tuple(np.resize(a, shape) for a, shape in zip(sample, [*shapes, *shapes], strict=False))
    assert disagreements(row, args, {}) == []


@pytest.mark.parametrize("row", POINTWISE, ids=lambda row: row.name)
def test_empty_operands(row: Op) -> None:
    for args, kwargs in varied(row, lambda x: x[:0]):
        ans = result_of(row, args, kwargs)
        if not _all_real(ans):
            continue
        g = cotangents_of_result(np.random.default_rng(3), ans)
        for place, found in cotangents(row, range(len(args)), g, ans, args, kwargs):
            assert found.shape == np.shape(args[place])


def gradient(name: str, *args: Any, place: int = 0, g: Any = None) -> Any:
    row = by_name(name)
    with np.errstate(all="ignore"):
        ans = row.call(*args)
        g = np.ones_like(ans) if g is None else np.asarray(g)
        return dict(cotangents(row, [place], g, ans, args, {}))[place]


X = np.array([0.0])
KINKS: list[tuple[str, tuple[Any, ...], int, float]] = [
    ("absolute", (X,), 0, 0),
    ("fabs", (X,), 0, 0),
    ("sign", (X,), 0, 0),
    ("sqrt", (X,), 0, 0),
    ("cbrt", (X,), 0, 0),
    ("power", (X, 0.5), 0, 0),
    ("power", (X, np.array([0.5])), 0, 0),
    ("power", (X, np.array([2.0])), 1, 0),
    ("power", (X, np.array([0.0])), 0, 0),
    ("arcsin", (X + 1,), 0, 0),
    ("arccos", (X - 1,), 0, 0),
    ("arccosh", (X + 1,), 0, 0),
    ("hypot", (X, X), 0, 0),
    ("arctan2", (X, X), 1, 0),
    ("maximum", (X, X), 0, 0.5),
    ("minimum", (X, X), 1, 0.5),
    ("fmax", (X, X), 0, 0.5),
    ("maximum", (X, 0), 0, 0.5),
    ("clip", (X, 0, 1), 0, 0.5),
    ("clip", (X + 1, 0, 1), 0, 0.5),
    ("clip", (X, 0, None), 0, 0.5),
    ("floor", (X,), 0, 0),
    ("heaviside", (X, 0.5), 0, 0),
    ("sinc", (X,), 0, 0),
    ("copysign", (X, X + 1), 0, 0),
    ("round", (X + 0.5,), 0, 0),
    ("std", (np.array([2.0]),), 0, 0),
    ("max", (np.array([2.0]),), 0, 1),
    ("logaddexp", (np.array([-np.inf]), np.array([1.0])), 0, 0),
]


@pytest.mark.parametrize(("name", "args", "place", "expected"), KINKS)
def test_kinks_follow_the_documented_convention(name: str, args: Any, place: int, expected: float) -> None:
    found = gradient(name, *args, place=place)
    assert found.ravel().tolist() == [expected]


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_of_extremes_share_evenly(name: str) -> None:
    assert gradient(name, np.array([3.0, 1.0, 3.0, 1.0])).tolist() == (
        [0.5, 0, 0.5, 0] if name == "max" else [0, 0.5, 0, 0.5]
    )


def test_the_norm_at_zero() -> None:
    row = differentiable_row(np.linalg.norm)
    assert row is not None
    (found,) = (ct for _, ct in cotangents(row, [0], np.float64(1), np.float64(0), (np.zeros(3),), {}))
    assert found.tolist() == [0, 0, 0]


BAD = np.array([0.0, -1.0, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("row", POINTWISE, ids=lambda row: row.name)
def test_a_cotangent_of_zero_stays_zero(row: Op) -> None:
    """Masked elements add nothing, wherever they lie: ``where(x > 0, log(x), 0)`` has gradient 0 at 0."""
    count = len(row.samples[0].args(np.random.default_rng(0)))
    if row.name == "ldexp":
        return
    grids = np.meshgrid(*[BAD] * count)
    with np.errstate(all="ignore"):
        ans = row.call(*grids)
        zeros = tuple(map(np.zeros_like, ans)) if isinstance(ans, tuple) else np.zeros_like(ans)
        for _, found in cotangents(row, range(count), zeros, ans, tuple(grids), {}):
            assert not found.any()
            assert not np.isnan(found).any()


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "max", "min", "std", "var", "ptp", "median", "nansum", "nanmean", "nanstd"]
)
def test_folds_over_every_axis(name: str, shape: tuple[int, ...], keepdims: bool) -> None:
    rng = np.random.default_rng(2)
    axes: list[Any] = [None, *range(-len(shape), len(shape)), tuple(range(len(shape)))]
    if len(shape) > 2:
        axes += [(0, 2), (-1, 0), (2, 1)]
    for axis in axes:
        args = (rng.random(shape),)
        assert disagreements(by_name(name), args, {"axis": axis, "keepdims": keepdims}) == []


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "std", "var", "nansum", "nanmean", "nanvar"])
def test_folds_of_masked_elements(name: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.random((4, 3))
    mask = np.array([[True, True, False], [True, True, True], [False, True, True], [True, True, True]])
    options = {"initial": 0.1} if name in ("prod", "max", "min") else {}
    assert disagreements(by_name(name), (x,), {"axis": 0, "where": mask, **options}) == []
    assert disagreements(by_name(name), (x,), {"where": mask, **options}) == []


@pytest.mark.parametrize("name", ["prod", "cumprod", "nanprod"])
@pytest.mark.parametrize("zeros", [(0,), (1, 3), (0, 1, 2)])
def test_products_with_zeros(name: str, zeros: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).random((5, 2)) + 0.5
    x[list(zeros)] = 0
    assert disagreements(by_name(name), (x,), {"axis": 0}) == []


def test_repeated_indices_add_up_when_read_and_replace_when_written() -> None:
    x, index = np.arange(4.0), [1, 1, 2]
    row = by_name("getitem")
    (read,) = (ct for _, ct in cotangents(row, [0], np.ones(3), x[index], (x, index), {}))
    assert read.tolist() == [0, 2, 1, 0]
    row = by_name("setitem")
    found = dict(cotangents(row, [0, 2], np.ones(4), x, (x, index, np.ones(3)), {}))
    assert found[0].tolist() == [1, 0, 0, 1]
    assert found[2].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->ji", [(3, 2)]),
        ("ij,jk", [(3, 2), (2, 4)]),
        ("...i,...i->...", [(2, 3, 4), (3, 4)]),
        ("...ij,...jk", [(2, 3, 4), (4, 2)]),
        ("ij,kl->", [(2, 3), (4, 2)]),
        ("i,i,i->i", [(3,), (3,), (3,)]),
        ("iij,j->i", [(3, 3, 2), (2,)]),
        ("i...->...", [(3, 2, 4)]),
        (", i -> i", [(), (3,)]),
    ],
)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(2)
    assert disagreements(by_name("einsum"), (subscripts, *(rng.random(s) for s in shapes)), {}) == []


@pytest.mark.parametrize("options", [{"edge_order": 2}, {"axis": 1, "edge_order": 2}, {"axis": (1, 0)}])
def test_difference_quotients(options: dict[str, Any]) -> None:
    x = np.random.default_rng(2).random((4, 5))
    assert disagreements(by_name("gradient"), (x,), options) == []
    uneven = np.array([0.0, 1.0, 1.5, 3.0])
    assert disagreements(by_name("gradient"), (x[:, 0], uneven.tolist()), {}) == []


PADDED = [
    *({"mode": mode} for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp")),
    *({"mode": mode} for mode in ("maximum", "minimum", "mean", "median")),
    *({"mode": mode, "reflect_type": "odd"} for mode in ("reflect", "symmetric")),
    *({"mode": mode, "stat_length": ((1, 2), (9, 2))} for mode in ("maximum", "mean", "median")),
    {"mode": "linear_ramp", "end_values": ((1.0, 2.0), (3.0, 4.0))},
]


@pytest.mark.parametrize("options", PADDED, ids=str)
@pytest.mark.parametrize("shape", [(4, 3), (1, 3), (2, 1)])
def test_pad(options: dict[str, Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).random(shape)
    for width in (2, (1, 2), ((1, 0), (2, 5)), ((0, 9), (11, 0)), 0):
        assert disagreements(by_name("pad"), (x, width), options) == []
        assert disagreements(by_name("pad"), (x[::-1, ::-1], width), options) == []


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 2), (2, 1), (2, 2), (1, 1)])
@pytest.mark.parametrize(("mode", "place"), [("constant", 4), ("linear_ramp", 5)])
def test_the_values_of_borders(shape: tuple[int, ...], mode: str, place: int) -> None:
    """One for all, or a pair for each axis, as NumPy broadcasts them; each axis sees the borders of those before."""
    rng = np.random.default_rng(2)
    given: tuple[Any, ...] = (rng.random((3, 2)), ((1, 2), (3, 1)), mode, None, 0, 0)
    args = (*given[:place], rng.random(shape) if shape else np.float64(0.3))
    assert disagreements(by_name("pad"), args, {}) == []


def test_what_an_array_of_no_elements_is_padded_with() -> None:
    args = (np.zeros((0, 2)), ((2, 0), (0, 1)), "constant", None, np.array([0.5, 1.5]))
    assert disagreements(by_name("pad"), args, {}) == []


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
def test_an_initial_value_that_is_the_extreme_takes_half(name: str) -> None:
    """As ``np.maximum`` of it and of the extreme of the elements."""
    x = np.array([2.0, 2.0, 2.0])
    row = by_name(name)
    found = dict(cotangents(row, [0, 4], np.float64(1), np.float64(2), (x, None, None, False, np.float64(2)), {}))
    assert found[0].tolist() == [1 / 6] * 3
    assert found[4] == 0.5
    none = dict(cotangents(row, [0, 4], np.float64(1), np.float64(2), (x[:0], None, None, False, np.float64(2)), {}))
    assert none[0].tolist() == []
    assert none[4] == 1


REPEATED = np.array([3.0, 1.0, 3.0, np.nan, 1.0, 2.0])


@pytest.mark.parametrize("name", ["unique", "union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_of_equal_elements_the_first_one_stands_for_all(name: str) -> None:
    row = by_name(name)
    others = () if name == "unique" else (np.array([3.0, 7.0]),)
    args = (REPEATED, *others)
    ans = row.call(*args)
    found = dict(cotangents(row, range(len(args)), np.arange(1.0, len(ans) + 1), ans, args, {}))
    expected = {
        "unique": [[3, 1, 0, 4, 0, 2]],
        "union1d": [[3, 1, 0, 5, 0, 2], [0, 4]],
        "intersect1d": [[1, 0, 0, 0, 0, 0], [0, 0]],
        "setdiff1d": [[0, 1, 0, 3, 0, 2], [0, 0]],
        "setxor1d": [[0, 1, 0, 4, 0, 2], [0, 3]],
    }
    assert [found[i].tolist() for i in range(len(args))] == expected[name]


@pytest.mark.parametrize("name", ["unique", "union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets_of_nothing(name: str) -> None:
    row = by_name(name)
    args = (np.zeros((0, 2)),) if name == "unique" else (np.zeros((0, 2)), np.zeros(0))
    ans = row.call(*args)
    for place, found in cotangents(row, range(len(args)), np.zeros_like(ans), ans, args, {}):
        assert found.shape == args[place].shape


@pytest.mark.parametrize(
    "options", [{}, {"return_index": True}, {"axis": 0}, {"axis": -1, "return_counts": True}], ids=str
)
def test_unique(options: dict[str, Any]) -> None:
    x = np.random.default_rng(2).random((3, 2))
    for each in (x, x[::-1, ::-1], x.T, x + 1j * x[::-1]):
        assert disagreements(by_name("unique"), (each,), options) == []


@pytest.mark.parametrize("density", [None, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_histograms_of_weights(density: Any, is_complex: bool) -> None:
    """Elements outside, and on the last edge, are counted as NumPy counts them."""
    rng = np.random.default_rng(2)
    x = np.array([0, 1, 2, 4, 3, -3, 7])  # steps are not differentiated
    weights = rng.random(7) + (1j * rng.random(7) if is_complex else 0)
    row = by_name("histogram")
    assert disagreements(row, (x, 3, (0.0, 4.0), density, weights), {}) == []
    assert disagreements(row, (x, [0, 1, 3, 4], None, density, weights), {}) == []
    if not is_complex:
        row = by_name("histogram2d")
        assert disagreements(row, (x, x[::-1], [[0, 1, 4], [-4, 2, 9]], None, density, weights), {}) == []


def test_bins_of_equal_elements() -> None:
    """Edges half a unit below and above them; all share."""
    row = by_name("histogram")
    x = np.full(4, 2.0)
    g = (None, np.array([1.0, 0.0, 2.0]))
    found = dict(cotangents(row, [0], g, np.histogram(x, 2), (x, 2), {}))
    assert found[0].tolist() == [0.75] * 4
