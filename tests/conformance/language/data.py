"""Rows: values and operators: slices, tuples, identity, membership, NumPy's Python-level functions."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "slices as values",
        """
def f(x):
    half = slice(None, len(x) // 2)
    both = (slice(1, None), half)
    m = x[:, None] * x
    return x[half], m[both], half.stop, m[..., ::-1], slice(1, 5, 2).indices(3), [1, 2, 3][half], half == slice(None, 2)
""",
        ["A(4)"],
    ),
    Program(
        "tuple comparison",
        """
def f(x):
    shape = x.shape
    if shape == (4,) and (1, 2) < (1, 3) and shape != (3,) and (1, "a") <= (1, "b"):
        return x + 1, (1, 2) + (3,), (0,) * 3, (1, 2, 3)[1:], hash((1, 2)) == hash((1, 2))
    return x
""",
        ["A(4)", "A(3)"],
    ),
    Program(
        "is and in",
        """
def f(x, y=None):
    a = x
    b = x[:]
    return (y is None, a is x, b is x, 2 in (1, 2), "a" not in "bc", 3 in {1: 2}, None in [None],
            x.dtype == np.float64, x.dtype == np.dtype(float), True is True,
            [] is not [], ... is Ellipsis, x is not None, 2 in range(3)), b + 1
""",
        ["A(4)", "A(4), 3"],
    ),
    Program(
        "shape arithmetic",
        """
def f(x):
    n, m = x.shape
    flat = x.reshape(-1)
    out = np.zeros((n, m + 1), dtype=x.dtype)
    out[:, 1:] = x
    return out, flat[: n * m // 2], x.T.shape == (m, n), x.size == len(flat), x.ndim
""",
        ["A(3, 4)", "A(5, 4)", "A(6, 4)"],
    ),
    Program(
        "dict by tuples and enums",
        """
from enum import Enum
class E(Enum):
    A = 1
    B = 2
def f(x):
    grid = {(i, j): x * (i + j) for i in range(2) for j in range(2)}
    by_kind = {E.A: 1.0, E.B: 2.0}
    return grid[1, 1] + by_kind[E.B], (0, 1) in grid, E.A in by_kind, len(grid)
""",
        ["A(4)"],
    ),
    Program(
        "list arithmetic",
        """
def f(x):
    a = [1, 2] + [3]
    a *= 2
    b = [[0] * 2 for _ in range(2)]
    b[0][1] = x
    c = [[]] * 2
    c[0].append(1)
    return a, b, c, c[0] is c[1], b[0][1] + 1, [1, 2] == [1, 2.0], [1, 2] < [1, 3], max([1, 5, 3])
""",
        ["A(4)"],
    ),
    Program(
        "bytes and other literals",
        """
def f(x):
    return x + 0x10 + 1_000 + 1e-3, b"ab"[0], ..., None, r"\\n", 3j, "a" "b", (), [], {}, -0.0
""",
        ["A(4)"],
    ),
    Program(
        "subscript by ellipsis and None",
        """
def f(m):
    m[..., 0] = 1.0
    m[1] += m[0]
    a = m[None, :, 1:3]
    a[...] = 2.0
    return a, m[-1, -1], m[[0, 1]], m[m > 0].sum()
""",
        ["A(3, 4)"],
    ),
    Program(
        "NumPy functions written in Python",
        """
def f(x, y):
    return np.cross(x, y), np.roll(x, 1), np.trapezoid(x), np.average(y), np.vander(x, 3)
""",
        ["A(3), A(3, seed=1)"],
    ),
    Program(
        "polynomials and gradients",
        """
def f(x):
    return np.polyval([1.0, 2.0, 3.0], x), np.gradient(x), np.diff(x, 2), np.interp(x, np.arange(5.0), x)
""",
        ["A(5)"],
    ),
    Program(
        "norms and covariance",
        """
def f(m):
    return np.linalg.norm(m), np.linalg.norm(m, axis=0), np.cov(m), np.rot90(m), np.tile(m, (2, 1)), np.ptp(m)
""",
        ["A(3, 4)"],
    ),
    Program(
        "ufunc methods",
        """
def f(x):
    return np.add.reduce(x), np.multiply.outer(x, x), np.maximum.accumulate(x), np.add(x, 1.0, out=x)
""",
        ["A(4)"],
    ),
    Program(
        "constants of modules",
        """
import math
TABLE = {"rate": 0.1, "names": ("a", "b")}
def f(x):
    return x * np.pi + math.e + TABLE["rate"], np.inf, np.newaxis, len(TABLE["names"]), np.float32(3)
""",
        ["A(4)"],
    ),
    Program(
        "unions of classes",
        """
Number = int | float
def f(v, x):
    kinds = isinstance(v, tuple | list), isinstance(v, Number), isinstance(v, int | None), issubclass(bool, Number)
    return kinds, x * 2 if isinstance(x, np.ndarray | float) else x
""",
        ["1, A(3)", "[], A(3)", "None, 2.0", "(1,), 'ab'"],
    ),
    Program(
        "sorted by what only the data tell",
        """
def f(x, d):
    order = sorted(range(len(x)), key=lambda i: -x[i])
    low, high = sorted([x[2], x[1]])
    values = list(x)
    values.sort(reverse=True)
    return order, low, high, values, sorted(x), x[order], [x[i] for i in order], sorted(d.items())
""",
        ["A(4), {'b': [1.0], 'a': [2.0]}", "np.array([2, 2, 1]), {}", "np.array([1.0, np.nan, 0.5, 2.0]), {'b': 1}"],
    ),
    Program(
        "sorted by a method of its own",
        """
class Item:
    def __init__(self, name, weight): self.name, self.weight = name, weight
    def __lt__(self, other): return (len(self.name), self.name) < (len(other.name), other.name)
def f(x, names):
    items = sorted([Item(n, x[i]) for i, n in enumerate(names)])
    return [i.name for i in items], sum(i.weight for i in items)
""",
        ["A(3), ['b', 'aa', 'a']", "A(3), ['b', 'aa']"],
    ),
    Program(
        "bars and dashes of a length that only the data tell",
        """
def f(x):
    counts, edges = np.histogram(x, bins=3)
    lines = ["#" * int(10 * c / counts.max()) + "|" for c in counts]
    print("-" * int(x.argmax()), *lines, sep="\\n")
    return lines
""",
        ["A(9)", "A(12)", "np.arange(3.0)"],
    ),
    Program(
        "named tuples that add and scale",
        """
from typing import NamedTuple
class Vec(NamedTuple):
    x: float
    y: float
    def __add__(self, o):
        return Vec(self.x + o[0], self.y + o[1]) if isinstance(o, tuple) else NotImplemented
    __radd__ = __add__
    def __mul__(self, k): return Vec(self.x * k, self.y * k)
    def __rmul__(self, k): return self * k
    def __neg__(self): return self * -1
    @property
    def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
def f(a, n):
    position, path = Vec(0.0, 0.0), []
    for i in range(n):
        position += Vec(1.0, i) * 0.5
        path.append(position)
    total = sum(path, Vec(0, 0))
    return np.array(path), max(p.y for p in path), total, (1, 2) + -Vec(a, 2), 2 * Vec(a, a), Vec(3, 4).norm
""",
        ["A(2), 4", "1.5, 2", "A(3), 5"],
    ),
    Program(
        "keys compared with sets",
        """
def f(x, d):
    keys = d.keys()
    return keys >= {"a"}, keys == {"a", "b"}, {"a"} < keys, set() <= keys, {"a"} != keys, keys & {"a"}, x + len(d)
""",
        ["A(2), {'a': 1, 'b': 2}", "A(2), {}", "A(2), {'a': 1}"],
    ),
    Program(
        "decisions on sizes that only the data tell",
        """
def f(x):
    v = x[x > 0]
    full = len(v) == len(x), not len(v), bool(v.size), len(v) > 2, len(np.unique(v)) == len(v)
    share = len(v) / len(x), 100 * len(v) // len(x), round(len(v) / 3, 2), min(len(v), 2), len(v) * 0.5
    gaps = v[1:] - v[:-1], np.diff(v), v.sum() / max(len(v), 1)
    kind = "many" if len(v) > 2 else "few"
    return full, share, gaps, kind, int(len(v) * 0.5)
""",
        ["A(6)", "A(9)", "-np.ones(4)", "np.ones(4)", "np.arange(5)"],
    ),
    Program(
        "ends of arrays whose size only the data tell",
        """
def f(x):
    v = x[x > 0]
    try:
        return v[0], v[-1], v[len(v) // 2]
    except IndexError as error:
        return str(error)
""",
        ["A(6)", "-np.ones(4)", "A(9)"],
    ),
)
