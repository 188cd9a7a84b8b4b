"""Small cells of all the kinds that a NumPy user writes: how many graphs and breaks each has, and the same results.

Each row states in advance what ``jm.explain`` must say; results are compared bit for bit with the plain run, by every
backend, for a first call and for the calls after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.conformance.programs import BACKENDS, assert_same, explained, plain, run


@dataclass(frozen=True)
class Cell:
    """``text`` defines ``f`` and its data; ``calls`` are evaluated in order; the counts are those of the first call."""

    name: str
    text: str
    calls: tuple[str, ...]
    graphs: int = 1
    breaks: int = 0


def cell(name: str, text: str, *calls: str, graphs: int = 1, breaks: int = 0) -> Cell:
    return Cell(name, text, calls, graphs, breaks)


# fmt: off
CELLS = [
    # finance
    cell("returns and volatility", """
prices = 100 * np.cumprod(1 + 0.01 * np.sin(np.arange(250.0)))
def f(p):
    r = np.diff(p) / p[:-1]
    return r.mean(), r.std() * np.sqrt(252)
""", "f(prices)", "f(prices[::2])"),
    cell("Black-Scholes", """
s = np.linspace(50.0, 150.0, 101)
def cdf(x):
    return 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
def f(s, k=100.0, r=0.02, v=0.3, t=1.0):
    d1 = (np.log(s / k) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    return s * cdf(d1) - k * np.exp(-r * t) * cdf(d2)
""", "f(s)", "f(s, 90.0)", "f(s, v=0.5)"),
    cell("drawdown", """
p = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 1.0])
def f(p):
    top = np.maximum.accumulate(p)
    return ((p - top) / top).min()
""", "f(p)", "f(p[::-1])"),
    cell("compound interest, a loop over years", """
rates = np.array([0.01, 0.02, 0.05])
def f(rates, years):
    balance = np.full(rates.shape, 100.0)
    for _ in range(years):
        balance = balance * (1 + rates)
    return balance
""", "f(rates, 3)", "f(rates, 5)"),
    # images
    cell("3x3 blur", """
img = np.arange(48.0).reshape(6, 8)
def f(a):
    out = a.copy()
    out[1:-1, 1:-1] = sum(a[i:a.shape[0] - 2 + i, j:a.shape[1] - 2 + j] for i in range(3) for j in range(3)) / 9
    return out
""", "f(img)"),
    cell("grey from colour", """
rgb = (np.arange(4 * 5 * 3) % 256).astype(np.uint8).reshape(4, 5, 3)
w = np.array([0.299, 0.587, 0.114])
def f(rgb):
    return (rgb @ w).round().astype(np.uint8)
""", "f(rgb)"),
    cell("gamma and clip", """
img = np.linspace(-0.2, 1.2, 24).reshape(4, 6).astype(np.float32)
def f(a, gamma):
    return (np.clip(a, 0, 1) ** gamma * 255).astype(np.uint8)
""", "f(img, 2.2)", "f(img, 1.8)", "f(img, 1.0)"),
    cell("Sobel edges with pad", """
img = np.arange(30.0).reshape(5, 6) ** 2
def f(a):
    p = np.pad(a, 1, mode="edge")
    gx = p[:-2, 2:] - p[:-2, :-2] + 2 * (p[1:-1, 2:] - p[1:-1, :-2]) + p[2:, 2:] - p[2:, :-2]
    gy = p[2:, :-2] - p[:-2, :-2] + 2 * (p[2:, 1:-1] - p[:-2, 1:-1]) + p[2:, 2:] - p[:-2, 2:]
    return np.hypot(gx, gy)
""", "f(img)", "f(img[:, ::-1])"),
    cell("threshold in place by a mask", """
img = np.arange(12.0).reshape(3, 4)
def f(a, t):
    a[a < t] = 0.0
    return a
""", "f(img, 5.0)", "f(img, 7.0)"),
    # stencils
    cell("heat step", """
u = np.zeros((7, 7)); u[3, 3] = 1.0
def f(u, k):
    u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u
""", "f(u, 0.1)", "f(u, 0.1)"),
    cell("life", """
g = (np.arange(36).reshape(6, 6) * 7 % 3 == 0)
def f(g):
    n = sum(np.roll(g, (i, j), (0, 1)).astype(np.int8) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return (n == 3) | (g & (n == 2))
""", "f(g)", "f(f(g))"),
    cell("upwind by roll", """
u = np.sin(np.arange(16.0))
def f(u, c):
    return u - c * (u - np.roll(u, 1))
""", "f(u, 0.5)"),
    cell("prefix that overlaps itself", """
x = np.arange(1.0, 9.0)
def f(x):
    x[1:] += x[:-1]
    return x
""", "f(x)", "f(x)"),
    cell("reversed into itself", """
x = np.arange(9)
def f(x):
    x[:] = x[::-1]
""", "f(x)", "f(x)"),
    cell("time loop with swapped buffers", """
u = np.zeros(9); u[4] = 1.0
def f(u, steps):
    v = np.empty_like(u)
    for i in range(steps):
        v[0] = v[-1] = 0.0
        v[1:-1] = (u[:-2] + u[2:]) / 2
        u, v = v, u
    return u
""", "f(u, 3)", "f(u, 4)"),
    # statistics
    cell("standardise columns", """
x = np.arange(20.0).reshape(5, 4) ** 1.5
def f(x):
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
""", "f(x)", "f(x.T)"),
    cell("covariance", """
x = np.sin(np.arange(24.0)).reshape(8, 3)
def f(x):
    c = x - x.mean(0, keepdims=True)
    return c.T @ c / (len(x) - 1)
""", "f(x)"),
    cell("nan-aware mean", """
x = np.array([1.0, np.nan, 3.0])
def f(x):
    ok = ~np.isnan(x)
    return np.where(ok, x, 0.0).sum() / ok.sum()
""", "f(x)", "f(x * 2)"),
    cell("weighted quantiles by sort and cumsum", """
v = np.array([3.0, 1.0, 2.0]); w = np.array([0.2, 0.5, 0.3])
def f(v, w):
    order = np.argsort(v)
    return v[order], np.cumsum(w[order])
""", "f(v, w)"),
    cell("median and percentiles", """
x = np.arange(11.0)[::-1].copy()
def f(x):
    return np.median(x), np.percentile(x, [25, 75])
""", "f(x)"),
    cell("moving average by cumsum", """
x = np.arange(10.0)
def f(x, n):
    c = np.cumsum(x)
    c[n:] = c[n:] - c[:-n]
    return c[n - 1:] / n
""", "f(x, 3)", "f(x, 4)"),
    cell("reductions of small dtypes", """
x = np.array([[100, 100], [100, 27]], np.int8)
def f(x):
    return x.sum(), x.sum(axis=0, dtype=np.int8), x.prod(), x.max(axis=1), x.any(), np.count_nonzero(x > 50)
""", "f(x)"),
    cell("entropy", """
p = np.array([0.5, 0.25, 0.25, 0.0])
def f(p):
    q = np.where(p > 0, p, 1.0)
    return -(p * np.log2(q)).sum()
""", "f(p)"),
    # distances
    cell("distance matrix by broadcasting", """
p = np.arange(12.0).reshape(6, 2) ** 0.5
def f(p):
    d = p[:, None, :] - p[None, :, :]
    return np.sqrt((d ** 2).sum(axis=-1))
""", "f(p)", "f(p[:3])"),
    cell("distance matrix by matmul", """
p = np.arange(12.0).reshape(4, 3)
def f(p):
    s = (p * p).sum(1)
    return s[:, None] + s - 2 * p @ p.T
""", "f(p)"),
    cell("nearest neighbour", """
p = np.array([[0.0, 0], [1, 1], [5, 5]]); q = np.array([[0.9, 1.2], [4, 4]])
def f(p, q):
    d = np.abs(p[:, None] - q[None]).sum(-1)
    return d.argmin(axis=0), p[d.argmin(axis=0)]
""", "f(p, q)"),
    cell("einsum", """
a = np.arange(6.0).reshape(2, 3); b = np.arange(12.0).reshape(3, 4)
def f(a, b):
    return np.einsum("ij,jk->ik", a, b), np.einsum("ij->j", a)
""", "f(a, b)"),
    # machine learning
    cell("dense layers", """
x = np.sin(np.arange(12.0)).reshape(4, 3).astype(np.float32)
layers = [(np.ones((3, 5), np.float32) / 3, np.zeros(5, np.float32)), (np.ones((5, 2), np.float32), np.ones(2, 'f4'))]
def f(x, layers):
    for w, b in layers:
        x = np.maximum(x @ w + b, 0)
    return x
""", "f(x, layers)", "f(x[:2], layers)"),
    cell("softmax", """
x = np.arange(8.0).reshape(2, 4)
def f(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""", "f(x)", "f(x.astype(np.float32))"),
    cell("gradient step on a dict of weights", """
p = {"w": np.ones(3), "b": np.zeros(1)}; x = np.arange(6.0).reshape(2, 3); y = np.array([1.0, 2.0])
def f(p, x, y, lr=0.1):
    e = x @ p["w"] + p["b"] - y
    p["w"] -= lr * x.T @ e
    p["b"] -= lr * e.sum()
    return (e ** 2).mean()
""", "f(p, x, y)", "f(p, x, y)"),
    cell("one-hot", """
k = np.array([2, 0, 1])
def f(k, n):
    out = np.zeros((len(k), n))
    out[np.arange(len(k)), k] = 1
    return out
""", "f(k, 3)", "f(k, 4)"),
    cell("layer norm", """
x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
def f(x, eps=1e-5):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + eps)
""", "f(x)"),
    # in place, out=, views
    cell("out= and the same object back", """
x = np.arange(4.0); o = np.empty(4)
def f(x, o):
    r = np.multiply(x, 2, out=o)
    np.add(o, 1, out=o)
    return r
""", "f(x, o)", "f(x, o)"),
    cell("returned views share memory", """
x = np.arange(12.0).reshape(3, 4)
def f(x):
    y = x * 2
    return x[1:], x.T, y[0], y, x
""", "f(x)"),
    cell("write through a view", """
x = np.arange(12.0).reshape(3, 4)
def f(x):
    d = x.T[1]
    d *= 10
    x.reshape(-1)[0] = -1
    return d
""", "f(x)"),
    cell("aliased arguments", """
x = np.arange(6.0)
def f(a, b):
    a[0] = 100.0
    return a - b
""", "f(x, x[::-1])", "f(x, x)", "f(x, x.copy())"),
    cell("in-place methods", """
x = np.array([3, 1, 2]); y = np.zeros(2)
def f(x, y):
    x.sort()
    y.fill(7)
    return x, y
""", "f(x, y)"),
    # closures, globals, helpers
    cell("closure and helper", """
def maker(scale):
    def g(x):
        return x * scale
    def h(x):
        return g(x) + g(x + 1)
    return h
x = np.arange(3)
f = maker(3)
""", "f(x)", "f(x * 1.5)"),
    cell("global array and constant", """
W = np.arange(3.0); K = 2
def f(x):
    return x * W + K
""", "f(np.ones(3))", "W[0] = 9", "f(np.ones(3))", "K = 5", "f(np.ones(3))"),
    cell("lambda in a dict", """
ops = {"double": lambda x: x * 2, "square": lambda x: x ** 2}
def f(x, name):
    return ops[name](x)
""", "f(np.arange(3), 'double')", "f(np.arange(3), 'square')"),
    # Python around arrays
    cell("comprehension over columns", """
x = np.arange(6.0).reshape(2, 3)
def f(x):
    return np.array([c.sum() for c in x.T]), {i: row * i for i, row in enumerate(x)}
""", "f(x)"),
    cell("polynomial by Horner over a list", """
def f(x, c):
    y = np.zeros_like(x)
    for a in reversed(c):
        y = y * x + a
    return y
""", "f(np.arange(4.0), [1, 2.5, 3])", "f(np.arange(4.0), [1, 2.5])"),
    cell("branch on an option", """
def f(x, mode="mean", axis=None):
    if mode == "mean":
        return x.mean(axis=axis)
    elif mode == "max":
        return x.max(axis=axis)
    raise ValueError(mode)
""", "f(np.arange(6.0).reshape(2, 3))", "f(np.arange(6.0).reshape(2, 3), 'max', 1)",
     "f(np.ones(2), 'other')"),
    cell("slices as arguments", """
def f(x, s):
    return x[s] * 2, x[s, ::-1]
""", "f(np.arange(12.0).reshape(3, 4), slice(1, 3))", "f(np.arange(12.0).reshape(3, 4), slice(None))"),
    cell("while over a Python number", """
def f(x, n):
    while n > 1:
        x = x / 2
        n -= 1
    return x
""", "f(np.ones(2), 3)", "f(np.ones(2), 4)"),
    # indexing
    cell("fancy and boolean indexing", """
x = np.arange(10.0); i = np.array([3, -1, 3])
def f(x, i):
    return x[i], x[[0, 2]], x[x > 6], np.take(x, i)
""", "f(x, i)", "f(x[::-1], i)"),
    cell("fancy write with repeats", """
x = np.zeros(4); i = np.array([1, 1, 2])
def f(x, i):
    x[i] += 1
    np.add.at(x, i, 10)
    return x
""", "f(x, i)"),
    cell("where, select, digitize", """
x = np.array([-1.0, 0.5, 2.0])
def f(x):
    return np.where(x > 0, x, -x), np.select([x < 0, x < 1], [0, 1], 2), np.digitize(x, [0, 1])
""", "f(x)"),
    cell("newaxis and ellipsis", """
x = np.arange(24).reshape(2, 3, 4)
def f(x):
    return x[..., 0], x[:, None, 1], x[0, ..., ::2], x[-1, 1, 2]
""", "f(x)"),
    cell("stack and split", """
a = np.arange(3); b = np.arange(3.0)
def f(a, b):
    s = np.stack([a, b])
    return np.concatenate([a, b]), s, np.vstack([a, b]), np.hsplit(s, 3)[1]
""", "f(a, b)"),
    # dtypes and scalars
    cell("mixed dtypes", """
a = np.array([200, 100], np.uint8); b = np.array([1, -1], np.int16); c = np.float32(0.5)
def f(a, b, c):
    return a + a, a + b, a * c, b / 2, b // 2, a % 7, a & 3, -b, a > b
""", "f(a, b, c)"),
    cell("strong and weak scalars", """
x = np.ones(3, np.float32)
def f(x, s):
    return x * s, x + 1, x * np.float64(2)
""", "f(x, 2.0)", "f(x, np.float64(2))", "f(x, 3)"),
    cell("complex", """
z = np.exp(1j * np.arange(4.0))
def f(z):
    return z.real, z.imag, abs(z), np.conj(z) * z, np.angle(z)
""", "f(z)"),
    cell("dates stay with NumPy", """
d = np.array(["2024-01-01", "2024-03-01"], "datetime64[D]"); x = np.arange(2.0)
def f(d, x):
    return x * 2 + 1, d
""", "f(d, x)"),
    cell("zero sizes", """
x = np.zeros((0, 3))
def f(x):
    return x.sum(axis=0), x.sum(), (x + 1).shape, np.concatenate([x, x])
""", "f(x)", "f(np.ones((2, 3)))"),
    # with breaks
    cell("print between arrays", """
x = np.arange(3.0)
def f(x):
    y = x + 1
    print("hello")
    return y * 2
""", "f(x)", "f(x)"),
    cell("branch on data", """
x = np.arange(3.0)
def f(x):
    y = x * 2
    if y.sum() > 4:
        y = y - 1
    return y + 10
""", "f(x)", "f(-x)"),
    cell("while until small", """
x = np.arange(1.0, 4.0)
def f(x):
    n = 0
    while np.abs(x).max() > 1:
        x = x / 2
        n += 1
    return x, n
""", "f(x)", "f(-x)"),
    cell("float of an array", """
x = np.arange(3.0)
def f(x):
    s = float(x.sum())
    return x / s, s
""", "f(x)"),
    cell("file object in between", """
import io
x = np.arange(3.0)
def f(x):
    y = x * 3
    stream = io.StringIO()
    stream.write("done")
    return y + 1, stream.getvalue()
""", "f(x)", graphs=2, breaks=5),
]
# fmt: on


@pytest.mark.parametrize("each", CELLS, ids=lambda c: c.name)
def test_cell_has_the_stated_graphs_and_breaks(each: Cell) -> None:
    found = explained(each.text, each.calls[0])
    assert (found.graph_count, found.break_count) == (each.graphs, each.breaks), found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("each", CELLS, ids=lambda c: c.name)
def test_cell_gives_the_same_bits(each: Cell, backend: str) -> None:
    assert_same(run(each.text, each.calls, backend), plain(each.text, each.calls))


def test_the_table_is_large_and_mostly_without_breaks() -> None:
    assert len(CELLS) >= 45
    assert sum(not c.breaks for c in CELLS) >= 40
