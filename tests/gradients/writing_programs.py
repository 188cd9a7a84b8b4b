"""NumPy programs that write into arrays in every way there is: what gradients through writes are tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["WRITING"]

WRITING: dict[str, Callable[[Any], Any]] = {}  # each takes a vector of 6 numbers, gives one number


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    WRITING[function.__name__] = function
    return function


@program
def put(x):
    a = np.zeros(6)
    np.put(a, [0, 4, 1, 1], x[:3] * 2)
    a.put([5, -4], [x[3], x[4] * x[5]])
    a.put(7, x[0], mode="wrap")
    return np.sum(a * a)


@program
def place_and_putmask(x):
    a, b = np.ones(6), np.ones((2, 3))
    np.place(a, a > np.array([0, 2, 0, 0, 2, 0]), [x[0], x[1] * x[2]])
    np.putmask(b, np.array([[True, False, True], [True, True, False]]), x * 3)
    return np.sum(a * a) + np.sum(b**3)


@program
def copyto(x):
    a, b = np.ones((2, 3)), np.ones((2, 2))
    np.copyto(a, x[:3] * 2)
    np.copyto(a, x.reshape(2, 3), where=[True, False, True])
    np.copyto(b, [x[0], x[1] * x[2]])
    return np.sum(a * a) + np.sum(b**3)


@program
def diagonals_and_axes(x):
    a, b = np.zeros((3, 3)), np.ones((3, 2))
    np.fill_diagonal(a, x[:3] * x[3:])
    np.fill_diagonal(a[:2, 1:], [x[0], x[1] * x[2]])
    np.put_along_axis(b, np.array([[0], [1], [0]]), x[:3].reshape(3, 1) * 2, 1)
    return np.sum(a**2) + np.sum(b**3)


@program
def fill(x):
    a = np.zeros((2, 3))
    fill_in = a.fill
    fill_in(x.sum())
    a[0].fill(x[0] * x[1])
    b = x * 2
    b[1:3].fill(b[4])
    return np.sum(a * a) + np.sum(b**3)


@program
def flat(x):
    a = np.ones((3, 2))
    a.flat[...] = x * 2
    a.T.flat[1:3] = x[:2]
    a.flat[::2] = x[:2]
    a.flat[-1] = x[0] * x[1]
    a.flat[[0, 3]] = [x[4], x[5] * 2]
    a[1:, 1:].flat[:] = x[3]
    return np.sum(a**3)


@program
def whole_flat(x):
    a = np.ones((3, 2)).T
    a.flat = x * x
    a[:, ::2].flat = x.reshape(2, 3)
    total = 0.0
    for value in a.flat:
        total = total + value**3
    return total + a.flat[2]


@program
def lists(x):
    a, b = np.zeros(3), np.zeros((2, 3))
    a[:] = [x[0], x[1] * 2, 3]
    b[:] = [x[:3], x[3:] * a]
    b[1] = (x[0], 1.0, b[0, 0])
    return np.sum(a * a) + np.sum(b**3)


@program
def lists_of_columns(x):
    b, c = np.zeros((2, 3)), np.zeros((2, 2))
    b[:] = [[x[0]], [x[1] * 2]]
    c[[0, 1, 0]] = [[x[0], 1], [x[1], x[2]], [x[3], x[4]]]
    c[np.array([True, False])] += [x[5], x[0]]
    return np.sum(b**3) + np.sum(c * c)


@program
def arrays_of_lists(x):
    a = np.array([x[0], x[1] * x[2], 3.0])
    b = np.array([[x[0], 1], [x[1], x[2]]])
    c = np.asarray([x, x * 2])
    return np.sum(a**2) + np.sum(b**3) + np.sum(c[1] * c[0])


@program
def one_row_more(x):
    a, b = np.zeros(6), np.ones(6)
    a[:] = x.reshape(1, 6)
    b[[0, 2]] = x[:2].reshape(1, 1, 2)
    return np.sum(a * b)


@program
def from_iterators(x):
    a = np.fromiter((v * v for v in x), dtype=float)
    b = np.fromiter([v * 2 for v in x[:3]], float, 3)
    return np.sum(a) * b[0] + np.sum(b**2)


@program
def add_and_subtract_at(x):
    a, b = np.zeros(4), x[:4] * 1
    np.add.at(a, [0, 0, 1, 3], x[:4] * 2)
    np.add.at(a, [2], [x[5]])
    np.subtract.at(b, [1, 1, 1], x[3:])
    return np.sum(a * a * b)


@program
def multiply_at(x):
    a, b = np.ones(3), x.reshape(3, 2) * 1
    np.multiply.at(a, [0, 0, 1, 0], x[:4] * 2)
    np.multiply.at(b, (slice(None), [0, 0]), x[:2])
    np.multiply.at(b, np.array([[True, False], [True, True], [False, False]]), x[:3])
    return np.sum(a * a) + np.sum(b**3)


@program
def divide_and_power_at(x):
    a = x[:3] * 3
    np.divide.at(a, [0, 0, 1], x[3:] * 2)
    np.power.at(a, [2, 2, 1], x[:3])
    return np.sum(a * a)


@program
def extremes_at(x):
    a = np.zeros(3)
    np.maximum.at(a, [0, 0, 1], x[:3] * 2)
    np.minimum.at(a, [1, 2], x[:2])
    np.fmax.at(a, [0, 1], -5.0)
    np.logaddexp.at(a, [2, 2, 0], x[3:])
    return np.sum(a * a)


@program
def unary_at(x):
    a = x[:3] * 1
    np.negative.at(a, [0, 0, 1])
    np.square.at(a, [0, 2, 0])
    np.exp.at(a, [0])
    return np.sum(a**3)


@program
def reductions_into(x):
    m, s, c = np.outer(x[:3], x[3:]), np.zeros(()), np.zeros(3)
    np.sum(x * x, out=s)
    np.sum(m, axis=0, out=c)
    top = np.max(m, axis=1, out=np.zeros(3))
    np.var(m, axis=0, out=c)
    return np.sum(c * top) * s + np.sum(m**3)


@program
def running_into(x):
    c, d, e = np.zeros(6), np.zeros(6), np.zeros(())
    x.cumsum(out=c)
    np.cumprod(x, out=d)
    np.mean(c * d, out=e)
    np.prod(c, out=e)
    return np.sum(c * d) + e


@program
def joined_into(x):
    a, b, c = np.empty(6), np.empty((2, 3)), np.empty(12)
    np.concatenate([x[:3], x[3:] * 2], out=a)
    np.stack([x[:3], a[2:5]], 0, b)
    np.concatenate([a, b], axis=None, out=c)
    return np.sum(b**3) * c[0] * c[7]


@program
def products_into(x):
    a, b, c, e = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(6), np.zeros(())
    np.matmul(x[:, None], x[None], out=a)
    np.dot(a, x, out=c)
    np.einsum("i,j->ij", c, x, out=b)
    np.einsum("i,i->", c, x, out=e)
    return np.sum(a * b) + np.sum(c) * e


@program
def elements_into(x):
    f, g, h = np.zeros(6), np.zeros((2, 6)), np.zeros(3)
    np.add(x, x[::-1], out=f, where=np.arange(6) % 2 == 0)
    np.clip(f, 0.1, 1.8, out=f)
    np.multiply(f, 2, out=g)
    np.take(f, [2, 1, 0], out=h)
    return np.sum(g**3) + np.sum(h * x[:3])


@program
def two_results_into(x):
    c, s, p, q = np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6)
    np.modf(x * 3.3, c, s)
    np.divmod(x * 7.3, x[::-1], out=(p, q))
    return np.sum(c * q) + np.sum(p * q * s)


@program
def written_elements(x):
    a = np.empty(6)
    for i in range(6):
        a[i] = x[i] ** 2
        a[i] += a[i - 1] if i else 0.0
    a[1:3] *= a[4:]
    return np.sum(a)


@program
def views_of_views(x):
    a = np.zeros((3, 4))
    b = a.T[1:]
    c = b.reshape(3, 3)[::-1]
    b[0] = x[:3]
    c[1] = x[3:] * c[2]
    b.ravel()[:] = 7.0
    a.diagonal()
    return np.sum(a**3)


@program
def kept_in_containers(x):
    kept = {"list": [None, np.zeros(3)], "sum": 0.0}
    kept["list"][0] = x * x
    kept["list"][1][:] = kept["list"][0][:3] * x[3:]
    kept["list"].append(kept["list"][1].sum())
    kept["sum"] += kept["list"].pop()
    return np.sum(kept["list"][0]) * kept["sum"]


@program
def other_starts(x):
    a, b, c = np.linspace(0, 1, 6), np.full(3, x[0] * 2), np.full_like(np.arange(3.0), x[1])
    d, e, f = np.eye(3), np.ones(4).copy(), np.array([1.0, 2.0, 3.0])
    a[1] = x[1]
    d[0, 1:] = x[:2]
    e[1:] = x[3:]
    f += x[:3]
    return np.sum(a * a) + np.sum(b * c) + np.linalg.det(d) * np.sum(e * e) * f[0]


@program
def views_in_memory_order(x):
    """Parts named by their order in memory, which is that of the array and not that of its cotangent."""
    a = np.asfortranarray(x.reshape(3, 2) * 1)
    b, c = np.ones((3, 2), order="F"), (x.reshape(1, 3, 2) * 1).transpose(2, 0, 1)
    v, w, u = a.ravel(order="K")[::2], b.ravel("A"), c.ravel(order="K")
    v *= x[:3]
    w[1:] = x[1:] * a.reshape(2, 3, order="A").ravel()[1:]
    a.reshape(2, 3, order="A")[0] *= x[3:]
    u[[0, 1, 1, 4]] = x[:4] * u[2:]
    weights = np.arange(1.0, 7.0).reshape(3, 2)
    return np.sum(a * weights) + np.sum(b * b * weights) + np.sum(c * weights.reshape(2, 1, 3))
