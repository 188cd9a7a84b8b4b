"""NumPy programs with real values, and arguments for them: what gradients are tested on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PROGRAMS", "Program"]

Program = tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]], tuple[int, ...]]
PROGRAMS: dict[str, Program] = {}


def program(*argnums: int, args: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        PROGRAMS[function.__name__] = (function, args, argnums or (0,))
        return function

    return keep


def vector(rng: Any) -> tuple[Any, ...]:
    return (rng.random(6) + 0.5,)


def two(rng: Any) -> tuple[Any, ...]:
    return rng.random(6) + 0.5, rng.random(6) + 0.5


def matrix(rng: Any) -> tuple[Any, ...]:
    return (rng.random((4, 3)) + 0.5,)


def matrices(rng: Any) -> tuple[Any, ...]:
    return rng.random((4, 3)), rng.random((3, 5))


def square(rng: Any) -> tuple[Any, ...]:
    return (rng.random((3, 3)) + 3 * np.eye(3), rng.random(3))


@program(0, 1, args=two)
def dot(x, y):
    return np.dot(x, y) + np.sum(x**2)


@program(args=vector)
def in_place(x):
    x *= 2.0
    x += x[::-1]
    return np.sum(x**3)


@program(args=vector)
def write_through_a_view(x):
    part = x[1:4]
    part *= x[2]
    return np.sum(np.sin(x))


@program(0, 1, args=two)
def overlapping_write(x, y):
    x[1:] += x[:-1] * y[1:]
    return np.sum(x * x)


@program(args=vector)
def write_into_zeros(x):
    out = np.zeros(6)
    out[2:5] = x[:3] * x[3:]
    out[0] = x[0] ** 2
    return np.sum(out * x)


@program(args=matrix)
def write_through_transpose(x):
    y = x * 1.0
    y.T[0] = y.T[1] * 2.0
    return np.sum(y**2)


@program(args=matrix)
def write_through_reshape(x):
    y = x * x
    y.reshape(-1)[3] = 0.0
    return np.sum(y * x)


@program(args=vector)
def copy_to(x):
    y = np.empty(6)
    np.copyto(y, x * 3.0)
    return np.sum(y * x)


@program(0, 1, args=two)
def out_argument(x, y):
    z = np.empty(6)
    np.multiply(x, y, out=z)
    np.exp(z, out=z)
    return np.sum(z)


@program(args=vector)
def fancy_read(x):
    return np.sum(x[[0, 0, 3, 5]] ** 2)


@program(args=vector)
def fancy_write(x):
    y = x * 2.0
    y[np.array([1, 1, 4])] = x[:3] ** 2
    return np.sum(y * x)


@program(args=vector)
def masked_write(x):
    y = x * x
    y[x > 1.0] = 0.0
    return np.sum(y)


@program(args=matrix)
def mixed_index(x):
    return np.sum(x[1:, [0, 2]] * 2.0) + np.sum(x[np.arange(3), np.arange(3)] ** 2)


@program(args=vector)
def where_kink(x):
    return np.sum(np.where(x > 1.0, np.sqrt(x), x**2))


@program(args=vector)
def clipped(x):
    return np.sum(np.clip(x, 0.7, 1.2) ** 2)


@program(args=vector)
def largest(x):
    return np.max(x) * np.sum(np.maximum(x, 0.9))


@program(0, 1, args=matrices)
def products(a, b):
    return np.sum(np.tanh(a @ b) ** 2)


@program(0, 1, args=square)
def solve(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


@program(args=square)
def determinant(a, b):
    return np.linalg.slogdet(a)[1] + np.trace(np.linalg.inv(a))


@program(args=square)
def cholesky(a, b):
    s = a @ a.T + np.eye(3)
    return np.sum(np.linalg.cholesky(s) * np.arange(9.0).reshape(3, 3))


@program(args=matrix)
def softmax_cross_entropy(x):
    shifted = x - np.max(x, axis=1, keepdims=True)
    logs = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(4), [0, 2, 1, 1]])


@program(args=matrix)
def standardised(x):
    return np.sum((((x - np.mean(x, axis=0)) / np.std(x, axis=0)) ** 3) * np.arange(3.0))


@program(args=vector)
def scanned(x):
    return np.sum(np.cumsum(x) ** 2)


@program(args=vector)
def joined(x):
    return np.sum(np.concatenate([x, x[:2] * 2.0, x[::-1]]) ** 2) + np.sum(np.stack([x, x]))


@program(args=vector)
def unrolled_loop(x):
    y = x
    for k in range(4):
        y = y + 0.1 * np.sin(y) * (k + 1)
    return np.sum(y)


@program(args=vector)
def stencil(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@program(args=lambda rng: ({"w": rng.random((3, 2)), "b": [rng.random(2), None], "scale": 1.5}, rng.random((4, 3))))
def nested(p, x):
    return np.sum(np.tanh(x @ p["w"] + p["b"][0]) * p["scale"])


@program(0, args=lambda rng: (0.7, rng.random(3)))
def python_float(t, x):
    return np.sum(np.sin(t * x)) + t**2


@program(args=vector)
def broadcast(x):
    return np.sum(x[:, None] * x[None, :] * np.arange(6.0))


@program(args=matrix)
def rearranged(x):
    y = np.moveaxis(x.reshape(2, 2, 3), 0, -1)
    return np.sum(np.flip(y, axis=0) * np.squeeze(np.expand_dims(y, 0)) * np.arange(12.0).reshape(y.shape))


@program(args=vector)
def sorted_values(x):
    return np.sum(np.sort(x) * np.arange(6.0))


@program(args=vector)
def repeated(x):
    return np.sum(np.repeat(x, 2) * np.arange(12.0)) + np.sum(np.tile(x, 2) * np.arange(12.0))


@program(args=vector)
def complex_inside(x):
    return np.sum(np.real(np.exp(1j * x)))


@program(0, 1, args=two)
def loop_sum(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i] * s + math.sin(x[i])
    return s


@program(args=vector)
def loop_recurrence(x):
    out = np.zeros(20)
    out[0] = x[0]
    for i in range(1, 20):
        out[i] = out[i - 1] * 0.9 + x[i % 6] ** 2 / (1.0 + out[i - 1])
    return np.sum(out * out)


@program(args=matrix)
def loop_in_place(x):
    for _k in range(3):
        for i in range(1, 3):
            for j in range(1, 2):
                x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) * x[i, j]
    return np.sum(x * x)


@program(args=vector)
def loop_branches(x):
    s, t = 1.0, 0.0
    for i in range(12):
        v = x[i % 6]
        if v > 1.0:
            s = s * v
        elif i > 6:
            t += v * s
            continue
        else:
            s = s + max(v, 0.8) + abs(v - 2.0)
        if s > 30.0:
            break
        t = t + math.exp(-v)
    return s * t


@program(args=vector)
def loop_while(x):
    s, n = x[0], 0
    while s < 50.0 and n < 100:
        s = s * (1.0 + x[n % 6] * 0.3)
        n += 1
    return s * n


@program(0, 1, args=lambda rng: (0.8, rng.random(5), 30))
def loop_euler(y, p, steps):
    dt = 0.02
    for _k in range(steps):
        y = y + dt * (p[0] * y * (1.0 - y) - p[1] * math.sqrt(y))
    return y + p[2] * 0.0


@program(args=vector)
def loop_backwards(x):
    y = x * 1.0
    for i in range(len(x) - 1, 0, -2):
        y[i - 1] += y[i] * x[i]
        x[i] = y[i - 1] * 0.5
    return np.sum(y * x)


@program(args=vector)
def written_to_places_named_twice(x):
    y = np.zeros(6)
    y[[0, 1, 1, 2]] = x[[3, 3, 4, 5]]
    z = y.reshape(2, 3)
    z[[0, 1, 1], [0, 1, 1]] += x[3:]
    z[:, [0, 0]] *= x[:2]
    return np.sum(z**2 * np.arange(6.0).reshape(2, 3))


@program(args=vector)
def computed_where_a_mask_says(x):
    y = np.empty(6)
    np.multiply(x, 2, out=y)
    np.add(y, x * x, out=y, where=x > 0.9)
    np.sqrt(y, out=y, where=y > 2)
    return np.sum(y * np.arange(6.0))


@program(args=vector)
def computed_into_rows(x):
    y = np.zeros((2, 6))
    np.multiply(x, x[::-1], out=y, where=np.array([[True], [False]]))
    np.exp(x, out=y[1], where=x < 1)
    return np.sum(y * np.arange(12.0).reshape(2, 6))


@program(args=vector)
def defined_only_where_computed(x):
    y = np.full(6, 0.5)
    np.log(x - 1, out=y, where=x > 1)
    return np.sum(y)


@program(args=vector)
def looked_up_in_lists(x):
    return np.sum(np.interp(x, [0.0, 1.0, 2.0], [0.0, 3.0, 1.0])) + np.sum(np.interp(x, [0.0, 0.55, 3.0], x[:3]))


@program(args=square)
def symmetric_eigenvalues(x, b):
    values, vectors = np.linalg.eigh(x + x.T)
    return np.sum(values**3) + np.sum(vectors[:, 0] ** 2 * b)
