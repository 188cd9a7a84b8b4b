"""Arrays that NumPy gives as views of a copy that nobody sees stay such views when the function writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

MAKE: dict[str, Callable[[Any], Any]] = {
    "roll": lambda a: np.roll(a, 2),
    "roll along an axis": lambda a: np.roll(a, 1, axis=1),
    "reshape that copies": lambda a: a.T.reshape(-1),
    "reshape that copies a result": lambda a: (a + 1).T.reshape(-1),
    "reshape in Fortran order": lambda a: a.reshape(-1, order="F"),
    "reshape that does not copy": lambda a: (a + 1).reshape(-1),
    "ravel": lambda a: a.T.ravel(),
    "flatten": lambda a: a.flatten(),
    "tile": lambda a: np.tile(a, 2),
    "kron": lambda a: np.kron(a, np.eye(2)),
    "cross": lambda a: np.cross(a[:, :3], a[:, 1:]),
    "tensordot": lambda a: np.tensordot(a, a.T, axes=1),
    "nonzero": lambda a: np.nonzero(a > 0)[0],
    "nonzero of one axis": lambda a: np.nonzero(a[0])[0],
    "argwhere": lambda a: np.argwhere(a),
    "flatnonzero": lambda a: np.flatnonzero(a),
    "columns": lambda a: a[:, [0, 1]],
    "rows": lambda a: a[[0, 1]],
    "mask": lambda a: a[a > 0],
    "median": lambda a: np.median(a, axis=0, keepdims=True),
    "quantile": lambda a: np.quantile(a, 0.3, axis=1, keepdims=True),
    "nanmedian": lambda a: np.nanmedian(a, axis=0),
    "norm": lambda a: np.linalg.norm(a, keepdims=True),
    "unique rows": lambda a: np.unique(a, axis=0),
    "unique inverse": lambda a: np.unique(a, return_inverse=True)[1],
    "histogram": lambda a: np.histogram(a)[1],
    "linspace": lambda a: np.linspace(0, 1, 5),
    "logspace": lambda a: np.logspace(0, 1, 5),
    "arange": lambda a: np.arange(5.0),
    "more axes": lambda a: np.array(a, ndmin=4),
    "copy": lambda a: np.array(a),
    "number": lambda a: np.atleast_2d(1.5),
    "scalar": lambda a: a.sum()[None],
    "cov": lambda a: np.cov(a),
    "pad": lambda a: np.pad(a, 1),
}


def written(make: Callable[[Any], Any], a: Any) -> Any:
    made = make(a)
    made += 1
    return made


def filled(make: Callable[[Any], Any], a: Any) -> Any:
    made = make(a)
    made[...] = 2
    return made


def seen_through_a_view(make: Callable[[Any], Any], a: Any) -> Any:
    made = make(a)
    part = made[:1]
    part += 1
    return part, made


def untouched(make: Callable[[Any], Any], a: Any) -> Any:
    return make(a)


def owners(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(owners, value))
    return value.tolist(), value.strides, value.flags.owndata, value.base is None


@pytest.mark.parametrize("use", [untouched, written, filled, seen_through_a_view], ids=lambda use: use.__name__)
@pytest.mark.parametrize("name", MAKE)
def test_results_own_their_data_as_in_numpy(name: str, use: Callable[..., Any]) -> None:
    """In the first call and in later ones."""
    a = np.random.default_rng(3).standard_normal((3, 4))
    expected = owners(use(MAKE[name], a.copy()))
    compiled = jm.compile(use)
    assert [owners(compiled(MAKE[name], a.copy())) for _ in range(3)] == [expected] * 3
    assert compiled.jit.entries >= 1


@pytest.mark.parametrize("name", ["roll", "pad"])
def test_resize_is_refused_as_in_numpy(name: str) -> None:
    def grown(a: Any) -> Any:
        made = written(MAKE[name], a)
        made.resize((50,), refcheck=False)
        return made

    def outcome(function: Callable[[Any], Any]) -> Any:
        try:
            return owners(function(np.ones((3, 4))))
        except ValueError as error:
            return str(error)

    compiled = jm.compile(grown)
    assert [outcome(compiled) for _ in range(3)] == [outcome(grown)] * 3
