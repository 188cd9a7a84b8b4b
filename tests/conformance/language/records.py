"""Rows: dataclasses, named tuples, enums, and classes of the standard library."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "dataclass",
        """
from dataclasses import dataclass, field
@dataclass
class Params:
    w: object
    b: float = 0.5
    log: list = field(default_factory=list)
    n: int = field(init=False, default=3)
    def __post_init__(self):
        self.total = self.w.sum() + self.b
def f(x):
    p = Params(x)
    q = Params(x * 2, b=1.0)
    p.log.append(1)
    q.b += 1
    return p.w * p.b + q.w * q.b, p.total, q.log, p.log, p
""",
        ["A(4)"],
    ),
    Program(
        "frozen and ordered dataclass",
        """
from dataclasses import dataclass, replace, FrozenInstanceError
@dataclass(frozen=True, order=True)
class V:
    a: int
    b: float = 2.0
def f(x):
    v = V(1)
    w = replace(v, b=3.0)
    try:
        v.a = 5
    except FrozenInstanceError as error:
        text = str(error)
    return x * w.b, v == V(1), v < w, text, v
""",
        ["A(4)"],
    ),
    Program(
        "dataclass given and changed",
        """
from dataclasses import dataclass
@dataclass
class S:
    x: object
    n: int = 0
def f(s):
    s.n += 1
    s.x = s.x * 2
    return s.x + s.n, s
""",
        ["S(A(4))", "S(A(4), 5)"],
    ),
    Program(
        "named tuple",
        """
from collections import namedtuple
from typing import NamedTuple
P = namedtuple("P", "a b")
class Q(NamedTuple):
    x: object
    k: float = 2.0
    def scaled(self):
        return self.x * self.k
def f(x, p):
    q = Q(x)
    a, b = p
    r = P(a + 1, b=q)
    return q.scaled() + r.a, r._replace(a=0), p[1], len(r), r._asdict()["a"], Q._fields, q
""",
        ["A(4), P(A(4), 3)"],
    ),
    Program(
        "enum",
        """
from enum import Enum, IntEnum, auto
class Mode(Enum):
    ADD = "add"
    MUL = "mul"
    def apply(self, a, b):
        return a + b if self is Mode.ADD else a * b
class Level(IntEnum):
    LOW = auto()
    HIGH = auto()
def f(x, mode):
    y = mode.apply(x, 2.0)
    if mode == Mode.MUL:
        y = y - 1
    return y, mode.name, mode.value, Mode("add") is Mode.ADD, [m.name for m in Mode], Level.HIGH + 1, Level.LOW < 2
""",
        ["A(4), Mode.ADD", "A(4), Mode.MUL"],
    ),
    Program(
        "class defined inside",
        """
def f(x):
    class Scale:
        factor = 2.0
        def __init__(self, by):
            self.by = by
        def __call__(self, y):
            return y * self.by * self.factor + x.sum()
    class Shift(Scale):
        def __call__(self, y):
            return super().__call__(y) + 1
    return Scale(3.0)(x), Shift(1.0)(x)
""",
        ["A(4)"],
    ),
    Program(
        "type questions",
        """
class K:
    pass
def f(x, k):
    return (x + 1, isinstance(k, K), type(k) is K, type(x) is np.ndarray, isinstance(3, (int, str)),
            issubclass(bool, int), callable(k), callable(f), type(k).__name__, isinstance(x, np.ndarray),
            isinstance(x.dtype, np.dtype), isinstance(None, type(None)), type(2.0) == float)
""",
        ["A(4), K()"],
    ),
    Program(
        "getattr and setattr",
        """
class K:
    kind = "k"
def f(x, name):
    k = K()
    setattr(k, name, x * 2)
    have = [hasattr(k, n) for n in ("kind", name, "nope")]
    delattr(k, name)
    return getattr(x, "T"), getattr(k, "kind"), getattr(k, name, "gone"), have, vars(k)
""",
        ["A(4), 'a'", "A(4), 'b'"],
    ),
    Program(
        "bound and unbound methods",
        """
class K:
    def __init__(self, k):
        self.k = k
    def mul(self, x):
        return x * self.k
def f(x):
    a = K(2.0)
    m = a.mul
    a.k = 3.0
    return m(x), K.mul(a, x), list(map(a.mul, [x, x + 1])), m.__self__ is a
""",
        ["A(4)"],
    ),
    Program(
        "container class over a dict",
        """
class Bag(dict):
    def total(self):
        return sum(self.values())
class Config:
    def __init__(self, **kw):
        self.__dict__.update(kw)
def f(x):
    c = Config(a=2.0, b=x)
    return c.a * c.b
""",
        ["A(4)"],
    ),
    Program(
        "SimpleNamespace",
        """
from types import SimpleNamespace
def f(x, ns):
    made = SimpleNamespace(a=x + 1, b=2.0)
    ns.count = ns.count + 1
    made.c = made.a * made.b
    return made.c * ns.count, made
ns = SimpleNamespace(count=0)
""",
        ["A(4), ns"],
    ),
    Program(
        "cached_property",
        """
from functools import cached_property
class K:
    def __init__(self, x):
        self.x = x
        self.runs = 0
    @cached_property
    def norm(self):
        self.runs += 1
        return (self.x * self.x).sum()
def f(x):
    k = K(x)
    return k.norm + k.norm, k.runs
""",
        ["A(4)"],
    ),
    Program(
        "text of objects",
        """
class K:
    def __init__(self, n):
        self.n = n
    def __repr__(self):
        return f"K({self.n})"
    def __str__(self):
        return "k" * self.n
    def __format__(self, spec):
        return spec + str(self.n)
    def __hash__(self):
        return self.n
    def __eq__(self, other):
        return self.n == other.n
def f(x):
    k = K(3)
    return x + 1, repr(k), str(k), f"{k} {k!r} {k:>>}", hash(k)
""",
        ["A(4)"],
    ),
)
