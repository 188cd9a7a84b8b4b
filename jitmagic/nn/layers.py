"""Layers with weights, and those that only rearrange or drop values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter

__all__ = ["Dropout", "Embedding", "Flatten", "Identity", "LayerNorm", "Linear"]


class Identity(Module):
    """Gives its input; takes and ignores whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """``x @ weight.T + bias``: (..., in_features) to (..., out_features); weight (out_features, in_features).

    Starts uniformly in ``±1/sqrt(in_features)``, drawn from ``rng`` or from ``np.random``.
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, dtype: Any = np.float64, rng: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        draw = np.random if rng is None else rng
        bound = 1.0 / math.sqrt(in_features) if in_features > 0 else 0.0
        self.weight = Parameter(draw.uniform(-bound, bound, (out_features, in_features)).astype(dtype))
        if bias:
            self.bias = Parameter(draw.uniform(-bound, bound, out_features).astype(dtype))
        else:
            self.register_parameter("bias", None)

    def forward(self, input: Any) -> Any:
        result = input @ self.weight.T
        return result if self.bias is None else result + self.bias

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, of shape ``normalized_shape``; then ``* weight + bias``."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape
        self.register_parameter("weight", Parameter(np.ones(shape, dtype)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(np.zeros(shape, dtype)) if elementwise_affine and bias else None)

    def forward(self, input: Any) -> Any:
        rank = len(self.normalized_shape)
        if input.shape[-rank:] != self.normalized_shape:
            raise RuntimeError(
                f"LayerNorm over {self.normalized_shape} got an input of shape {input.shape}: its last axes differ"
            )
        axes = tuple(range(-rank, 0))
        centred = input - np.mean(input, axis=axes, keepdims=True)
        result = centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + self.eps)
        if self.weight is not None:
            result = result * self.weight
        return result if self.bias is None else result + self.bias

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class Dropout(Module):
    """In training, sets elements to 0 with probability ``p`` and divides the others by ``1 - p``.

    Draws from ``rng``, a ``np.random.Generator``, or from ``np.random``.
    """

    def __init__(self, p: float = 0.5, *, rng: np.random.Generator | None = None) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.rng = rng

    def forward(self, input: Any) -> Any:
        if not self.training or self.p == 0.0:
            return input
        if self.p == 1.0:
            return np.zeros_like(input)
        drawn = np.random.random_sample(input.shape) if self.rng is None else self.rng.random(input.shape)
        return np.where(drawn >= self.p, input / (1.0 - self.p), 0)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Embedding(Module):
    """Rows of ``weight`` (num_embeddings, embedding_dim) by integer indices of any shape."""

    weight: Any

    def __init__(self, num_embeddings: int, embedding_dim: int, *, dtype: Any = np.float64, rng: Any = None) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        draw = np.random if rng is None else rng
        self.weight = Parameter(draw.normal(0.0, 1.0, (num_embeddings, embedding_dim)).astype(dtype))

    def forward(self, input: Any) -> Any:
        return self.weight[input]

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Flatten(Module):
    """Makes one axis of the axes from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        shape = input.shape
        start = self.start_dim % len(shape)
        stop = self.end_dim % len(shape) + 1
        return input.reshape((*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
