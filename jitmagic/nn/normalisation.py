"""Normalisation as layers; the computation is ``jitmagic.nn.functional.normalisation``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn import init
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter

__all__ = ["BatchNorm1d", "BatchNorm2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "LayerNorm", "RMSNorm"]


def _affine(module: Module, shape: tuple[int, ...], weight: bool, bias: bool, dtype: Any) -> None:
    module.register_parameter("weight", Parameter(np.ones(shape, dtype)) if weight else None)
    module.register_parameter("bias", Parameter(np.zeros(shape, dtype)) if bias else None)


def _start_affine(module: Module) -> None:
    """Weight 1 and bias 0, in place."""
    for name, value in (("weight", 1.0), ("bias", 0.0)):
        parameter = module._parameters.get(name)
        if parameter is not None:
            init.constant_(parameter, value)


def _as_shape(given: int | tuple[int, ...]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, of shape ``normalized_shape``; then ``* weight + bias``."""

    weight: Any
    bias: Any

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
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        _affine(self, self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0 again, in place."""
        _start_affine(self)

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """``x / sqrt(mean(x²) + eps)`` over the last axes, times ``weight``; ``eps`` defaults to that of the dtype."""

    weight: Any

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(np.ones(self.normalized_shape, dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def reset_parameters(self) -> None:
        """Weight 1 again, in place."""
        _start_affine(self)

    def forward(self, input: Any) -> Any:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 over groups of channels of (n, num_channels, ...); ``* weight + bias`` by channel."""

    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        _affine(self, (num_channels,), affine, affine and bias, dtype)

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0 again, in place."""
        _start_affine(self)

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _Running(Module):
    """Running mean and variance of channels, and how many batches they have seen."""

    ranks: ClassVar[tuple[int, ...]]
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def _set(
        self, num_features: int, eps: float, momentum: Any, affine: bool, tracked: bool, bias: bool, dtype: Any
    ) -> None:
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = tracked
        _affine(self, (num_features,), affine, affine and bias, dtype)
        self.register_buffer("running_mean", np.zeros(num_features, dtype) if tracked else None)
        self.register_buffer("running_var", np.ones(num_features, dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", np.zeros((), np.int64) if tracked else None)

    def reset_running_stats(self) -> None:
        """Start over: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean[...] = 0
            self.running_var[...] = 1
            self.num_batches_tracked[...] = 0

    def reset_parameters(self) -> None:
        """Start over, weight 1 and bias 0 included."""
        self.reset_running_stats()
        _start_affine(self)

    def _check(self, input: Any) -> None:
        ndim = len(input.shape)
        if ndim not in self.ranks:
            names = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {names} input (got {ndim}D input)")

    def _factor(self) -> Any:
        """How far the running values move; without ``momentum`` they are the mean of all batches."""
        if not (self.training and self.track_running_stats):
            return 0.0 if self.momentum is None else self.momentum
        self.num_batches_tracked[...] = self.num_batches_tracked + 1
        return 1.0 / self.num_batches_tracked if self.momentum is None else self.momentum

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    """Mean 0 and variance 1 of each channel over the batch in training, by running values in evaluation.

    ``momentum`` None averages over all batches; without ``track_running_stats`` the batch is always measured.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__()
        self._set(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def forward(self, input: Any) -> Any:
        self._check(input)
        factor = self._factor()
        measured = self.training or self.running_mean is None
        kept = self.training and self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if kept or not measured else None,
            self.running_var if kept or not measured else None,
            self.weight,
            self.bias,
            measured,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Of (n, c) or (n, c, l)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Of (n, c, h, w)."""

    ranks = (4,)


class _InstanceNorm(_Running):
    """Mean 0 and variance 1 of each channel of each sample; running values only if asked for."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__()
        self._set(num_features, eps, momentum, affine, track_running_stats, bias, dtype)

    def forward(self, input: Any) -> Any:
        self._check(input)
        whole = input[None] if len(input.shape) == self.ranks[0] else input
        measured = self.training or not self.track_running_stats
        found = F.instance_norm(
            whole, self.running_mean, self.running_var, self.weight, self.bias, measured, self.momentum, self.eps
        )
        return found[0] if len(input.shape) == self.ranks[0] else found


class InstanceNorm1d(_InstanceNorm):
    """Of (n, c, l) or (c, l)."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Of (n, c, h, w) or (c, h, w)."""

    ranks = (3, 4)
