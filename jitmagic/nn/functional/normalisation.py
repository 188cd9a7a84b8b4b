"""Normalisation over axes of the input, or over the batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.tensor import Tensor

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]


def _standard(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """Mean 0 and variance 1 over ``axes``."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + eps)


def _check_last(input: Any, shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    rank = len(shape)
    if input.shape[-rank:] != shape:
        raise RuntimeError(f"{name} over {shape} got an input of shape {input.shape}: its last axes differ")
    return tuple(range(-rank, 0))


def layer_norm(
    input: Any, normalized_shape: tuple[int, ...], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Mean 0, variance 1 over the last axes, of shape ``normalized_shape``; then ``* weight + bias`` of that shape."""
    result = _standard(input, _check_last(input, tuple(normalized_shape), "LayerNorm"), eps)
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def rms_norm(input: Any, normalized_shape: tuple[int, ...], weight: Any = None, eps: float | None = None) -> Any:
    """``x / sqrt(mean(x²) + eps)`` over the last axes (Zhang and Sennrich, 2019); ``eps`` defaults to the dtype's."""
    axes = _check_last(input, tuple(normalized_shape), "RMSNorm")
    if eps is None:
        eps = float(np.finfo(input.dtype).eps)
    result = input / np.sqrt(np.mean(input * input, axis=axes, keepdims=True) + eps)
    return result if weight is None else result * weight


def _scaled(result: Any, weight: Any, bias: Any) -> Any:
    """By channel, which is axis 1."""
    shape = (1, -1) + (1,) * (len(result.shape) - 2)
    if weight is not None:
        result = result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0, variance 1 over each of ``num_groups`` groups of channels (axis 1) and the axes behind."""
    shape = input.shape
    if shape[1] % num_groups != 0:
        raise ValueError(f"{shape[1]} channels cannot be divided into {num_groups} groups")
    grouped = input.reshape((shape[0], num_groups, shape[1] // num_groups * math.prod(shape[2:])))
    return _scaled(_standard(grouped, (2,), eps).reshape(shape), weight, bias)


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0, variance 1 of each channel (axis 1) over all other axes; then ``* weight + bias``.

    In training the batch is measured, and the running values, unless None, move by ``momentum`` towards its mean and
    its unbiased variance, in place; else the running values are used. Raises ValueError for a batch of one value per
    channel in training.
    """
    shape = input.shape
    axes = (0, *range(2, len(shape)))
    spread = (1, -1) + (1,) * (len(shape) - 2)
    if not training:
        scale = 1.0 / np.sqrt(running_var + eps)
        return _scaled((input - running_mean.reshape(spread)) * scale.reshape(spread), weight, bias)
    count = math.prod(shape) // shape[1]
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")
    mean = np.mean(input, axis=axes, keepdims=True)
    centred = input - mean
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    if running_mean is not None:
        with no_grad():
            _move(running_mean, mean, momentum)
            _move(running_var, variance * (count / (count - 1)), momentum)
    return _scaled(centred / np.sqrt(variance + eps), weight, bias)


def _move(running: Any, towards: Any, momentum: Any) -> None:
    array = towards.numpy() if isinstance(towards, Tensor) else towards
    running[...] = (1.0 - momentum) * running + momentum * array.reshape(-1)


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Mean 0, variance 1 of each channel of each sample over the axes behind; running values as in ``batch_norm``."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    shape = input.shape
    count = math.prod(shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {shape}")
    axes = tuple(range(2, len(shape)))
    mean = np.mean(input, axis=axes, keepdims=True)
    centred = input - mean
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    if running_mean is not None:
        with no_grad():
            _move(running_mean, np.mean(mean, axis=0), momentum)
            _move(running_var, np.mean(variance, axis=0) * (count / (count - 1)), momentum)
    return _scaled(centred / np.sqrt(variance + eps), weight, bias)
