"""Rows: instances of classes that the function defines, returned and kept."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "instance returned once more",
        """
def f(x, n):
    k = n * 2
    class Result:
        "What came out."
        unit = 'm'
        scale = n
        __slots_like = (1, 2)
        def __init__(self, v): self.v = v
        def double(self, by=k): return self.v * by + k
        @property
        def half(self): return self.v / 2
        @staticmethod
        def make(v): return Result(v)
        @classmethod
        def of(cls, v): return cls(v + 1)
        def __eq__(self, o): return self.v is o.v
        def __len__(self): return len(self.v)
    r = Result(x * 2)
    n = 100
    return r, Result, [Result.make(x), Result.of(x)]
def g(x, n):
    r, R, l = f(x, n)
    return (
        r.double(), r.half, R.__doc__, R.unit, R.scale, R.__qualname__, R.__module__, list(vars(R)), l[1].v,
        len(r), R.__hash__, type(l[0]) is R,
    )
""",
        ["A(3), 2", "A(3), 2", "A(3), 3"],
    ),
    Program(
        "cells and super",
        """
def f(x):
    class Base:
        def __init__(self, v): self.v = v
        def run(self): return self.v + 1
    class Sub(Base):
        count = 0
        def __init__(self, v):
            super().__init__(v)
            Sub.count += 1
            self.other = None
        def run(self): return super().run() * 2
        def me(self): return __class__
    a, b = Sub(x), Sub(x + 1)
    a.other = b; b.other = a
    return a, b, lambda: a.run() + b.other.run()
""",
        ["A(3)"],
    ),
    Program(
        "kept",
        """
kept = []
def f(x):
    class Node:
        def __init__(self, v, nxt=None): self.v = v; self.nxt = nxt
        def total(self): return self.v + (self.nxt.total() if self.nxt else 0)
    head = None
    for i in range(3): head = Node(x * i, head)
    kept.append(head)
    return head.total()
""",
        ["A(3)", "A(3)"],
    ),
    Program(
        "instance returned once more once more",
        """
def h(x, n):
    k = n * 2
    class Result:
        "What came out."
        unit = 'm'
        scale = n
        __slots_like = (1, 2)
        def __init__(self, v): self.v = v
        def double(self, by=k): return self.v * by + k
        @property
        def half(self): return self.v / 2
        @staticmethod
        def make(v): return Result(v)
        @classmethod
        def of(cls, v): return cls(v + 1)
        def __eq__(self, o): return self.v is o.v
        def __len__(self): return len(self.v)
    r = Result(x * 2)
    n = 100
    return r, Result, [Result.make(x), Result.of(x)]
def g(x, n):
    r, R, l = h(x, n)
    return (
        r.double(), r.half, R.__doc__, R.unit, R.scale, R.__qualname__, R.__module__, list(vars(R)), l[1].v,
        len(r), R.__hash__, type(l[0]) is R,
    )

f = g
""",
        ["A(3), 2", "A(3), 2", "A(3), 3"],
        2,
    ),
    Program(
        "lists of a local class",
        """
def f(x, n):
    class C:
        seen = []
        table = {'a': 1}
        names = ([1], 'b')
        fixed = (1, ('c', 2))
        def note(self): self.seen.append(n); self.table[n] = n; self.names[0].append(n)
    C().note(); C().note()
    return x * len(C.seen), C.seen, C.table, C.names, C.fixed
""",
        ["A(3), 2", "A(3), 3", "A(3), 2"],
    ),
    Program(
        "local class state",
        """
def f(x, n):
    class C:
        total = 0
        items = []
        def add(self, v): C.total = C.total + v; self.items.append(v)
    for i in range(n): C().add(x[i])
    return C.total, C.items, C()
""",
        ["A(5), 3", "A(5), 5"],
    ),
    Program(
        "local class in branch",
        """
def f(x):
    class R:
        def __init__(self, v): self.v = v
        def up(self): return self.v + 1
    if x.sum() > 0: r = R(x * 2)
    else: r = R(x * 3)
    return r.up(), r
""",
        ["A(3)", "-A(3)", "A(3)"],
    ),
    Program(
        "over a break",
        """
def f(x):
    class P:
        def __new__(cls, *a): return object.__new__(cls)
        def __init__(self, v): self.v = v
        def __class_getitem__(cls, k): return k
        def __init_subclass__(cls, **k): cls.tag = 1
    p = P(x * 2)
    eval('1', {})
    q = P(p.v + 1)
    return type(p) is type(q), q.v * 2, P[3], p
""",
        ["A(3)"],
        2,
    ),
)
