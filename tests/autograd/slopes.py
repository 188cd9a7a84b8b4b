"""Takes a function of an array, gives its gradient by the tape and by central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm

__all__ = ["X", "differences", "gradient"]

X = np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]])


def gradient(f: Callable[[Any], Any], x: Any, g: Any = None) -> Any:
    leaf = jm.Tensor(np.array(x), requires_grad=True)
    f(leaf).backward(g)
    assert leaf.grad is not None
    return leaf.grad.numpy()


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        found[place] = (f(up) - f(down)) / (2 * step)
    return found
