"""Rows: what functools makes of functions and classes."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "partialmethod",
        """
from functools import partialmethod
class C:
    def scale(self, x, k=1.0, b=0.0): return x * k + b
    double = partialmethod(scale, k=2.0)
    triple = partialmethod(scale, k=3.0, b=1)
c = C()
def f(x):
    return c.double(x), c.triple(x, b=2), C().double(x)
""",
        ["A(4)"],
    ),
    Program(
        "singledispatchmethod",
        """
from functools import singledispatchmethod
class C:
    @singledispatchmethod
    def g(self, v): return v
    @g.register
    def _(self, v: int): return v + 1
    @g.register
    def _(self, v: np.ndarray): return v * 2
c = C()
def f(x):
    return c.g(x), c.g(3), c.g('a')
""",
        ["A(4)"],
    ),
    Program(
        "singledispatch once more",
        """
from functools import singledispatch
@singledispatch
def g(v, x): return x
@g.register
def _(v: int, x): return x * v
@g.register(float)
def _(v, x): return x + v
@g.register(list)
def _(v, x): return x - v[0]
def f(x):
    return g(2, x), g(2.5, x), g([1.0], x), g('a', x), g(True, x)
""",
        ["A(4)"],
    ),
    Program(
        "total_ordering",
        """
from functools import total_ordering
@total_ordering
class V:
    def __init__(self, a): self.a = a
    def __eq__(self, o): return self.a == o.a
    def __lt__(self, o): return self.a < o.a
def f(x):
    a, b = V(1), V(2)
    return x * (a <= b) + (a >= b), a > b, max(a, b).a, sorted([b, a])[0].a
""",
        ["A(4)"],
    ),
    Program(
        "cached_property once more",
        """
from functools import cached_property
class D:
    def __init__(self, x): self.x = x; self.n = 0
    @cached_property
    def mean(self):
        self.n += 1
        return self.x.mean()
d = D(A(5))
def f(x):
    a = d.mean + d.mean
    return x - a, d.n, 'mean' in d.__dict__
""",
        ["A(5)", "A(5)"],
    ),
    Program(
        "cached_property del",
        """
from functools import cached_property
class D:
    def __init__(self, x): self.x = x
    @cached_property
    def s(self): return self.x * 2
def f(x):
    d = D(x)
    a = d.s
    same = d.s is a
    del d.s
    return a, same, d.s is a, d
""",
        ["A(4)"],
    ),
    Program(
        "abc2",
        """
from abc import ABC, abstractmethod
class B(ABC):
    @abstractmethod
    def g(self, x): ...
    def h(self, x): return self.g(x) + 1
class C(B):
    def g(self, x): return x * 2
class E: pass
def f(x, n):
    if n: B.register(E)
    return C().h(x), isinstance(C(), B), isinstance(E(), B), issubclass(int, B)
""",
        ["A(3), 0", "A(3), 1", "A(3), 0"],
    ),
)
