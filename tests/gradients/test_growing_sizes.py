"""Gradients of functions whose sizes are symbols after a call with longer arrays: still one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.gradients.differences import agree, central_differences


def _matrix(n: int) -> Any:
    half = np.random.default_rng(n).random((n, n))
    return half @ half.T + n * np.eye(n)


def _signal(n: int) -> Any:
    return np.random.default_rng(n).random(n)


CASES: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
    "inv": (lambda a: np.sum(np.linalg.inv(a) ** 2), _matrix),
    "solve": (lambda a: np.sum(np.linalg.solve(a, a[0]) ** 2), _matrix),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], _matrix),
    "cholesky": (lambda a: np.sum(np.log(np.diagonal(np.linalg.cholesky(a)))), _matrix),
    "eigh": (lambda a: np.sum(np.linalg.eigh(a)[0] ** 3), _matrix),
    "diag": (lambda a: np.sum(np.diag(a) * a[0]), _matrix),
    "diag beside": (lambda a: np.sum(np.diag(a, 1) ** 2) + np.sum(a.diagonal(-2) ** 2), _matrix),
    "diag of many": (lambda v: np.sum(np.diagonal(np.ones((3, 1, 2)) * v[:, None], 1, 1, 2) ** 2), _signal),
    "diag of a table": (lambda v: np.sum(np.diag(np.outer(v, v[2:])) ** 2), _signal),
    "diag of a vector": (lambda v: np.sum(np.diag(v) @ v), _signal),
    "corrcoef": (lambda a: np.corrcoef(a)[0, 1], _matrix),
    "average": (lambda v: np.average(v**2, weights=np.exp(v)), _signal),
    "kron": (lambda v: np.sum(np.sin(np.kron(v, v))), _signal),
    "ediff1d": (lambda v: np.sum(np.ediff1d(v, to_end=v[:2]) ** 2), _signal),
    "vander": (lambda v: np.sum(np.vander(v) ** 2), _signal),
    "median": (lambda v: np.median(v) ** 2, _signal),
    "quantile": (lambda v: np.sum(np.quantile(v, [0.2, 0.7]) ** 2), _signal),
    "rfft": (lambda v: np.sum(np.abs(np.fft.rfft(v)) ** 2), _signal),
    "irfft": (lambda v: np.sum(np.fft.irfft(np.fft.rfft(v) * 2, len(v)) ** 3), _signal),
    "rfft2": (lambda v: np.sum(np.abs(np.fft.rfft2(np.outer(v, v))) ** 2), _signal),
    "irfftn": (lambda v: np.sum(np.fft.irfftn(np.outer(v, v) * (1 + 2j)) ** 2), _signal),
}


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_with_sizes_that_are_symbols(name: str) -> None:
    function, make = CASES[name]
    gradient = jm.grad(function)
    for n in (4, 6, 10):
        agree(gradient(make(n)), central_differences(function, (make(n),), 0))
    assert not gradient.jit.breaks().records
    assert not gradient.jit.record.fallbacks
    assert len(list(gradient.jit.all_entries())) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda v: float(v[0]) ** 2 * np.sum(v),
        lambda v: v.item(1) * v[0].item() * np.sum(v),
        lambda v: v.tolist()[1] * np.sum(v),
        lambda v: sum(v.tolist()) * np.sum(v),
    ],
)
def test_numbers_that_become_python_numbers(function: Any) -> None:
    """The tape refuses them; the compiled program needs none."""
    gradient = jm.grad(function)
    v = np.array([1.5, 2.0, 3.0])
    agree(gradient(v), central_differences(function, (v,), 0))
    assert not gradient.jit.breaks().records
    assert not gradient.jit.record.fallbacks


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (2, 5), (0, 3)])
@pytest.mark.parametrize("offset", [-3, -2, 0, 1, 4])
def test_a_diagonal_that_lies_outside_has_the_gradient_zero(shape: tuple[int, int], offset: int) -> None:
    a = np.arange(float(np.prod(shape))).reshape(shape)
    gradient = jm.grad(lambda a: np.sum(np.diag(a, offset) ** 2))(a)
    assert gradient.tolist() == (2 * a * (np.eye(*shape, offset) > 0)).tolist()
