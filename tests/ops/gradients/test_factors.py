"""Gradients through factors of matrices: what does not depend on phases, and what LAPACK decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from jitmagic.ops.extern import differentiable_row
from tests.ops.gradients.differences import disagreements

WEIGHTS = np.random.default_rng(1).standard_normal((6, 6))


def made(shape: tuple[int, ...], is_complex: bool, seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if is_complex else x


def sizes_of_left_vectors(u: Any, s: Any, vh: Any) -> Any:
    k = s.shape[0]
    return np.sum(np.abs(u[:, :k]) ** 2 * WEIGHTS[: u.shape[0], :k])


def sizes_of_right_vectors(u: Any, s: Any, vh: Any) -> Any:
    k = s.shape[0]
    return np.sum(np.abs(vh[:k]) ** 2 * WEIGHTS[:k, : vh.shape[1]])


def put_together(u: Any, s: Any, vh: Any) -> Any:
    k = s.shape[0]
    return np.sum(np.abs(u[:, :k] * s**2 @ vh[:k]) * WEIGHTS[: u.shape[0], : vh.shape[1]])


def nearest_unitary(u: Any, s: Any, vh: Any) -> Any:
    k = s.shape[0]
    return np.sum(np.real(u[:, :k] @ vh[:k]) * WEIGHTS[: u.shape[0], : vh.shape[1]])


def projections(u: Any, s: Any, vh: Any) -> Any:
    """Onto what is at right angles to the columns, and to the rows."""
    k = s.shape[0]
    left, right = u[:, k:], vh[k:]
    found = np.sum(np.real(left @ np.conj(left).T) * WEIGHTS[: u.shape[0], : u.shape[0]])
    return found + np.sum(np.real(np.conj(right).T @ right) * WEIGHTS[: vh.shape[1], : vh.shape[1]])


QUANTITIES = (sizes_of_left_vectors, sizes_of_right_vectors, put_together, nearest_unitary, projections)


def agrees(f: Callable[[Any], Any], a: Any, gradient: Any) -> bool:
    step = 1e-6
    direction = made(a.shape, a.dtype.kind == "c", 7)
    expected = (f(a + step * direction) - f(a - step * direction)) / (2 * step)
    return bool(abs(np.real(np.sum(gradient * direction)) - expected) <= 1e-5 * max(1, abs(expected)))


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (5, 2), (2, 5)], ids=str)
@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_singular_vectors(quantity: Any, shape: Any, full: bool, is_complex: bool) -> None:
    def f(a: Any) -> Any:
        return quantity(*np.linalg.svd(a, full_matrices=full))

    a = made(shape, is_complex)
    assert agrees(f, a, transforms.grad(f)(a))


def test_singular_vectors_compiled() -> None:
    def f(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return np.sum(np.real(u[:, :2] @ (s[:, None] ** 2 * vh))) + np.sum(np.abs(u[:, :2]))

    a = made((4, 2), True)
    assert agrees(f, a, jm.grad(f)(a))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize(
    "shape", [(4, 3), (3, 4), (3, 3), (5, 2), (2, 5, 3), (1, 3), (3, 1), (2, 2, 3), (0, 4, 2)], ids=str
)
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_qr(mode: str, shape: Any, is_complex: bool) -> None:
    """Also of the vectors beside the square part, which LAPACK's reflections decide."""
    row = differentiable_row(np.linalg.qr)
    assert row is not None
    for a in (made(shape, is_complex), made(shape, is_complex)[..., ::-1, ::-1]):
        assert disagreements(row, (a,), {"mode": mode}) == []


@pytest.mark.parametrize(
    "shapes", [((4, 3), (4,)), ((4, 3), (4, 2)), ((3, 4), (3, 2)), ((3, 3), (3,)), ((5, 1), (5, 3))]
)
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_least_squares(shapes: Any, is_complex: bool) -> None:
    """Solution, residuals (where NumPy gives some) and singular values."""
    row = differentiable_row(np.linalg.lstsq)
    assert row is not None
    assert disagreements(row, (made(shapes[0], is_complex), made(shapes[1], is_complex, 4)), {}) == []


@pytest.mark.parametrize("options", [{"hermitian": True}, {"hermitian": True, "compute_uv": False}], ids=str)
def test_only_the_lower_triangle_of_a_hermitian_matrix_is_read(options: dict[str, Any]) -> None:
    a = made((3, 3), False)
    row = differentiable_row(np.linalg.svd)
    assert row is not None
    assert disagreements(row, (a,), options) == []
    row = differentiable_row(np.linalg.pinv)
    assert row is not None
    assert disagreements(row, (a + 3 * np.eye(3),), {"hermitian": True}) == []
