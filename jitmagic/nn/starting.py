"""Takes shapes or a layer, and a generator; gives parameters the starting values of PyTorch's layers.

Layers draw them in ``reset_parameters(rng)``, which a subclass may override.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitmagic.nn import init
from jitmagic.nn.parameter import Parameter, is_uninitialized

__all__ = ["draw", "empty", "start"]


def empty(shape: tuple[int, ...], dtype: Any) -> Parameter:
    """A parameter without values yet."""
    return Parameter(np.empty(shape, dtype))


def draw(layer: Any, fan_in: int, rng: Any) -> None:
    """All parameters of the layer itself, in order, uniformly in ``±1/sqrt(fan_in)``.

    That is He's uniform distribution with slope ``sqrt(5)``, which PyTorch's layers start from.
    """
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    for parameter in layer._parameters.values():
        if parameter is not None and not is_uninitialized(parameter):
            init.uniform_(parameter, -bound, bound, rng)


def start(layer: Any, rng: Any) -> None:
    """The first values of a layer that has just been made; who overrides ``reset_parameters`` need not take ``rng``."""
    if rng is None:
        layer.reset_parameters()
    else:
        layer.reset_parameters(rng)
