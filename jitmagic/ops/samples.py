"""Takes ranges, gives sample arguments for the generic tests of the op table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.record import Sample

__all__ = ["arrays", "called", "integers", "masks", "positive", "reals"]


def reals(count: int = 1, low: float = -3, high: float = 3, shape: tuple[int, ...] = (4, 3)) -> tuple[Sample, ...]:
    """``count`` float64 operands of equal shape."""
    return (Sample(lambda rng: tuple(rng.uniform(low, high, shape) for _ in range(count))),)


def integers(count: int = 1, low: int = 0, high: int = 6, shape: tuple[int, ...] = (4, 3)) -> tuple[Sample, ...]:
    return (Sample(lambda rng: tuple(rng.integers(low, high, shape) for _ in range(count))),)


def arrays(*shapes: tuple[int, ...], **kwargs: Any) -> Sample:
    """One float64 operand for each shape."""
    return Sample(lambda rng: tuple(rng.uniform(-3, 3, shape) for shape in shapes), kwargs)


def called(*rest: Any, shape: tuple[int, ...] = (4, 3), **kwargs: Any) -> Sample:
    """One float64 operand, then constants."""
    return Sample(lambda rng: (rng.uniform(-3, 3, shape), *rest), kwargs)


def masks(shape: tuple[int, ...] = (4, 3)) -> Callable[[Any], Any]:
    return lambda rng: rng.random(shape) < 0.5


def positive(n: int = 4) -> Callable[[Any], Any]:
    """A well-conditioned square matrix."""
    return lambda rng: rng.random((n, n)) + n * np.eye(n)
