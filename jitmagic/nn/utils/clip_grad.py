"""Bounds on the size of gradients, applied in place before an optimiser's step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.tensor import Tensor
from jitmagic.autograd.writing import writable

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scale all gradients by one factor so that their total norm is at most ``max_norm``; gives the norm before.

    The total norm is that of one vector of all elements. Raises RuntimeError for an infinite norm or NaN if
    ``error_if_nonfinite``; nothing is changed then.
    """
    with no_grad():
        grads = _grads(parameters)
        total = get_total_norm(grads, norm_type)
        if error_if_nonfinite and not np.isfinite(total):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients is non-finite, so it cannot be clipped. To disable "
                "this error and scale the gradients by the non-finite norm anyway, set error_if_nonfinite=False"
            )
        factor = np.minimum(max_norm / (total + 1e-6), 1.0)
        for g in grads:
            g *= factor.astype(g.dtype)
    return total


def get_total_norm(tensors: Iterable[Any], norm_type: float = 2.0) -> Any:
    """The norm of one vector of all elements of the arrays: a NumPy number, 0.0 for no arrays."""
    norms = [_norm(t.numpy() if isinstance(t, Tensor) else t, norm_type) for t in tensors]
    return _norm(np.stack(norms), norm_type) if norms else np.float64(0.0)


def _norm(array: Any, order: float) -> Any:
    if order == np.inf:
        return np.max(np.abs(array)) if array.size else array.dtype.type(0)
    if order == 2.0:
        return np.sqrt(np.sum(array * array))
    return np.sum(np.abs(array) ** order) ** (1.0 / order)


def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Bring every element of the gradients between ``-clip_value`` and ``clip_value``."""
    with no_grad():
        for g in _grads(parameters):
            np.clip(g, -clip_value, clip_value, out=g)


def _grads(parameters: Tensors) -> list[Any]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [writable(p.grad) for p in given if p.grad is not None]
