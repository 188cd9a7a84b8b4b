"""Rows: metaclasses, abstract classes, and instances that stand for numbers."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "metaclasses",
        """
class Registered(type):
    known = {}
    def __call__(cls, *args, **named):
        made = super().__call__(*args, **named)
        made.tag = cls.label() + 1
        return made
    def label(cls): return len(cls.__name__)
class Single(type):
    made = {}
    def __call__(cls, *args):
        if cls.__name__ not in cls.made: cls.made[cls.__name__] = super().__call__(*args)
        return cls.made[cls.__name__]
class A1(metaclass=Registered):
    def __init__(self, v, k=1): self.v = v * k
class B1(metaclass=Single):
    def __init__(self, n): self.n = n
def f(x, n):
    b = B1(n)
    b.n += 1
    return A1(x).v, A1(x, k=n).tag, b.n * x, B1(7) is b
""",
        ["A(3), 2", "A(3), 2", "A(3), 5"],
    ),
    Program(
        "abstract classes",
        """
from abc import ABC, abstractmethod
class Shape(ABC):
    def __init__(self, s): self.s = s
    @abstractmethod
    def area(self): ...
    @property
    @abstractmethod
    def name(self): ...
class Square(Shape):
    name = 'square'
    def area(self): return self.s ** 2
class Bad(Shape): pass
def f(x):
    try: Bad(x)
    except TypeError as e: m = str(e)
    s = Square(x)
    return s.area(), s.name, m, isinstance(s, Shape), issubclass(Bad, Shape)
""",
        ["A(4)"],
    ),
    Program(
        "objects as numbers",
        """
from fractions import Fraction
class Celsius:
    def __init__(self, t): self.t = t
    def __float__(self): return self.t * 1.8 + 32
    def __int__(self): return int(self.t)
class Place:
    def __init__(self, i): self.i = i
    def __index__(self): return self.i
h = Fraction(1, 4)
def f(x, t):
    c = Celsius(t)
    return x * float(c), int(c), float(Place(3)), int(Place(4)), x * float(h), Celsius(x.sum()).t
""",
        ["A(3), 2.5", "A(3), 3.5"],
    ),
    Program(
        "views and counters",
        """
from collections import Counter
def f(x, d):
    c = Counter('aab')
    c.subtract('abz')
    c.subtract({'a': 3}, b=1)
    e = {'q': 1}
    return x * c['a'], c, d.keys().isdisjoint(e), d.items().isdisjoint([('a', 1)]), e.keys().isdisjoint('qr')
""",
        ["A(3), {'a': 1}"],
    ),
    Program(
        "a metaclass that changes",
        """
class M(type):
    scale = 2.0
    def half(cls): return cls.unit / 2
class C(metaclass=M):
    unit = 3.0
class D(C): pass
def f(x, n):
    if n == 1: M.scale = 5.0
    if n == 2: C.scale = 7.0
    if n == 3: M.half = lambda cls: cls.unit / 4
    return x * 2, C.scale, D.scale, D.half(), C.half(), hasattr(C(), 'half')
""",
        ["A(3), 0", "A(3), 1", "A(3), 0", "A(3), 2", "A(3), 0", "A(3), 3", "A(3), 0"],
    ),
    Program(
        "singleton metaclass",
        """
class S(type):
    inst = {}
    def __call__(cls, *a):
        if cls not in cls.inst: cls.inst[cls] = super().__call__(*a)
        return cls.inst[cls]
class C(metaclass=S):
    def __init__(self): self.n = 0
def f(x):
    c = C(); c.n += 1
    return x * c.n, C() is c
""",
        ["A(3)", "A(3)"],
    ),
    Program(
        "fraction arg",
        """
from fractions import Fraction
h = Fraction(1, 4)
def f(x, q):
    return x * float(q * h), q + h
""",
        ["A(3), Fraction(1, 2)", "A(3), Fraction(3, 2)"],
    ),
)
