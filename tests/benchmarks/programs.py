"""Takes nothing, gives the fixed list of array programs: finance, images, physics, statistics, distances, learning.

The list was written before anything was tuned for it. Each program runs at each of ``SIZES`` elements, about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.cases import Case

__all__ = ["PROGRAMS", "SIZES", "arguments_of", "function_of"]

SIZES = (10, 1_000, 100_000, 1_000_000, 10_000_000)
PROGRAMS: list[Case] = []

Make = Callable[[np.random.Generator, int], tuple[Any, ...]]


def program(make: Make) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Measure a function at every size; ``make`` gives its arguments."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for size in SIZES:
            PROGRAMS.append(Case(function, lambda rng, size=size: make(rng, size), f"{size}"))
        return function

    return register


def vectors(count: int) -> Make:
    return lambda rng, size: tuple(rng.uniform(0.1, 1.0, size) for _ in range(count))


def images(count: int) -> Make:
    """Square, of at least 4 by 4."""

    def make(rng: np.random.Generator, size: int) -> tuple[Any, ...]:
        side = max(4, int(size**0.5))
        return tuple(rng.random((side, side)) for _ in range(count))

    return make


def points(rng: np.random.Generator, size: int) -> tuple[Any, ...]:
    """Two clouds of points in three dimensions, ``size`` pairs."""
    count = max(2, int(size**0.5))
    return rng.random((count, 3)), rng.random((count, 3))


# ---------------------------------------------------------------- finance


@program(vectors(4))
def returns(price, before, dividend, weight):
    return weight * (np.log(price / before) + dividend / before)


@program(vectors(3))
def discounted(cash, rate, years):
    return cash / (1.0 + rate) ** 2 * np.exp(-rate * years)


@program(vectors(3))
def option_moneyness(spot, strike, sigma):
    d1 = (np.log(spot / strike) + 0.5 * sigma * sigma) / sigma
    return np.tanh(0.8 * d1) * spot - np.tanh(0.8 * (d1 - sigma)) * strike


@program(vectors(1))
def drawdown(value):
    return np.max(np.maximum.accumulate(value) - value)


# ---------------------------------------------------------------- images


@program(images(1))
def box_blur(z):
    total = z[1:-1, 1:-1] + z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]
    return (total + z[:-2, :-2] + z[:-2, 2:] + z[2:, :-2] + z[2:, 2:]) / 9.0


@program(images(1))
def edges(z):
    dx = z[1:-1, 2:] - z[1:-1, :-2]
    dy = z[2:, 1:-1] - z[:-2, 1:-1]
    return np.sqrt(dx * dx + dy * dy)


@program(images(3))
def luminance(red, green, blue):
    return np.clip(0.2126 * red + 0.7152 * green + 0.0722 * blue, 0.0, 1.0)


@program(images(1))
def gamma(z):
    return np.where(z <= 0.0031308, 12.92 * z, 1.055 * z**0.4166 - 0.055)


@program(images(2))
def blend(a, b):
    return np.where(a < 0.5, 2.0 * a * b, 1.0 - 2.0 * (1.0 - a) * (1.0 - b))


# ---------------------------------------------------------------- physics


@program(images(1))
def heat(u):
    new = u.copy()
    new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    )
    return new


@program(vectors(1))
def burgers(u):
    return u[1:-1] - 0.05 * u[1:-1] * (u[2:] - u[:-2]) + 0.01 * (u[2:] - 2.0 * u[1:-1] + u[:-2])


@program(vectors(3))
def oscillator(position, velocity, mass):
    force = -position * (1.0 + 0.1 * position * position)
    velocity = velocity + 0.01 * force / mass
    return position + 0.01 * velocity


@program(vectors(2))
def energy(position, velocity):
    return (0.5 * velocity * velocity + 0.5 * position * position).sum()


@program(vectors(1))
def lennard_jones(r):
    inverse = 1.0 / (r * r)
    cube = inverse * inverse * inverse
    return 4.0 * (cube * cube - cube)


# ---------------------------------------------------------------- statistics


@program(vectors(1))
def standardise(x):
    centred = x - x.mean()
    return centred / np.sqrt((centred * centred).mean())


@program(images(1))
def column_scores(x):
    centred = x - x.mean(axis=0)
    return centred / (np.sqrt((centred * centred).mean(axis=0)) + 1e-9)


@program(vectors(2))
def correlation(x, y):
    a, b = x - x.mean(), y - y.mean()
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


@program(vectors(1))
def farthest(x):
    return np.abs(x - 0.5).max()


@program(vectors(1))
def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


# ---------------------------------------------------------------- distances


@program(points)
def distances(a, b):
    difference = a[:, None, :] - b[None, :, :]
    return np.sqrt((difference * difference).sum(axis=-1))


@program(points)
def kernel_matrix(a, b):
    dx, dy, dz = (a[:, None, k] - b[None, :, k] for k in range(3))
    return np.exp(-0.5 * (dx * dx + dy * dy + dz * dz))


# ---------------------------------------------------------------- learning


@program(images(1))
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(images(2))
def layer(x, w):
    return np.maximum(x * w + 0.1, 0.0) * 0.5


@program(vectors(1))
def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@program(images(1))
def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


@program(vectors(2))
def cross_entropy(p, t):
    return -(t * np.log(p) + (1.0 - t) * np.log(1.0 - p * 0.99)).mean()


# ---------------------------------------------------------------- by name

_BY_NAME = {case.name: case for case in PROGRAMS}


def arguments_of(name: str, size: int) -> tuple[Any, ...]:
    """The same in every process."""
    return _BY_NAME[f"{name} {size}"].arguments(np.random.default_rng(0))


def function_of(name: str) -> Callable[..., Any]:
    return _BY_NAME[f"{name} {SIZES[0]}"].function
