"""Convolutions as layers; the computation is ``jitmagic.nn.functional.convolution``."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn.functional.sizes import as_pairs, as_tuple
from jitmagic.nn.module import Module
from jitmagic.nn.starting import draw, empty, start

__all__ = ["Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d"]

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class _ConvBase(Module):
    """Settings and parameters; ``rank`` spatial axes. Starts uniformly in ``±1/sqrt(fan_in)``."""

    rank: ClassVar[int]
    is_transposed: ClassVar[bool] = False
    weight: Any
    bias: Any

    def _set(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        groups: int, padding_mode: str,
    ) -> None:  # fmt: skip
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"in_channels={in_channels} and out_channels={out_channels} must be divisible by groups={groups}"
            )
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {sorted(_MODES)}, but got padding_mode={padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = as_tuple(kernel_size, self.rank, "kernel_size")
        self.stride = as_tuple(stride, self.rank, "stride")
        self.padding = padding if isinstance(padding, str) else as_tuple(padding, self.rank, "padding")
        self.dilation = as_tuple(dilation, self.rank, "dilation")
        self.groups = groups
        self.padding_mode = padding_mode
        as_pairs(self.padding, self.kernel_size, self.stride, self.dilation)  # refuses other words

    def _start(self, bias: bool, dtype: Any, rng: Any) -> None:
        self.weight = empty(self._weight_shape(), dtype)
        self.register_parameter("bias", empty((self.out_channels,), dtype) if bias else None)
        start(self, rng)

    def reset_parameters(self, rng: Any = None) -> None:
        """Draw new starting values, in place."""
        draw(self, math.prod(self._weight_shape()[1:]), rng)

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.is_transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        none = (0,) * self.rank
        for name, usual in (("padding", none), ("dilation", (1,) * self.rank), ("output_padding", none), ("groups", 1)):
            value = getattr(self, name, usual)
            if value != usual:
                text += f", {name}={value}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Conv(_ConvBase):
    def __init__(
        self,
        in_channels: int,
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
        super().__init__()
        self._set(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode)
        self._start(bias, dtype, rng)

    def _padded(self, input: Any) -> tuple[Any, Any]:
        """The input, padded here unless with zeros, and the padding that is left."""
        if self.padding_mode == "zeros":
            return input, self.padding
        pairs = as_pairs(self.padding, self.kernel_size, self.stride, self.dilation)
        lead = ((0, 0),) * (len(input.shape) - self.rank)
        return np.pad(input, (*lead, *pairs), mode=_MODES[self.padding_mode]), 0  # type: ignore[call-overload]  # a table's value


class Conv1d(_Conv):
    """(n, in_channels, l) or without the batch to (n, out_channels, out); see ``functional.conv1d``.

    ``padding`` is a number, ``"same"`` or ``"valid"``; ``padding_mode`` ``"zeros"``, ``"reflect"``, ``"replicate"`` or
    ``"circular"``. ``weight`` is (out_channels, in_channels / groups, kernel_size).
    """

    rank = 1

    def forward(self, input: Any) -> Any:
        whole, padding = self._padded(input)
        return F.conv1d(whole, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Conv):
    """(n, in_channels, h, w) or without the batch to (n, out_channels, oh, ow); numbers or pairs as settings."""

    rank = 2

    def forward(self, input: Any) -> Any:
        whole, padding = self._padded(input)
        return F.conv2d(whole, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_ConvBase):
    is_transposed = True

    def __init__(
        self,
        in_channels: int,
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
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, padding_mode)
        self.output_padding = as_tuple(output_padding, self.rank, "output_padding")
        self._start(bias, dtype, rng)

    def _extra(self, input: Any, output_size: Any) -> tuple[int, ...]:
        """``output_padding`` that leads to ``output_size``, the spatial shape or the whole one."""
        if output_size is None:
            return self.output_padding
        sizes = input.shape[-self.rank :]
        wanted = tuple(output_size)[-self.rank :]
        settings: Any = zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in settings)
        extra = tuple(w - n for w, n in zip(wanted, least, strict=True))
        if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, self.stride, self.dilation, strict=True)):
            most = tuple(n + max(s, d) - 1 for n, s, d in zip(least, self.stride, self.dilation, strict=True))
            raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {least} to {most}")
        return extra


class ConvTranspose1d(_ConvTranspose):
    """The transpose of ``Conv1d``: (n, in_channels, l) to (n, out_channels, out); see ``functional.conv_transpose1d``.

    ``weight`` is (in_channels, out_channels / groups, kernel_size). The call takes ``output_size`` as well.
    """

    rank = 1

    def forward(self, input: Any, output_size: Any = None) -> Any:
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, self._extra(input, output_size), self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose2d(_ConvTranspose):
    """The transpose of ``Conv2d``; the call takes ``output_size`` as well."""

    rank = 2

    def forward(self, input: Any, output_size: Any = None) -> Any:
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, self._extra(input, output_size), self.groups,
            self.dilation,
        )  # fmt: skip
