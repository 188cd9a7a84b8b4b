"""Takes nothing, gives the programs that are measured: NumPy functions and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CASES: list[Case] = []


@dataclass(frozen=True)
class Case:
    """One row of the table; ``arguments`` makes fresh arguments from a seeded generator."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    label: str

    @property
    def name(self) -> str:
        return f"{self.function.__name__} {self.label}"


def case(*sizes: tuple[int, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Measure a function of one float64 array, once for each of these shapes."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for shape in sizes:
            label = "×".join(str(size) for size in shape)
            CASES.append(Case(function, lambda rng, shape=shape: (rng.random(shape),), label))
        return function

    return register


@case((8,), (1000,), (1_000_000,))
def line(x):
    """The least that can be fused; with 8 elements it shows what a call costs."""
    return x * 2.0 + 1.0


@case((1_000_000,))
def blend(x):
    """Six operations of plain arithmetic."""
    return np.sqrt(x * x) / (1.0 + x) + x * x


@case((1000, 1000))
def cross(z):
    """Five shifted views."""
    return (z[1:-1, 1:-1] + z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]) / 5.0


@case((1000, 1000))
def softmax(x):
    """Folds along rows, a function, broadcasting."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@case((1000, 1000))
def clip_edges(z):
    """Writes into parts of a new array, and a choice."""
    out = np.zeros_like(z)
    out[1:-1] = np.where(z[2:] > z[:-2], z[2:] * 0.5, z[:-2] + 1.0)
    out[0] = 1.0
    return out


@case((1000,), (1_000_000,))
def bell(x):
    """A transcendental function between arithmetic."""
    return np.exp(-x * x) * 2.0 + 1.0


@case((1000, 1000))
def smooth(z):
    """Arithmetic on shifted views."""
    edges = z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]
    corners = z[:-2, :-2] + z[:-2, 2:] + z[2:, :-2] + z[2:, 2:]
    return (4.0 * z[1:-1, 1:-1] + 2.0 * edges + corners) / 16.0


@case((1000, 1000))
def shade(z):
    """Functions that NumPy computes one element after the other."""
    dx = (z[1:-1, 2:] - z[1:-1, :-2]) / 2.0
    dy = (z[2:, 1:-1] - z[:-2, 1:-1]) / 2.0
    slope = np.arctan(np.sqrt(dx * dx + dy * dy))
    aspect = np.arctan2(-dx, dy)
    return 0.7 * np.cos(slope) + 0.7 * np.sin(slope) * np.cos(5.5 - aspect)


@case((1000, 1000))
def spread(x):
    """Reductions that feed arithmetic."""
    centred = x - x.mean()
    return np.sqrt((centred * centred).sum() / x.size)
