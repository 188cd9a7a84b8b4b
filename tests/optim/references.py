"""One step of each optimiser for one parameter, written again in plain NumPy, in float64, from the papers' formulas.

Each takes the parameter, its gradient, a dict that lasts from step to step, and settings by PyTorch's names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
State = dict[str, Any]


def sgd(
    p: Array, g: Array, s: State, *, lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
    weight_decay: float = 0.0, nesterov: bool = False, maximize: bool = False,
) -> Array:  # fmt: skip
    g = (-g if maximize else g) + weight_decay * p
    if momentum:
        s["b"] = g if "b" not in s else momentum * s["b"] + (1 - dampening) * g
        g = g + momentum * s["b"] if nesterov else s["b"]
    return p - lr * g


def adam(
    p: Array, g: Array, s: State, *, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    weight_decay: float = 0.0, amsgrad: bool = False, maximize: bool = False, decoupled_weight_decay: bool = False,
) -> Array:  # fmt: skip
    b1, b2 = betas
    g = -g if maximize else g
    if decoupled_weight_decay:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    t = s["t"] = s.get("t", 0) + 1
    s["m"] = b1 * s.get("m", 0.0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0.0) + (1 - b2) * g**2
    v = s["v"]
    if amsgrad:
        v = s["max"] = np.maximum(s.get("max", 0.0), v)
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def adamw(p: Array, g: Array, s: State, *, weight_decay: float = 1e-2, **settings: Any) -> Array:
    return adam(p, g, s, weight_decay=weight_decay, decoupled_weight_decay=True, **settings)


def rmsprop(
    p: Array, g: Array, s: State, *, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
    weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, maximize: bool = False,
) -> Array:  # fmt: skip
    g = (-g if maximize else g) + weight_decay * p
    s["v"] = alpha * s.get("v", 0.0) + (1 - alpha) * g**2
    s["mean"] = alpha * s.get("mean", 0.0) + (1 - alpha) * g
    scale = np.sqrt(s["v"] - s["mean"] ** 2 if centered else s["v"]) + eps
    s["b"] = momentum * s.get("b", 0.0) + g / scale
    return p - lr * s["b"]


def adagrad(
    p: Array, g: Array, s: State, *, lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0, eps: float = 1e-10, maximize: bool = False,
) -> Array:  # fmt: skip
    g = (-g if maximize else g) + weight_decay * p
    t = s["t"] = s.get("t", 0) + 1
    s["sum"] = s.get("sum", initial_accumulator_value) + g**2
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)
