"""Takes shapes and a generator, gives parameters with the starting values of PyTorch's layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn import init
from jitmagic.nn.parameter import Parameter

__all__ = ["bound_of", "uniform"]


def bound_of(fan_in: int) -> float:
    """``1 / sqrt(fan_in)``: He's uniform distribution with slope ``sqrt(5)``, which PyTorch's layers start from."""
    return 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0


def uniform(shape: tuple[int, ...], bound: float, dtype: Any, rng: Any) -> Parameter:
    """A parameter drawn uniformly from ``-bound`` to ``bound``."""
    parameter = Parameter(np.empty(shape, dtype))
    init.uniform_(parameter, -bound, bound, rng)
    return parameter
