"""Clipping: the norm of all gradients together, and elements one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.nn.utils import clip_grad_norm_, clip_grad_value_

GRADS = (np.linspace(-3, 4, 12).reshape(3, 4), np.array([0.5, -8.0]))


def params(dtype: Any = np.float64) -> list[jm.Tensor]:
    made = [jm.Tensor(np.ones_like(g, dtype), requires_grad=True) for g in (*GRADS, np.ones(3))]
    for p, g in zip(made, GRADS, strict=False):
        p.grad = jm.Tensor(g.astype(dtype))
    return made  # the last one has none


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, np.inf])
@pytest.mark.parametrize("limit", [0.5, 1e3])
def test_the_norm_is_that_of_one_vector(order: float, limit: float) -> None:
    given = params()
    arrays = [p.grad.numpy() for p in given[:2]]  # type: ignore[union-attr]  # set above
    total = clip_grad_norm_(given, limit, norm_type=order)
    whole = np.linalg.norm(np.concatenate([g.ravel() for g in GRADS]), order)
    np.testing.assert_allclose(total, whole, rtol=1e-14)
    for found, g in zip(arrays, GRADS, strict=True):
        np.testing.assert_allclose(found, g * min(1.0, limit / (whole + 1e-6)), rtol=1e-14)


def test_gradients_that_are_no_numbers() -> None:
    given = params()
    given[0].grad.numpy()[0, 0] = np.nan  # type: ignore[union-attr]  # set above
    with pytest.raises(RuntimeError, match="non-finite"):
        clip_grad_norm_(given, 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(given[1].grad.numpy(), GRADS[1])  # type: ignore[union-attr]  # set above
    assert np.isnan(clip_grad_norm_(given, 1.0))
    assert clip_grad_norm_([jm.Tensor(np.ones(2), requires_grad=True)], 1.0) == 0.0


def test_elements_one_by_one() -> None:
    given = params(np.float32)
    clip_grad_value_(given, 1.5)
    for p, g in zip(given, GRADS, strict=False):
        np.testing.assert_array_equal(p.grad.numpy(), np.clip(g.astype(np.float32), -1.5, 1.5))  # type: ignore[union-attr]  # set above


def test_the_norm_is_that_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    given = params(np.float32)
    theirs = [torch.ones(p.shape, requires_grad=True) for p in given]
    for p, q in zip(given, theirs, strict=True):
        q.grad = None if p.grad is None else torch.tensor(p.grad.numpy().copy())
    total, wanted = clip_grad_norm_(given, 1.0), torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    np.testing.assert_allclose(total, float(wanted), rtol=1e-6)
    for p, q in zip(given[:2], theirs, strict=False):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-6)  # type: ignore[union-attr]  # set above
