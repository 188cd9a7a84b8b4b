"""Elementwise functions and softmax. Arrays of any shape; a floating dtype is kept.

At kinks the derivatives are those of PyTorch: 0 at the corner of ReLU and at both ends of hardtanh.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.autograd.tensor import detach
from jitmagic.nn.error_function import erf

__all__ = [
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_softmax",
    "logsigmoid", "mish", "prelu", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

_TANH_SCALE = math.sqrt(2.0 / math.pi)  # Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016
_CUBIC = 0.044715
_SELU_ALPHA = 1.6732632423543772  # Klambauer et al., "Self-Normalizing Neural Networks", 2017
_SELU_SCALE = 1.0507009873554805


def relu(input: Any) -> Any:
    """``x`` where it is positive, else 0."""
    return np.where(input <= 0, 0, input)


def relu6(input: Any) -> Any:
    return hardtanh(input, 0.0, 6.0)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """``x`` between the bounds."""
    return np.where(input <= min_val, min_val, np.where(input >= max_val, max_val, input))


def threshold(input: Any, threshold: float, value: float) -> Any:
    """``x`` where it is larger than ``threshold``, else ``value``."""
    return np.where(input <= threshold, value, input)


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    return np.where(input > 0, input, input * negative_slope)


def prelu(input: Any, weight: Any) -> Any:
    """``leaky_relu`` with a slope for each channel (axis 1) or, of shape (1,), for all."""
    if weight.shape[0] > 1:
        weight = weight.reshape((1, -1) + (1,) * (len(input.shape) - 2))
    return np.where(input > 0, input, input * weight)


def elu(input: Any, alpha: float = 1.0) -> Any:
    """``alpha * (exp(x) - 1)`` below 0."""
    return np.where(input > 0, input, alpha * np.expm1(np.where(input > 0, 0, input)))


def celu(input: Any, alpha: float = 1.0) -> Any:
    """``alpha * (exp(x / alpha) - 1)`` below 0."""
    return np.where(input > 0, input, alpha * np.expm1(np.where(input > 0, 0, input) / alpha))


def selu(input: Any) -> Any:
    return _SELU_SCALE * elu(input, _SELU_ALPHA)


def gelu(input: Any, approximate: str = "none") -> Any:
    """``x`` times the normal distribution function of ``x``, or its approximation by ``tanh``."""
    if approximate == "tanh":
        return 0.5 * input * (1.0 + np.tanh(_TANH_SCALE * (input + _CUBIC * input * input * input)))
    if approximate != "none":
        raise ValueError(f"approximate={approximate!r}: it is 'none' or 'tanh'")
    return 0.5 * input * (1.0 + erf(input * math.sqrt(0.5)))


def sigmoid(input: Any) -> Any:
    """``1 / (1 + exp(-x))``, without overflow: the exponent is never positive."""
    small = np.exp(-np.where(input >= 0, input, -input))
    return np.where(input >= 0, 1, small) / (1 + small)


def logsigmoid(input: Any) -> Any:
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


def hardsigmoid(input: Any) -> Any:
    return hardtanh(input / 6.0 + 0.5, 0.0, 1.0)


def silu(input: Any) -> Any:
    """``x * sigmoid(x)``."""
    return input * sigmoid(input)


def hardswish(input: Any) -> Any:
    return input * hardtanh(input + 3.0, 0.0, 6.0) / 6.0


def mish(input: Any) -> Any:
    """``x * tanh(softplus(x))``."""
    return input * np.tanh(softplus(input))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` is larger than ``threshold``."""
    scaled = input * beta
    small = np.where(scaled > threshold, 0, scaled)
    return np.where(scaled > threshold, input, np.log1p(np.exp(small)) / beta)


def softsign(input: Any) -> Any:
    return input / (1 + np.abs(input))


def tanh(input: Any) -> Any:
    return np.tanh(input)


def tanhshrink(input: Any) -> Any:
    return input - np.tanh(input)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """0 where ``|x|`` is at most ``lambd``."""
    return np.where((input >= -lambd) & (input <= lambd), 0, input)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """``x`` moved by ``lambd`` towards 0, and 0 where it would change its sign."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must not be negative, but found {lambd}")
    return np.where(input > lambd, input - lambd, np.where(input < -lambd, input + lambd, input * 0))


def glu(input: Any, dim: int = -1) -> Any:
    """One half along ``dim`` times the sigmoid of the other. Raises ValueError for an odd size."""
    size = input.shape[dim]
    if size % 2:
        raise ValueError(f"glu halves axis {dim}, which has the odd size {size}")
    first, second = np.split(input, 2, axis=dim)
    return first * sigmoid(second)


def _axis(input: Any, dim: int | None) -> int:
    """``dim``; without one PyTorch's, the axis of the classes in (n, classes) and (n, classes, h, w)."""
    if dim is not None:
        return dim
    return 0 if len(input.shape) in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None) -> Any:
    """``exp(x)`` over its sum along ``dim``; the largest element is subtracted first.

    Give ``dim``: without it, it is 0 for arrays of 1 and 3 axes and 1 for others, as in PyTorch.
    """
    axis = _axis(input, dim)
    grown = np.exp(input - detach(np.max(input, axis=axis, keepdims=True)))
    return grown / np.sum(grown, axis=axis, keepdims=True)


def softmin(input: Any, dim: int | None = None) -> Any:
    return softmax(-input, dim)


def log_softmax(input: Any, dim: int | None = None) -> Any:
    """The logarithm of ``softmax``, without its underflow."""
    axis = _axis(input, dim)
    shifted = input - detach(np.max(input, axis=axis, keepdims=True))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
