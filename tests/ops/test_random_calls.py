"""Random indices, broadcasts, reshapes and layouts: ``infer`` agrees with NumPy, with and without symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.ops import all_ops, by_name, probing
from tests.ops.symbolic import symbolic_disagreement
from tests.ops.variations import disagreement

SIZES = (0, 1, 2, 3, 5)
ODDS = (0.05, 0.2, 0.2, 0.25, 0.3)
CODES = ("?", "i1", "i8", "u2", "f4", "f8", "c16", ">f8")


def random_shape(rng: Any, most: int = 3) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.choice(SIZES, int(rng.integers(0, most + 1)), p=ODDS))


def random_layout(rng: Any, array: Any) -> Any:
    """The same values behind permuted axes, with negative steps, gaps or repeats."""
    order = rng.permutation(array.ndim)
    result = array.transpose(order).copy().transpose(np.argsort(order))
    for axis in range(array.ndim):
        result = _relaid(rng, result, axis)
    return result


def _relaid(rng: Any, array: Any, axis: int) -> Any:
    choice = int(rng.integers(5))
    index: list[Any] = [slice(None)] * array.ndim
    if choice == 0:
        index[axis] = slice(None, None, -1)
        return array[tuple(index)]
    if choice == 1:
        shape = list(array.shape)
        shape[axis] *= 2
        index[axis] = slice(None, None, 2)
        return np.zeros(shape, array.dtype, order="F" if rng.integers(2) else "C")[tuple(index)]
    if choice == 2 and array.shape[axis] > 1:
        index[axis] = slice(0, 1)
        return np.broadcast_to(array[tuple(index)], array.shape)
    return array


def random_array(rng: Any, shape: tuple[int, ...]) -> Any:
    return random_layout(rng, np.ones(shape, CODES[int(rng.integers(len(CODES)))]))


def random_index(rng: Any, shape: tuple[int, ...]) -> Any:
    entries: list[Any] = []
    for n in shape[: int(rng.integers(0, len(shape) + 1))]:
        entries.append(_entry(rng, n))
        if rng.random() < 0.15:
            entries.append(None)
    if rng.random() < 0.2:
        entries.insert(int(rng.integers(0, len(entries) + 1)), Ellipsis)
    return tuple(entries)


def _entry(rng: Any, n: int) -> Any:
    choice = int(rng.integers(7))
    if choice == 0:
        return int(rng.integers(-n - 1, n + 2))
    if choice == 1:
        return rng.integers(-n, max(n, 1), random_shape(rng, 2))
    if choice == 2:
        return rng.random(n) < 0.5
    ends = [None if rng.random() < 0.4 else int(rng.integers(-n - 2, n + 3)) for _ in range(2)]
    step = (None, 1, 2, -1, -2, 3)[int(rng.integers(6))]
    return slice(*ends, step)


def random_subscripts(rng: Any) -> tuple[str, tuple[Any, ...]]:
    array = random_array(rng, random_shape(rng))
    index = random_index(rng, array.shape)
    if rng.random() < 0.6:
        return "getitem", (array, index)
    value = random_array(rng, random_shape(rng, 2)) if rng.random() < 0.5 else 1.0
    return "setitem", (array, index, value)


def random_reshapes(rng: Any) -> tuple[str, tuple[Any, ...]]:
    array = random_array(rng, random_shape(rng))
    sizes = [int(n) for n in rng.permutation([*array.shape, 1])]
    if rng.random() < 0.5:
        sizes[int(rng.integers(len(sizes)))] = -1
    name = ("reshape", "reshape", "ravel", "squeeze", "transpose", "flip", "T")[int(rng.integers(7))]
    return name, (array, tuple(sizes)) if name == "reshape" else (array,)


def random_broadcasts(rng: Any) -> tuple[str, tuple[Any, ...]]:
    shape = random_shape(rng)

    def operand() -> Any:
        lead = int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else 0
        return random_array(rng, tuple(1 if rng.random() < 0.15 else n for n in shape[lead:]))

    name = ("add", "less", "where", "exp", "maximum", "clip", "divmod", "isclose")[int(rng.integers(8))]
    count = {"where": 3, "clip": 3, "exp": 1}.get(name, 2)
    return name, tuple(operand() for _ in range(count))


def random_folds(rng: Any) -> tuple[str, tuple[Any, ...]]:
    array = random_array(rng, random_shape(rng))
    names = ("sum", "max", "argmax", "mean", "cumsum", "sort", "median", "any", "std", "argsort")
    axis = None if rng.random() < 0.2 else int(rng.integers(-array.ndim - 1, array.ndim + 1))
    return names[int(rng.integers(len(names)))], (array, axis)


MAKERS = (random_subscripts, random_reshapes, random_broadcasts, random_folds)


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_random_calls_agree(make: Any) -> None:
    rng = np.random.default_rng(16)
    wrong = []
    for _ in range(600):
        name, args = make(rng)
        found = disagreement(by_name(name), args, {}) or symbolic_disagreement(by_name(name), args, {})
        if found:
            shown = [(a.shape, a.strides, a.dtype.str) if isinstance(a, np.ndarray) else a for a in args]
            wrong.append(f"{name} {shown}: {found}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:8])


@pytest.mark.parametrize("row", [r for r in all_ops() if r.samples], ids=lambda row: row.name)
def test_large_operands_are_inferred_from_small_ones(row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for large arrays, known sizes are replaced by small numbers and recognised in the result."""
    monkeypatch.setattr(probing, "SMALL_TOTAL", 0)
    rng = np.random.default_rng(5)
    wrong = [found for s in row.samples if (found := disagreement(row, s.args(rng), dict(s.kwargs)))]
    assert not wrong, "\n".join(wrong)


def test_an_ellipsis_for_no_axis_separates_indices() -> None:
    """NumPy puts the picked axes first then, as if there were a slice between the indices."""
    x = np.ones((2, 1, 3))
    for index in ((slice(None), 0, ..., [0, 2]), (slice(None), 0, [0, 2]), (0, ..., slice(None), [0, 2])):
        assert disagreement(by_name("getitem"), (x, index), {}) is None
    assert disagreement(by_name("getitem"), (x, (slice(None), 0, ..., np.array([True, True, False]))), {}) is None
