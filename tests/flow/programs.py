"""Functions over whole arrays whose loops and branches only the data decide, with the breaks that each must have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PROGRAMS"]

Program = tuple[Callable[..., Any], list[Callable[[], tuple[Any, ...]]], int]


def rng(seed: int) -> Any:
    return np.random.default_rng(seed)


def jacobi(a, b, tolerance):
    d = np.diag(a)
    r = a - np.diag(d)
    x = np.zeros_like(b)
    error, rounds = 1.0, 0
    while error > tolerance:
        new = (b - r @ x) / d
        error = np.abs(new - x).max()
        x = new
        rounds += 1
    return x, rounds


def kmeans(points, centres, n):
    for _ in range(n):
        distance = ((points[:, None] - centres[None]) ** 2).sum(-1)
        label = distance.argmin(1)
        for j in range(len(centres)):
            mine = label == j
            if mine.any():
                centres[j] = points[mine].mean(0)
    return centres, label


def heat(u, n, dt):
    for _ in range(n):
        u[1:-1] = u[1:-1] + dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def life(g, n):
    for _ in range(n):
        s = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        g = ((s == 3) | ((s == 2) & (g == 1))).astype(g.dtype)
    return g


def newton(x):
    for _ in range(50):
        step = (x**3 - 2 * x - 5) / (3 * x**2 - 2)
        x = x - step
        if np.abs(step).max() < 1e-12:
            break
    return x


def power_method(a, n):
    v = np.ones(a.shape[0])
    for _ in range(n):
        w = a @ v
        v = w / np.linalg.norm(w)
    return v @ a @ v


def bisect(f, lo, hi):
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if np.polyval(f, mid) * np.polyval(f, lo) < 0:
            hi = mid
        else:
            lo = mid
    return mid


def buffers(u, n):
    a, b = u.copy(), np.zeros_like(u)
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a


def leapfrog(u, n):
    old, now = u, u * 1.0
    for _ in range(n):
        new = np.zeros_like(u)
        new[1:-1] = 2 * now[1:-1] - old[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        old, now = now, new
    return now


def zscore(x):
    m, s = x.mean(), x.std()
    if s == 0:
        return np.zeros_like(x)
    return (x - m) / s


def three_ways(x):
    if x.sum() > 10:
        y = x * 2
    elif x.min() < -1:
        y = -x
    else:
        y = x + 0.5
    return y, y.sum()


def choice(x):
    a = x * 2
    b = a + 1 if a.sum() > 0 else a - 1
    return b * 3


def both(x, y):
    if (x.any() and not y.any()) or x.sum() > y.sum() > 1:
        return x + 1, True
    return y - 1, False


def checked(x):
    assert np.isfinite(x).all(), "not finite"
    if (x < 0).any():
        raise ValueError("negative")
    return np.sqrt(x)


def skip(x, n):
    total = np.zeros_like(x)
    for i in range(n):
        part = x * i - 3
        if part.max() < 0:
            continue
        if part.min() > 20:
            break
        total += part
    return total, i


def rows(a):
    best = a[0]
    top = -np.inf
    for row in a:
        score = (row * row).sum()
        if score > top:
            top, best = score, row * 1.0
    return best, top


def nested(a, n):
    x = a * 1.0
    for i in range(n):
        for j in range(i):
            x = x * 0.5 + j
            if x.max() < 1:
                x = x + 10
        x[i % len(x)] += i
    return x


def last_value(x, n):
    for i in range(n):
        y = x + i
    return y, i


def changes_kind(x, n):
    s = 0
    for i in range(n):
        s = s + (x * i).sum()
    return s


def empty_loop(x, n):
    y = x
    for _ in range(n):
        y = y * 2
    return y


def gram_schmidt(a):
    q = np.zeros_like(a)
    for k in range(a.shape[1]):
        v = a[:, k].copy()
        for j in range(k):
            v -= (q[:, j] @ v) * q[:, j]
        norm = np.linalg.norm(v)
        if norm > 1e-10:
            q[:, k] = v / norm
    return q


def conjugate_gradient(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    k = 0
    while np.sqrt(rs) > 1e-10 and k < 100:
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
        k += 1
    return x, k


def helper(x):
    if x.max() > 1:
        return x / x.max()
    return x * 1.0


def calls_helper(x, n):
    for _ in range(n):
        x = helper(x) + 0.25
    return x


def divides(x, n):
    for i in range(n):
        x = x / (n - 2 - i)
    return x


def solves(a, b, n):
    x = b
    for i in range(n):
        x = np.linalg.solve(a + i * np.eye(len(a)), x)
        if np.abs(x).max() < 1e-3:
            break
    return x


def out_of_range(x, n):
    for i in range(n):
        x[i] = x[i - 1] * 2 + x.sum()
    return x


def monte_carlo(seed, n, steps):
    draws = np.random.default_rng(seed)
    price = np.full(n, 100.0)
    for _ in range(steps):
        price *= np.exp(0.01 * draws.standard_normal(n))
        if price.max() > 104:
            price -= draws.random()
    return np.maximum(price - 100, 0).mean(), draws.random()


def spd(n: int) -> Any:
    a = rng(n).standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def square(n: int) -> Any:
    return rng(n).standard_normal((n, n)) + n * np.eye(n)


PROGRAMS: list[Program] = [
    (jacobi, [lambda: (square(9), rng(1).standard_normal(9), 1e-9), lambda: (square(5), np.zeros(5), 1e-9)], 0),
    (kmeans, [lambda: (rng(1).standard_normal((50, 2)), rng(2).standard_normal((3, 2)), 12)], 0),
    (heat, [lambda: (rng(1).standard_normal(40), 30, 0.1), lambda: (np.zeros(3, "f4"), 9, 0.5)], 0),
    (life, [lambda: (rng(1).integers(0, 2, (9, 8)), 20)], 0),
    (newton, [lambda: (np.linspace(2, 3, 7),), lambda: (np.array([np.nan, 1.0]),)], 0),
    (power_method, [lambda: (spd(6), 20), lambda: (spd(3), 9)], 0),
    (bisect, [lambda: (np.array([1.0, 0, -2]), 0.0, 3.0)], 0),
    (buffers, [lambda: (rng(3).standard_normal(20), 11), lambda: (rng(3).standard_normal(20), 12)], 0),
    (leapfrog, [lambda: (rng(3).standard_normal(20), 11), lambda: (rng(3).standard_normal(20), 1)], 0),
    (zscore, [lambda: (rng(3).standard_normal(20),), lambda: (np.ones(20),)], 0),
    (three_ways, [lambda: (np.arange(9.0),), lambda: (np.arange(9.0) - 7,), lambda: (np.zeros(9),)], 0),
    (choice, [lambda: (np.arange(9.0),), lambda: (-np.arange(9.0),)], 0),
    (
        both,
        [lambda: (np.ones(3), np.zeros(3)), lambda: (np.zeros(3), np.ones(3)), lambda: (2 * np.ones(3), np.ones(3))],
        0,
    ),
    (checked, [lambda: (np.arange(4.0),), lambda: (-np.arange(4.0),), lambda: (np.array([1, np.nan]),)], 0),
    (skip, [lambda: (np.arange(5.0), 20), lambda: (np.ones(5), 10), lambda: (np.ones(5), 1)], 0),
    (rows, [lambda: (rng(5).standard_normal((20, 3)),), lambda: (np.full((20, 3), np.nan),)], 1),
    (nested, [lambda: (np.arange(5.0), 12)], 0),
    (last_value, [lambda: (np.arange(5.0), 12), lambda: (np.arange(5.0), 0)], 0),
    (changes_kind, [lambda: (np.arange(5.0), 12), lambda: (np.arange(5), 12), lambda: (np.arange(5.0), 0)], 0),
    (empty_loop, [lambda: (np.arange(5.0), 12), lambda: (np.arange(5.0), 0)], 0),
    (gram_schmidt, [lambda: (square(12),), lambda: (np.ones((4, 4)),)], 0),
    (conjugate_gradient, [lambda: (spd(8), rng(2).standard_normal(8)), lambda: (spd(8), np.zeros(8))], 0),
    (calls_helper, [lambda: (np.arange(5.0), 12)], 0),
    (divides, [lambda: (np.arange(5.0), 12)], 0),
    (solves, [lambda: (spd(6), np.ones(6), 12), lambda: (np.zeros((3, 3)), np.ones(3), 12)], 0),
    (monte_carlo, [lambda: (3, 50, 30), lambda: (4, 5, 12)], 0),
    (out_of_range, [lambda: (np.arange(15.0), 12), lambda: (np.arange(5.0), 12)], 0),
]
