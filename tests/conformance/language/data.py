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
)
