"""Rows: members of enumerations as arguments, operands, keys and conditions."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

_SHARED = """import enum
from enum import Enum, IntEnum, Flag, IntFlag, auto
class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
class Level(IntEnum):
    LOW = 1
    HIGH = 5
class Perm(Flag):
    R = auto()
    W = auto()
    X = auto()
class IPerm(IntFlag):
    R = 4
    W = 2
    X = 1
class Op(Enum):
    ADD = 'add'
    MUL = 'mul'
    def apply(self, a, b):
        return a + b if self is Op.ADD else a * b
    @property
    def label(self): return self.value.upper()
    @classmethod
    def default(cls): return cls.ADD
class Mode(str, Enum):
    A = 'a'
    B = 'b'
"""

ROWS = (
    Program(
        "enum by value",
        _SHARED
        + """
def f(x, n):
    try: c = Color(n)
    except ValueError as e: return x, str(e)
    return x * c.value, c
""",
        ["A(4), 2", "A(4), 3", "A(4), 7"],
    ),
    Program(
        "enum by name",
        _SHARED
        + """
def f(x, n):
    try: c = Color[n]
    except KeyError as e: return x, e.args
    return x * c.value, c
""",
        ["A(4), 'RED'", "A(4), 'BLUE'", "A(4), 'Q'"],
    ),
    Program(
        "enum iterate",
        _SHARED
        + """
def f(x):
    return (
        [x * c.value for c in Color], len(Color), [c.name for c in reversed(Color)], list(Color.__members__),
        Color.RED in Color,
    )
""",
        ["A(4)"],
    ),
    Program(
        "enum members items",
        _SHARED
        + """
def f(x):
    return {k: x * v.value for k, v in Color.__members__.items()}
""",
        ["A(4)"],
    ),
    Program(
        "intenum axis",
        _SHARED
        + """
class Ax(IntEnum):
    ROW = 0
    COL = 1
def f(x, a):
    return x.sum(axis=a), np.concatenate([x, x], axis=Ax.COL), x.shape[a]
""",
        ["A(4, 3), Ax.COL", "A(4, 3), Ax.ROW"],
    ),
    Program(
        "flag or",
        _SHARED
        + """
def f(x, q):
    p = Perm.R | q
    return x * p.value, p, Perm.W in p, bool(p & Perm.X), p ^ Perm.R, ~p, str(p), list(p)
""",
        ["A(4), Perm.W", "A(4), Perm.X"],
    ),
    Program(
        "intflag",
        _SHARED
        + """
def f(x, q):
    p = IPerm.R | q
    return x * p, p, p & 1, p | 8, IPerm.W in p, IPerm(6)
""",
        ["A(4), IPerm.W", "A(4), IPerm.R"],
    ),
    Program(
        "enum methods",
        _SHARED
        + """
def f(x, o):
    return o.apply(x, x), o.label, Op.default(), Op('mul').apply(x, 2)
""",
        ["A(4), Op.MUL", "A(4), Op.ADD"],
    ),
    Program(
        "enum dict key",
        _SHARED
        + """
T = {Color.RED: 1.5, Color.GREEN: 2.5, Color.BLUE: 3}
def f(x, c):
    d = {c: x}
    d[Color.RED] = x + 1
    return x * T[c], d, T.get(c, 0)
""",
        ["A(4), Color.RED", "A(4), Color.BLUE"],
    ),
    Program(
        "str enum",
        _SHARED
        + """
def f(x, m):
    return x * (2 if m == 'a' else 3), m + 'z', m.upper(), m in ('b',), {'a': 1, 'b': 2}[m], f'{m.value}'
""",
        ["A(4), Mode.A", "A(4), Mode.B"],
    ),
    Program(
        "enum missing",
        """
import enum
class K(enum.Enum):
    A = 1
    B = 2
    @classmethod
    def _missing_(cls, v): return cls.A
def f(x, n):
    return x * K(n).value, K(n)
""",
        ["A(4), 2", "A(4), 9"],
    ),
    Program(
        "enum hash set",
        _SHARED
        + """
def f(x, c):
    s = {Color.RED, Color.GREEN}
    return x * (c in s), s == {Color.GREEN, Color.RED}, hash(c) == hash(Color.RED)
""",
        ["A(4), Color.RED", "A(4), Color.BLUE"],
    ),
    Program(
        "intenum arithmetic",
        _SHARED
        + """
def f(x, l):
    return (
        x * l, l + 1, l > 3, l == 5, max(Level.LOW, l), x ** Level.LOW, f"{l}", int(l),
        [10, 20, 30, 40, 50, 60][l], l.name,
    )
""",
        ["A(4), Level.HIGH", "A(4), Level.LOW"],
        1,
    ),
)
