"""Layers that learn their input size at the first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.nn import init
from jitmagic.nn.conv import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from jitmagic.nn.lazy import LazyModuleMixin
from jitmagic.nn.linear import Linear
from jitmagic.nn.normalisation import BatchNorm1d, BatchNorm2d
from jitmagic.nn.parameter import UninitializedBuffer, UninitializedParameter, is_uninitialized
from jitmagic.nn.starting import start

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyConv1d", "LazyConv2d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyLinear",
]  # fmt: skip


class LazyLinear(LazyModuleMixin, Linear):
    """A ``Linear`` whose ``in_features`` is the last size of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, *, dtype: Any = np.float64, rng: Any = None) -> None:
        super().__init__(0, 0, False, dtype=dtype)
        self.out_features = out_features
        object.__setattr__(self, "_rng", rng)
        self.weight = UninitializedParameter(dtype=dtype)
        self.bias = UninitializedParameter(dtype=dtype) if bias else None

    def initialize_parameters(self, input: Any) -> None:
        self.in_features = input.shape[-1]
        if not self.has_uninitialized_params():
            return
        self.materialize("weight", (self.out_features, self.in_features))
        if self.bias is not None:
            self.materialize("bias", (self.out_features,))
        start(self, self._rng)


class _LazyConv(LazyModuleMixin):
    """Makes the arrays of a convolution when the number of channels is known."""

    def _begin(self, bias: bool, out_channels: int, dtype: Any, rng: Any) -> None:
        layer: Any = self
        layer.out_channels = out_channels
        object.__setattr__(self, "_rng", rng)
        layer.weight = UninitializedParameter(dtype=dtype)
        layer.bias = UninitializedParameter(dtype=dtype) if bias else None

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        layer: Any = self
        layer.in_channels = input.shape[-layer.rank - 1]
        if not self.has_uninitialized_params():
            return
        if layer.in_channels % layer.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.materialize("weight", layer._weight_shape())
        if layer.bias is not None:
            self.materialize("bias", (layer.out_channels,))
        start(layer, layer._rng)


class _LazyPlainConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, dtype=dtype, rng=rng
        )
        self._begin(bias, out_channels, dtype, rng)


class LazyConv1d(_LazyPlainConv, Conv1d):
    """A ``Conv1d`` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """A ``Conv2d`` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv2d


class _LazyTransposedConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        *,
        dtype: Any = np.float64,
        rng: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, dtype=dtype,
            rng=rng,
        )  # fmt: skip
        self._begin(bias, out_channels, dtype, rng)


class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """A ``ConvTranspose1d`` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """A ``ConvTranspose2d`` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose2d


class _LazyBatchNorm(LazyModuleMixin):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, dtype=dtype)
        layer: Any = self
        layer.affine = affine
        layer.track_running_stats = track_running_stats
        if affine:
            layer.weight = UninitializedParameter(dtype=dtype)
            layer.bias = UninitializedParameter(dtype=dtype) if bias else None
        if track_running_stats:
            layer.running_mean = UninitializedBuffer(dtype=dtype)
            layer.running_var = UninitializedBuffer(dtype=dtype)
            layer.num_batches_tracked = np.zeros((), np.int64)

    def initialize_parameters(self, input: Any) -> None:
        layer: Any = self
        layer.num_features = input.shape[1]
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            if is_uninitialized(getattr(self, name)):
                init.constant_(self.materialize(name, (layer.num_features,)), value)


class LazyBatchNorm1d(_LazyBatchNorm, BatchNorm1d):
    """A ``BatchNorm1d`` whose ``num_features`` is that of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyBatchNorm, BatchNorm2d):
    """A ``BatchNorm2d`` whose ``num_features`` is that of its first input."""

    cls_to_become = BatchNorm2d
