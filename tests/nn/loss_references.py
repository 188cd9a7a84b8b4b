"""What losses are defined to compute, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.nn.references import sigmoid

__all__ = ["LOSS_REFERENCES"]


def reduced(m: Any, rows: Any) -> Any:
    if m.reduction == "batchmean":
        return np.sum(rows) / len(rows)
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[m.reduction](rows)


def each(fn: Callable[..., float]) -> Callable[..., Any]:
    """``fn(module, column, *elements)`` for all elements, the last index of which is ``column``."""

    def run(m: Any, *arrays: Any, **named: Any) -> Any:
        operands = [*arrays, *named.values()]
        found = np.zeros(operands[0].shape)
        for index in np.ndindex(found.shape):
            found[index] = fn(m, index[-1], *(a[index] for a in operands))
        return reduced(m, found)

    return run


def huber(m: Any, column: int, x: float, y: float) -> float:
    d = abs(x - y)
    return 0.5 * d * d if d <= m.delta else m.delta * (d - 0.5 * m.delta)


def smooth_l1(m: Any, column: int, x: float, y: float) -> float:
    d = abs(x - y)
    return 0.5 * d * d / m.beta if d < m.beta else d - 0.5 * m.beta


def bce(m: Any, column: int, x: float, y: float) -> float:
    weight = 1.0 if m.weight is None else m.weight[column]
    return -weight * (y * math.log(x) + (1.0 - y) * math.log(1.0 - x))


def bce_with_logits(m: Any, column: int, x: float, y: float) -> float:
    weight = 1.0 if m.pos_weight is None else m.pos_weight[column]
    return -(weight * y * math.log(sigmoid(x)) + (1.0 - y) * math.log(1.0 - sigmoid(x)))


def kl(m: Any, column: int, x: float, y: float) -> float:
    return math.exp(y) * (y - x) if m.log_target else y * (math.log(y) - x)


def poisson(m: Any, column: int, x: float, y: float) -> float:
    found = math.exp(x) - y * x if m.log_input else x - y * math.log(x + m.eps)
    return found + (y * math.log(y) - y + 0.5 * math.log(2 * math.pi * y) if m.full and y > 1 else 0.0)


def gaussian(m: Any, column: int, x: float, y: float, v: float) -> float:
    return 0.5 * (math.log(v) + (x - y) ** 2 / v) + 0.5 * math.log(2 * math.pi)


def class_loss(m: Any, input: Any, target: Any) -> Any:
    """Of ``CrossEntropyLoss`` and ``NLLLoss``."""
    if input.ndim == 1:
        return class_loss(m, input[None], target[None])
    is_entropy, count = hasattr(m, "label_smoothing"), input.shape[1]
    smooth = m.label_smoothing if is_entropy else 0.0
    rows = np.moveaxis(input, 1, -1).reshape(-1, count)
    logs = np.log(np.exp(rows) / np.exp(rows).sum(1, keepdims=True)) if is_entropy else rows
    w = np.ones(count) if m.weight is None else m.weight
    losses, total = [], 0.0
    if target.dtype.kind == "f":
        for row, y in zip(logs, np.moveaxis(target, 1, -1).reshape(-1, count), strict=True):
            losses.append(-sum(w * (y * (1 - smooth) + smooth / count) * row))
        total = float(len(losses))
    else:
        for row, y in zip(logs, target.ravel(), strict=True):
            ignored = y == m.ignore_index
            even = -sum(w * row) / count
            losses.append(0.0 if ignored else -(1 - smooth) * w[y] * row[y] + smooth * even)
            total += 0.0 if ignored else w[y]
    shape = (input.shape[0], *input.shape[2:])
    return sum(losses) / total if m.reduction == "mean" else reduced(m, np.reshape(losses, shape))


def cosine(m: Any, a: Any, b: Any, target: Any) -> Any:
    found = []
    for x, y, sign in zip(a, b, target, strict=True):
        c = x @ y / (math.sqrt(x @ x) * math.sqrt(y @ y))
        found.append(1 - c if sign == 1 else max(0.0, c - m.margin))
    return reduced(m, found)


def triplet(m: Any, a: Any, p: Any, n: Any) -> Any:
    def distance(x: Any, y: Any) -> float:
        return float(np.sum(np.abs(x - y + m.eps) ** m.p) ** (1 / m.p))

    found = []
    for x, y, z in zip(a, p, n, strict=True):
        far = min(distance(x, z), distance(y, z)) if m.swap else distance(x, z)
        found.append(max(0.0, distance(x, y) - far + m.margin))
    return reduced(m, found)


LOSS_REFERENCES: dict[str, Callable[..., Any]] = {
    "MSELoss": each(lambda m, _, x, y: (x - y) ** 2),
    "L1Loss": each(lambda m, _, x, y: abs(x - y)),
    "SmoothL1Loss": each(smooth_l1),
    "HuberLoss": each(huber),
    "CrossEntropyLoss": class_loss,
    "NLLLoss": class_loss,
    "BCELoss": each(bce),
    "BCEWithLogitsLoss": each(bce_with_logits),
    "KLDivLoss": each(kl),
    "PoissonNLLLoss": each(poisson),
    "GaussianNLLLoss": each(gaussian),
    "HingeEmbeddingLoss": each(lambda m, _, x, y: x if y == 1 else max(0.0, m.margin - x)),
    "MarginRankingLoss": each(lambda m, _, a, b, y: max(0.0, -y * (a - b) + m.margin)),
    "SoftMarginLoss": each(lambda m, _, x, y: math.log(1.0 + math.exp(-y * x))),
    "CosineEmbeddingLoss": cosine,
    "TripletMarginLoss": triplet,
}
