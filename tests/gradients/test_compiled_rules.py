"""Programs whose derivative once went to the tape although every operation has a rule: they are compiled now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.gradients.differences import agree, central_differences

X = np.random.default_rng(5).uniform(0.5, 1.5, (4, 3))
M = np.array([[True, False, True]] * 2 + [[False, True, True]] * 2)
W = np.arange(12.0)


def write_where(x: Any) -> Any:
    y = np.zeros(4)
    m = x[:, 0] > 1
    y[m] = x[m, 1]
    return np.sum(y**2)


def change_where(x: Any) -> Any:
    y = x.copy()
    m = x > 1
    y[m] = y[m] ** 2
    y[~m] *= -1
    return np.sum(y**3)


def add_at(x: Any) -> Any:
    y = np.zeros(9)
    np.add.at(y, np.array([0, 1, 1, 5]), x[:, 0] * 3)
    return np.sum(y**2)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "masked": lambda x: np.sum(x[M] ** 2),
    "masked by itself": lambda x: np.sum(np.sin(x[x > 1])),
    "mask at run time, twice": lambda x: np.sum(x[x > 1]) * np.mean(x[x < 1.2]),
    "written through a mask": write_where,
    "changed through a mask": change_where,
    "added at places": add_at,
    "choose": lambda x: np.sum(np.choose([0, 1, 0], [x[0], x[1] * 2]) ** 2),
    "compress": lambda x: np.sum(np.compress([True, False, True, True], x, axis=0) ** 2),
    "extract": lambda x: np.sum(np.extract(M, x) ** 2),
    "extract by itself": lambda x: np.sum(np.extract(x > 1, x) ** 2),
    "rows that fit": lambda x: np.sum(x[x.sum(1) > 3] ** 2),
    "norm": lambda x: np.linalg.norm(x),
    "norm of a column": lambda x: np.linalg.norm(x[:, 1]),
    "norm by rows": lambda x: np.sum(np.linalg.norm(x, axis=1) ** 3),
    "norm 1": lambda x: np.linalg.norm(x[0], 1),
    "nuclear norm": lambda x: np.linalg.norm(x, "nuc"),
    "vector_norm": lambda x: np.linalg.vector_norm(x),
    "ravel K": lambda x: np.sum(x.T.ravel(order="K") * W),
    "ravel A": lambda x: np.sum(x.T.ravel(order="A") * W),
    "ravel K backwards": lambda x: np.sum(x[::-1].ravel(order="K") * W),
    "add.reduce": lambda x: np.sum(np.add.reduce(x) ** 2) + np.sum(np.add.reduce(x, 1, keepdims=True) ** 3),
    "multiply.reduce": lambda x: np.sum(np.multiply.reduce(x, axis=1) ** 2),
    "maximum.reduce": lambda x: np.sum(np.maximum.reduce(x) ** 2) + np.minimum.reduce(x, axis=None),
    "add.accumulate": lambda x: np.sum(np.add.accumulate(x) ** 2),
    "multiply.accumulate": lambda x: np.sum(np.multiply.accumulate(x, axis=1) ** 2),
    "split": lambda x: np.sum(np.split(x, 2)[0] ** 2),
    "array_split": lambda x: np.sum(np.array_split(x.ravel(), 5)[3] ** 2),
    "vsplit": lambda x: np.sum(np.vsplit(x, 2)[1] ** 3),
    "frexp": lambda x: np.sum(np.frexp(x)[0] ** 2),
    "diag of a vector": lambda x: np.sum(np.diag(x[0]) @ np.diag(x[1]) @ x.T),
    "diag of a matrix": lambda x: np.sum(np.diag(x) ** 2),
    "fft": lambda x: np.sum(np.abs(np.fft.fft(x[0])) ** 2) + np.sum(np.abs(np.fft.fft2(x))),
    "corrcoef": lambda x: np.sum(np.corrcoef(x[:2]) ** 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derivative_is_compiled(name: str) -> None:
    function = PROGRAMS[name]
    compiled: Any = jm.value_and_grad(function)
    for _ in range(2):
        value, gradient = compiled(X)
        assert value == function(X)
        agree(gradient, central_differences(function, (X,), 0))
    record = compiled.jit.record
    assert not [*record.breaks, *record.fallbacks], [*record.breaks, *record.fallbacks]
    assert compiled.jit.entries == 1
