"""Losses: how far an input is from a target.

``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``; ValueError for others. Inputs and targets have equal shapes,
unless said otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn.functional.activations import log_softmax

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
]  # fmt: skip


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "mean":
        return np.mean(loss)
    if reduction == "sum":
        return np.sum(loss)
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss


def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """``(x - y)²``."""
    difference = input - target
    return _reduced(difference * difference, reduction)


def l1_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """``|x - y|``."""
    return _reduced(np.abs(input - target), reduction)


def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    """``d² / (2 beta)`` where ``d = |x - y|`` is smaller than ``beta``, else ``d - beta / 2``."""
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    size = np.abs(input - target)
    return _reduced(np.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


def huber_loss(input: Any, target: Any, *, reduction: str = "mean", delta: float = 1.0) -> Any:
    """``d² / 2`` where ``d = |x - y|`` is at most ``delta``, else ``delta * (d - delta / 2)``."""
    size = np.abs(input - target)
    return _reduced(np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta)), reduction)


def nll_loss(input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """``-weight[y] * x[y]`` for log-probabilities (n, c, ...) or (c,) and classes (n, ...) or () of any integer dtype.

    Elements whose target is ``ignore_index`` count as 0; the mean is over the weights of the others. Raises IndexError
    for other targets that name no class.
    """
    picked, chosen = _picked(input, target, weight, ignore_index)
    if reduction == "mean":
        return -np.sum(picked) / np.sum(chosen)
    return _reduced(-picked, reduction)


def _picked(logs: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """Weighted log-probabilities of the targets, and their weights; 0 where they are ignored."""
    axis, count = _classes(logs)
    ignored = np.equal(target, ignore_index)
    place = np.where(ignored, 0, np.where(target < 0, count, target))  # a negative class must not count from the end
    if len(logs.shape) == 2:
        found = logs[np.arange(len(logs)), place].reshape(target.shape)
    else:
        found = np.take_along_axis(logs, np.expand_dims(place, axis), axis=axis).reshape(target.shape)
    each = np.ones(target.shape, logs.dtype) if weight is None else weight[place]
    chosen = np.where(ignored, 0, each)
    return np.where(ignored, 0, found) * chosen, chosen


def _classes(logs: Any) -> tuple[int, int]:
    """The axis of the classes, and their number."""
    axis = 0 if len(logs.shape) == 1 else 1
    return axis, logs.shape[axis]


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """``nll_loss`` of the logarithm of the softmax of (n, c, ...) or (c,).

    Targets are classes (n, ...) or (), or probabilities of the shape of the input. ``label_smoothing`` mixes them with
    the uniform distribution (Szegedy et al., 2016).
    """
    axis, count = _classes(input)
    logs = log_softmax(input, axis)
    if target.dtype.kind == "f":
        return _of_probabilities(logs, target, weight, reduction, label_smoothing)
    if label_smoothing == 0.0:
        return nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    picked, chosen = _picked(logs, target, weight, ignore_index)
    weighted = logs if weight is None else logs * _by_class(weight, logs)
    even = np.where(np.equal(target, ignore_index), 0, np.sum(weighted, axis=axis))
    loss = -(1.0 - label_smoothing) * picked - label_smoothing / count * even
    return np.sum(loss) / np.sum(chosen) if reduction == "mean" else _reduced(loss, reduction)


def _by_class(weight: Any, logs: Any) -> Any:
    return weight if len(logs.shape) == 1 else weight.reshape((1, -1) + (1,) * (len(logs.shape) - 2))


def _of_probabilities(logs: Any, target: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    axis, count = _classes(logs)
    if label_smoothing:
        target = target * (1.0 - label_smoothing) + label_smoothing / count
    weighted = logs * target if weight is None else logs * target * _by_class(weight, logs)
    loss = -np.sum(weighted, axis=axis)
    return np.sum(loss) / math.prod(loss.shape) if reduction == "mean" else _reduced(loss, reduction)


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    """``-(y log(x) + (1 - y) log(1 - x))`` for probabilities; logarithms count as at least -100."""
    loss = -(target * _clamped_log(input) + (1 - target) * _clamped_log(1 - input))
    return _reduced(loss if weight is None else loss * weight, reduction)


def _clamped_log(x: Any) -> Any:
    return np.where(x > 0, np.maximum(np.log(np.where(x > 0, x, 1)), -100), -100)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """``binary_cross_entropy`` of ``sigmoid(x)``, without its overflow; ``pos_weight`` multiplies the part of ``y``."""
    low = np.log1p(np.exp(-np.abs(input))) + np.maximum(-input, 0)
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input + factor * low
    return _reduced(loss if weight is None else loss * weight, reduction)


def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    """``y (log y - x)`` for log-probabilities ``x``; ``"batchmean"`` divides the sum by the size of axis 0."""
    if log_target:
        loss = np.exp(target) * (target - input)
    else:
        logs = np.log(np.where(target > 0, target, 1))
        loss = np.where(target > 0, target * logs, 0) - target * input
    if reduction == "batchmean":
        return np.sum(loss) / input.shape[0]
    return _reduced(loss, reduction)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8, *, reduction: str = "mean"
) -> Any:
    """``exp(x) - y x``, or ``x - y log(x + eps)``; ``full`` adds Stirling's approximation of ``log(y!)`` for y > 1."""
    loss = np.exp(input) - target * input if log_input else input - target * np.log(input + eps)
    if full:
        safe = np.where(target > 1, target, 1)
        stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * math.pi * safe)
        loss = loss + np.where(target > 1, stirling, 0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, *, reduction: str = "mean"
) -> Any:
    """``(log(v) + (x - y)² / v) / 2`` with ``v`` at least ``eps``; ``full`` adds ``log(2 pi) / 2``."""
    spread = np.maximum(var, eps)
    loss = 0.5 * (np.log(spread) + (input - target) * (input - target) / spread)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    room = margin - input
    return _reduced(np.where(target == 1, input, np.where(room > 0, room, 0)), reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    """``max(0, -y (x1 - x2) + margin)``."""
    loss = margin - target * (input1 - input2)
    return _reduced(np.where(loss > 0, loss, 0), reduction)


def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """``log(1 + exp(-y x))``."""
    exponent = -target * input
    return _reduced(np.log1p(np.exp(-np.abs(exponent))) + np.maximum(exponent, 0), reduction)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1: (n, d), (n,) or (d,), ()."""
    first, second = np.sum(input1 * input1, axis=-1) + 1e-12, np.sum(input2 * input2, axis=-1) + 1e-12
    likeness = np.sum(input1 * input2, axis=-1) / np.sqrt(first * second)
    room = likeness - margin
    return _reduced(np.where(target == 1, 1 - likeness, np.where(room > 0, room, 0)), reduction)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Any:
    """``max(0, |a - p| - |a - n| + margin)``, distances of order ``p`` along the last axis (Balntas et al., 2016)."""
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, _distance(positive, negative, p, eps))
    loss = near - far + margin
    return _reduced(np.where(loss > 0, loss, 0), reduction)


def _distance(x: Any, y: Any, p: float, eps: float) -> Any:
    return np.linalg.norm(x - y + eps, p, axis=-1)
