"""All parameters as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """The elements of all arrays or Tensors, one after the other; gradients flow through."""
    return np.concatenate([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write the elements of ``vec`` into the arrays or Tensors, in order.

    Raises ValueError, before anything is written, if they are not as many as the parameters have.
    """
    rows = list(parameters)
    counts = [math.prod(parameter.shape) for parameter in rows]
    if vec.shape != (sum(counts),):
        raise ValueError(f"a vector of shape {vec.shape} for parameters that have {sum(counts)} elements")
    start = 0
    with no_grad():
        for parameter, count in zip(rows, counts, strict=True):
            parameter[...] = vec[start : start + count].reshape(parameter.shape)
            start += count
