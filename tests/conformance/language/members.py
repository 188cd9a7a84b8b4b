"""Rows: members of enumerations beside arrays, and with methods of their own."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

_SHARED = """import copy, enum, itertools
from functools import cache, lru_cache, partialmethod, total_ordering
from collections import namedtuple
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5
class Perm(enum.Flag):
    R = 1
    W = 2
class Own(enum.IntEnum):
    A = 1
    B = 2
    def __add__(self, o): return 100
    def __str__(self): return 'own' + self.name
    def __bool__(self): return self is Own.B
class F(float, enum.Enum):
    HALF = 0.5
"""

ROWS = (
    Program(
        "own methods of enums",
        _SHARED
        + """
def f(x, o):
    return (
        x * o, o + 1, 1 + o, str(o), f'{o}', bool(o), 'y' if o else 'n', o * 2, o == 1, hash(o) == hash(1),
        x + o.value,
    )
""",
        ["A(3), Own.A", "A(3), Own.B"],
        3,
    ),
    Program(
        "float enum scalars",
        _SHARED
        + """
def f(x, e):
    y = x.astype(np.float32)
    z = y * 1
    z *= Level.LOW
    a = x * e, np.float32(2) * e, x[0] * e, e + y, y > e, y * Level.HIGH, np.int8(3) * Level.HIGH, z
    return a, np.multiply(y, e), np.full(3, e), np.array([e, e]), x.sum() + Level.HIGH
""",
        ["A(3), F.HALF"],
        3,
    ),
    Program(
        "intenum loop",
        _SHARED
        + """
def f(x, l):
    s = 0
    for i in range(l): s += x[i] * l
    for m in Level: s += m
    return s, max(l, 3), l % 2, divmod(l, 2), -l, ~l, l << 1, abs(l), float(l), l / 2, l // 2, [1] * l
""",
        ["A(10), Level.HIGH", "A(10), Level.LOW"],
        1,
    ),
)
