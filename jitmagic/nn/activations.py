"""Elementwise functions and softmax as modules; what they compute is ``jitmagic.nn.functional.activations``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.nn import functional as F
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class _Elementwise(Module):
    """Settings under the names in ``settings``; ``inplace``, which PyTorch has, changes nothing here but ``repr``."""

    settings: ClassVar[tuple[str, ...]] = ()
    inplace: bool = False

    def extra_repr(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.settings]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


class _Simple(_Elementwise):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_Simple):
    """``max(x, 0)``; the derivative at 0 is 0."""

    def forward(self, input: Any) -> Any:
        return F.relu(input)


class ReLU6(_Simple):
    """``min(max(x, 0), 6)``."""

    def forward(self, input: Any) -> Any:
        return F.relu6(input)


class Tanh(_Simple):
    def forward(self, input: Any) -> Any:
        return np.tanh(input)


class Sigmoid(_Simple):
    """``1 / (1 + exp(-x))``, without overflow."""

    def forward(self, input: Any) -> Any:
        return F.sigmoid(input)


class SiLU(_Simple):
    """``x * sigmoid(x)``."""

    def forward(self, input: Any) -> Any:
        return F.silu(input)


class Mish(_Simple):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Any) -> Any:
        return F.mish(input)


class SELU(_Simple):
    """Scaled ``ELU`` that keeps mean 0 and variance 1."""

    def forward(self, input: Any) -> Any:
        return F.selu(input)


class Hardsigmoid(_Simple):
    def forward(self, input: Any) -> Any:
        return F.hardsigmoid(input)


class Hardswish(_Simple):
    def forward(self, input: Any) -> Any:
        return F.hardswish(input)


class LogSigmoid(_Simple):
    def forward(self, input: Any) -> Any:
        return F.logsigmoid(input)


class Softsign(_Simple):
    """``x / (1 + |x|)``."""

    def forward(self, input: Any) -> Any:
        return F.softsign(input)


class Tanhshrink(_Simple):
    """``x - tanh(x)``."""

    def forward(self, input: Any) -> Any:
        return F.tanhshrink(input)


class GELU(_Elementwise):
    """``x`` times the normal distribution function of ``x``, or its approximation by ``tanh``."""

    settings = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate={approximate!r}: it is 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return F.gelu(input, self.approximate)


class LeakyReLU(_Elementwise):
    """``x``, times ``negative_slope`` below 0."""

    settings = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
        self.negative_slope = negative_slope

    def forward(self, input: Any) -> Any:
        return F.leaky_relu(input, self.negative_slope)


class PReLU(_Elementwise):
    """``x``, times a learned slope below 0: one, or one for each channel (axis 1)."""

    settings = ("num_parameters",)
    weight: Any

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: Any = np.float64) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(np.full(num_parameters, init, dtype))

    def reset_parameters(self) -> None:
        """The slope that it was made with, in place."""
        with no_grad():
            self.weight[...] = self.init

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)


class ELU(_Elementwise):
    """``alpha * (exp(x) - 1)`` below 0."""

    settings = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
        self.alpha = alpha

    def forward(self, input: Any) -> Any:
        return F.elu(input, self.alpha)


class CELU(ELU):
    """``alpha * (exp(x / alpha) - 1)`` below 0."""

    def forward(self, input: Any) -> Any:
        return F.celu(input, self.alpha)


class Hardtanh(_Elementwise):
    """``x`` between ``min_val`` and ``max_val``."""

    settings = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, input: Any) -> Any:
        return F.hardtanh(input, self.min_val, self.max_val)


class Softplus(_Elementwise):
    """``log(1 + exp(beta * x)) / beta``, and ``x`` where ``beta * x`` is larger than ``threshold``."""

    settings = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        return F.softplus(input, self.beta, self.threshold)


class Hardshrink(_Elementwise):
    """0 where ``|x|`` is at most ``lambd``."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return repr(self.lambd)

    def forward(self, input: Any) -> Any:
        return F.hardshrink(input, self.lambd)


class Softshrink(Hardshrink):
    """``x`` moved by ``lambd`` towards 0."""

    def forward(self, input: Any) -> Any:
        return F.softshrink(input, self.lambd)


class Threshold(_Elementwise):
    """``x`` where it is larger than ``threshold``, else ``value``."""

    settings = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
        self.threshold = threshold
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.threshold(input, self.threshold, self.value)


class GLU(_Elementwise):
    """One half along ``dim`` times the sigmoid of the other."""

    settings = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return F.glu(input, self.dim)


class Softmax(_Elementwise):
    """``exp(x)`` over its sum along ``dim``; the largest element is subtracted first."""

    settings = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return F.softmax(input, self.dim)


class Softmin(Softmax):
    """``Softmax`` of ``-x``."""

    def forward(self, input: Any) -> Any:
        return F.softmin(input, self.dim)


class LogSoftmax(Softmax):
    """The logarithm of ``Softmax``."""

    def forward(self, input: Any) -> Any:
        return F.log_softmax(input, self.dim)


class Softmax2d(_Simple):
    """``Softmax`` over the channels of (n, c, h, w) or (c, h, w)."""

    def forward(self, input: Any) -> Any:
        return F.softmax(input, -3)
