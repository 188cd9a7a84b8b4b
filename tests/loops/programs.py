"""Loop programs as people write them in scientific notebooks: recurrences, dynamic programming, stencils, sampling.

Each row: the function, and a maker of its arguments for a size and a random generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PROGRAMS"]


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def cholesky(a):
    n = a.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= c[i, k] * c[j, k]
            if i == j:
                c[i, j] = math.sqrt(s)
            else:
                c[i, j] = s / c[j, j]
    return c


def floyd_warshall(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def nussinov(seq):
    n = len(seq)
    t = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = t[i, j - 1]
            if t[i + 1, j] > best:
                best = t[i + 1, j]
            pair = t[i + 1, j - 1]
            if i < j - 1 and seq[i] + seq[j] == 3:
                pair += 1
            if pair > best:
                best = pair
            for k in range(i + 1, j):
                split = t[i, k] + t[k + 1, j]
                if split > best:
                    best = split
            t[i, j] = best
    return t[0, n - 1]


def jacobi(u, steps):
    a = u.copy()
    b = u.copy()
    n, m = u.shape
    for _t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = b[i, j]
    return a


def gauss_seidel(u, steps):
    u = u.copy()
    n, m = u.shape
    for _t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
    return u


def heat_1d(u, steps, alpha):
    u = u.copy()
    v = u.copy()
    n = len(u)
    for _t in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + alpha * (u[i + 1] - 2 * u[i] + u[i - 1])
        for i in range(1, n - 1):
            u[i] = v[i]
    return u


def wave_2d(u, steps, c):
    old = u.copy()
    now = u.copy()
    new = u.copy()
    n, m = u.shape
    for _t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = now[i + 1, j] + now[i - 1, j] + now[i, j + 1] + now[i, j - 1] - 4.0 * now[i, j]
                new[i, j] = 2.0 * now[i, j] - old[i, j] + c * lap
        for i in range(n):
            for j in range(m):
                old[i, j] = now[i, j]
                now[i, j] = new[i, j]
    return now


def julia(xs, ys, c, limit):
    out = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for i in range(len(ys)):
        for j in range(len(xs)):
            z = complex(xs[j], ys[i])
            for k in range(limit):
                if abs(z) > 2:
                    out[i, j] = k
                    break
                z = z * z + c
    return out


def mandelbrot(xs, ys, limit):
    out = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for row in range(len(ys)):
        for col in range(len(xs)):
            x, y = 0.0, 0.0
            n = 0
            while n < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + xs[col], 2.0 * x * y + ys[row]
                n += 1
            out[row, col] = n
    return out


def game_of_life(g):
    n, m = g.shape
    out = np.zeros((n, m), dtype=np.int64)
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        alive += g[(i + di) % n, (j + dj) % m]
            if alive == 3 or (alive == 2 and g[i, j] == 1):
                out[i, j] = 1
    return out


def nbody(pos, vel, mass, steps, dt):
    p = pos.copy()
    v = vel.copy()
    n = len(mass)
    for _t in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            for j in range(n):
                if i != j:
                    dx = p[j, 0] - p[i, 0]
                    dy = p[j, 1] - p[i, 1]
                    r2 = dx * dx + dy * dy + 0.01
                    f = mass[j] / (r2 * math.sqrt(r2))
                    ax += f * dx
                    ay += f * dy
            v[i, 0] += dt * ax
            v[i, 1] += dt * ay
        for i in range(n):
            p[i, 0] += dt * v[i, 0]
            p[i, 1] += dt * v[i, 1]
    return p, v


def option_paths(z, s0, drift, vol, strike):
    paths, steps = z.shape
    total = 0.0
    for i in range(paths):
        s = s0
        mean = 0.0
        for t in range(steps):
            s = s * (1.0 + drift + vol * z[i, t])
            mean += s
        mean /= steps
        if mean > strike:
            total += mean - strike
    return total / paths


def logistic_map(r, x0, n):
    x = x0
    out = np.empty(n)
    for i in range(n):
        x = r * x * (1.0 - x)
        out[i] = x
    return out


def prefix_recurrence(x, a, b):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * x[i] + b * y[i - 1]
    return y


def kmeans_assign(points, centres):
    labels = np.zeros(len(points), dtype=np.int64)
    for i in range(len(points)):
        best = 1e300
        for k in range(len(centres)):
            d = 0.0
            for c in range(points.shape[1]):
                t = points[i, c] - centres[k, c]
                d += t * t
            if d < best:
                best = d
                labels[i] = k
    return labels


def histogram(x, bins, low, high):
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        if low <= x[i] < high:
            counts[int((x[i] - low) / (high - low) * bins)] += 1
    return counts


def bilateral(im, radius, sigma):
    n, m = im.shape
    out = np.zeros((n, m))
    for i in range(radius, n - radius):
        for j in range(radius, m - radius):
            total = 0.0
            weight = 0.0
            for a in range(-radius, radius + 1):
                for b in range(-radius, radius + 1):
                    d = im[i + a, j + b] - im[i, j]
                    w = 1.0 / (1.0 + (a * a + b * b) + d * d / sigma)
                    total += w * im[i + a, j + b]
                    weight += w
            out[i, j] = total / weight
    return out


def csr_matvec(data, indices, indptr, x):
    n = len(indptr) - 1
    y = np.zeros(n)
    for i in range(n):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


def thomas(a, b, c, d):
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    x = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[n - 1] = dp[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def matmul(a, b):
    n, p = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0
            for k in range(p):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def sieve(n):
    flags = np.ones(n + 1, dtype=np.bool_)
    flags[0] = False
    flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return flags


def collatz(limit):
    longest = 0
    for start in range(1, limit):
        n = start
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest


def bubble_sort(x):
    x = x.copy()
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


Make = Callable[[np.random.Generator, int], tuple[Any, ...]]


def _symmetric(r: np.random.Generator, n: int) -> Any:
    m = r.random((n, n))
    return m @ m.T + n * np.eye(n)


def _csr(r: np.random.Generator, n: int) -> tuple[Any, ...]:
    counts = r.integers(0, 6, n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    total = int(indptr[-1])
    return r.random(total), r.integers(0, n, total), indptr, r.random(n)


PROGRAMS: list[tuple[Callable[..., Any], Make]] = [
    (lu, lambda r, n: (r.random((n, n)) + n * np.eye(n),)),
    (cholesky, lambda r, n: (_symmetric(r, n),)),
    (floyd_warshall, lambda r, n: (r.random((n, n)),)),
    (edit_distance, lambda r, n: (r.integers(0, 4, n), r.integers(0, 4, n + 3))),
    (nussinov, lambda r, n: (r.integers(0, 4, n),)),
    (jacobi, lambda r, n: (r.random((n, n + 2)), 5)),
    (gauss_seidel, lambda r, n: (r.random((n, n + 1)), 5)),
    (heat_1d, lambda r, n: (r.random(n * 4), 9, 0.1)),
    (wave_2d, lambda r, n: (r.random((n, n)), 5, 0.1)),
    (mandelbrot, lambda r, n: (np.linspace(-2, 1, n), np.linspace(-1, 1, n), 40)),
    (julia, lambda r, n: (np.linspace(-1.5, 1.5, n), np.linspace(-1, 1, n), -0.8 + 0.156j, 60)),
    (game_of_life, lambda r, n: (r.integers(0, 2, (n, n)),)),
    (nbody, lambda r, n: (r.random((n, 2)), r.random((n, 2)), r.random(n), 3, 0.01)),
    (option_paths, lambda r, n: (r.standard_normal((n, 12)), 100.0, 0.001, 0.02, 100.0)),
    (logistic_map, lambda r, n: (3.7, 0.4, n * 3)),
    (prefix_recurrence, lambda r, n: (r.random(n * 3), 0.3, 0.7)),
    (kmeans_assign, lambda r, n: (r.random((n, 3)), r.random((4, 3)))),
    (histogram, lambda r, n: (r.standard_normal(n * 5), 10, -2.0, 2.0)),
    (bilateral, lambda r, n: (r.random((n, n)), 2, 0.5)),
    (csr_matvec, _csr),
    (thomas, lambda r, n: (r.random(n), r.random(n) + 2, r.random(n), r.random(n))),
    (matmul, lambda r, n: (r.random((n, n + 1)), r.random((n + 1, n + 2)))),
    (sieve, lambda r, n: (n * 10,)),
    (collatz, lambda r, n: (n * 4,)),
    (bubble_sort, lambda r, n: (r.random(n),)),
]
