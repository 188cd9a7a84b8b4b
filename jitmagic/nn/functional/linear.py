"""Products with weights, rows by index, and dropping values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.tensor import Tensor, detach

__all__ = ["bilinear", "cosine_similarity", "dropout", "dropout1d", "dropout2d", "embedding", "linear", "normalize",
           "one_hot"]  # fmt: skip


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``: (..., i) with weight (o, i) and bias (o,) to (..., o).

    More than two axes are one product over all rows, which takes half the time of many small ones.
    """
    shape: Any = getattr(input, "shape", ())
    if len(shape) > 2:
        rows = input.reshape((math.prod(shape[:-1]), shape[-1])) @ weight.T
        result = rows.reshape((*shape[:-1], weight.shape[0]))
    else:
        result = input @ weight.T
    return result if bias is None else result + bias


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``x1 weight[k] x2`` for each k: (..., i), (..., j) with weight (o, i, j) and bias (o,) to (..., o)."""
    outer = input1[..., :, None] * input2[..., None, :]
    flat = outer.reshape((*outer.shape[:-2], outer.shape[-2] * outer.shape[-1]))
    return linear(flat, weight.reshape((weight.shape[0], -1)), bias)


def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0) -> Any:  # fmt: skip
    """Rows of ``weight`` (count, size) by integers of any shape: (...) to (..., size).

    The row ``padding_idx`` gets no gradient. With ``max_norm`` rows that are used and longer are first scaled to that
    length, in place. Raises IndexError for integers that name no row.
    """
    if max_norm is not None:
        _shorten(input, weight, max_norm, norm_type)
    rows = weight[input]
    if padding_idx is None:
        return rows
    place = padding_idx % weight.shape[0]
    return np.where((input == place)[..., None], detach(rows), rows)


def _shorten(input: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    with no_grad():
        array = weight.numpy() if isinstance(weight, Tensor) else weight
        used = np.unique(input)
        rows = array[used]
        norms = np.linalg.norm(rows, norm_type, axis=-1, keepdims=True)
        weight[used] = np.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)


def _dropped(input: Any, p: float, training: bool, shape: Any, rng: Any) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input * 0
    drawn = np.random.random_sample(shape) if rng is None else rng.random(shape)
    return np.where(drawn >= p, input / (1.0 - p), 0)


def dropout(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Elements set to 0 with probability ``p``, the others divided by ``1 - p``; ``rng`` or ``np.random`` draws."""
    return _dropped(input, p, training, input.shape, rng)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Whole channels of (n, c, l) or (c, l)."""
    return _dropped(input, p, training, (*input.shape[:-1], 1), rng)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, *, rng: Any = None) -> Any:
    """Whole channels of (n, c, h, w) or (c, h, w)."""
    return _dropped(input, p, training, (*input.shape[:-2], 1, 1), rng)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """``x`` over its norm of order ``p`` along ``dim``, which counts as at least ``eps``."""
    return input / np.maximum(np.linalg.norm(input, p, axis=dim, keepdims=True), eps)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along ``dim``; norms count as at least ``eps``."""
    dot = np.sum(x1 * x2, axis=dim)
    first, second = np.sqrt(np.sum(x1 * x1, axis=dim)), np.sqrt(np.sum(x2 * x2, axis=dim))
    return dot / (np.maximum(first, eps) * np.maximum(second, eps))


def one_hot(target: Any, num_classes: int = -1) -> Any:
    """Integers as rows of zeros with a one: (...) to (..., num_classes), int64; -1 asks the largest integer."""
    count = int(np.max(target)) + 1 if num_classes == -1 else num_classes
    return np.equal(target[..., None], np.arange(count)).astype(np.int64)
