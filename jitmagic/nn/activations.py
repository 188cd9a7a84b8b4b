"""Elementwise functions as modules, and softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn.error_function import erf
from jitmagic.nn.module import Module

__all__ = ["GELU", "ReLU", "Sigmoid", "Softmax", "Tanh"]

_TANH_SCALE = math.sqrt(2.0 / math.pi)  # Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016
_CUBIC = 0.044715


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, input: Any) -> Any:
        return np.maximum(input, 0)


class Tanh(Module):
    def forward(self, input: Any) -> Any:
        return np.tanh(input)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``, without overflow: the exponent is never positive."""

    def forward(self, input: Any) -> Any:
        small = np.exp(-np.abs(input))
        return np.where(input >= 0, 1, small) / (1 + small)


class GELU(Module):
    """``x`` times the normal distribution function of ``x``, or its approximation by ``tanh``."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate={approximate!r}: it is 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        if self.approximate == "tanh":
            return 0.5 * input * (1.0 + np.tanh(_TANH_SCALE * (input + _CUBIC * input * input * input)))
        return 0.5 * input * (1.0 + erf(input * math.sqrt(0.5)))

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """``exp(x)`` over its sum along ``dim``; the largest element is subtracted first."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        grown = np.exp(input - np.max(input, axis=self.dim, keepdims=True))
        return grown / np.sum(grown, axis=self.dim, keepdims=True)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
