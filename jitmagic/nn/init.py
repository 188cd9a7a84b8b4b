"""Fills arrays or Tensors in place with starting values, and gives them back; ``generator`` or ``np.random`` draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.nn.parameter import array_of

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def _fill(tensor: Any, values: Any) -> Any:
    target = array_of(tensor)
    with no_grad():
        target[...] = values
    return tensor


def _draws(generator: Any) -> Any:
    return np.random if generator is None else generator


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Uniformly from ``a`` to ``b``."""
    return _fill(tensor, _draws(generator).uniform(a, b, tensor.shape))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    return _fill(tensor, _draws(generator).normal(mean, std, tensor.shape))


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """The normal distribution between ``a`` and ``b``: what falls outside is drawn again."""
    draws = _draws(generator)
    if not a < b:
        raise ValueError(f"trunc_normal_ needs a < b, not {a} and {b}")
    low, high = (_normal_cdf((x - mean) / std) for x in (a, b))
    if high - low < 1e-3:
        raise ValueError(f"hardly any value of the normal distribution around {mean} lies between {a} and {b}")
    values = draws.normal(mean, std, tensor.shape)
    outside = (values < a) | (values > b)
    while np.any(outside):
        values[outside] = draws.normal(mean, std, int(np.sum(outside)))
        outside = (values < a) | (values > b)
    return _fill(tensor, values)


def _normal_cdf(x: float) -> float:
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


def constant_(tensor: Any, val: float) -> Any:
    return _fill(tensor, val)


def ones_(tensor: Any) -> Any:
    return _fill(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    return _fill(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """Ones on the diagonal of a matrix. Raises ValueError for other ranks."""
    if len(tensor.shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """A convolution that keeps its input: ones in the middle of the kernel, channel by channel in each group."""
    shape = tensor.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    each = shape[0] // groups
    middle = tuple(k // 2 for k in shape[2:])
    for group in range(groups):
        for channel in range(min(each, shape[1])):
            values[(group * each + channel, channel, *middle)] = 1.0
    return _fill(tensor, values)


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input has."""
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_GAINS = {"tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75, "sigmoid": 1.0, "linear": 1.0}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through an activation; ``param`` is the slope of ``"leaky_relu"``."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Variance ``gain² 2 / (fan_in + fan_out)``, uniform (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor.shape)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor.shape))), generator)


def _fan(tensor: Any, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor.shape)[mode == "fan_out"]


def kaiming_uniform_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """Variance ``gain² / fan``, uniform (He et al., 2015)."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Orthonormal rows or columns of the matrix (shape[0], everything else) (Saxe et al., 2013)."""
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = shape[0], math.prod(shape[1:])
    drawn = _draws(generator).normal(0.0, 1.0, (max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(shape))


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal, with the share ``sparsity`` of each column set to 0 (Martens, 2010)."""
    if len(tensor.shape) != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    draws = _draws(generator)
    values = draws.normal(0.0, std, tensor.shape)
    for column in range(tensor.shape[1]):
        values[draws.permutation(tensor.shape[0])[: math.ceil(sparsity * tensor.shape[0])], column] = 0.0
    return _fill(tensor, values)
