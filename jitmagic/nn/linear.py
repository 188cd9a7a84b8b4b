"""Layers that multiply with a weight, pick rows of one, or only change the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.nn import functional as F
from jitmagic.nn import init
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter, array_of
from jitmagic.nn.starting import draw, empty, start

__all__ = ["Bilinear", "Embedding", "Flatten", "Identity", "Linear", "Unflatten"]


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
        self.weight = empty((out_features, in_features), dtype)
        self.register_parameter("bias", empty((out_features,), dtype) if bias else None)
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        draw(self, self.in_features, rng)

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``x1 weight[k] x2 + bias[k]``: (..., in1), (..., in2) to (..., out); weight (out, in1, in2)."""

    weight: Any
    bias: Any

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = empty((out_features, in1_features, in2_features), dtype)
        self.register_parameter("bias", empty((out_features,), dtype) if bias else None)
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        draw(self, self.in1_features, rng)

    def forward(self, input1: Any, input2: Any) -> Any:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Embedding(Module):
    """Rows of ``weight`` (num_embeddings, embedding_dim) by integer indices of any shape.

    Starts normally distributed; the row ``padding_idx`` is 0 and gets no gradient. With ``max_norm``, rows that are
    used and longer (by ``norm_type``) are scaled to that length in place, before they are read.
    """

    weight: Any

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError("padding_idx must be within num_embeddings")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.weight = empty((num_embeddings, embedding_dim), dtype)
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        init.normal_(self.weight, generator=rng)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding with these rows (not copied); a gradient for them only without ``freeze``."""
        rows = array_of(embeddings)
        made = cls(rows.shape[0], rows.shape[1], padding_idx, dtype=rows.dtype)
        made.weight = Parameter(rows, requires_grad=not freeze)
        return made

    def forward(self, input: Any) -> Any:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self) -> str:
        rest = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            rest += f", max_norm={self.max_norm}"
        return f"{self.num_embeddings}, {self.embedding_dim}{rest}"


class Flatten(Module):
    """Makes one axis of the axes from ``start_dim`` to ``end_dim``."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        shape = input.shape
        first = self.start_dim % len(shape)
        stop = self.end_dim % len(shape) + 1
        if first >= stop:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
        return input.reshape((*shape[:first], math.prod(shape[first:stop]), *shape[stop:]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes axes of ``unflattened_size`` of the axis ``dim``."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: Any) -> Any:
        shape = input.shape
        place = self.dim % len(shape)
        return input.reshape((*shape[:place], *self.unflattened_size, *shape[place + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
