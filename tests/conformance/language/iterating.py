"""Rows: iterators of itertools and their kin, read step by step."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "groupby",
        """
import itertools
from itertools import *

def f(x):
    g = {k: list(v) for k, v in groupby([1, 1, 2, 3, 3])}
    h = [(k, sum(1 for _ in v)) for k, v in groupby('aabc')]
    w = [(k, [t[1] for t in v]) for k, v in groupby([(1, x), (1, 2), (2, 3)], key=lambda t: t[0])]
    return x * len(g), g, h, w
""",
        ["A(4)"],
    ),
    Program(
        "groupby skip",
        """
import itertools
from itertools import *

def f(x):
    ks = [k for k, _ in groupby([1, 1, 2, 2, 1])]
    gs = list(groupby([1, 1, 2]))
    return x * 2, ks, [list(v) for k, v in gs]
""",
        ["A(4)"],
    ),
    Program(
        "tee",
        """
import itertools
from itertools import *

def f(x):
    a, b = tee([x, x * 2])
    next(b)
    return [p + q for p, q in zip(a, b)], list(a), list(b)
""",
        ["A(4)"],
    ),
    Program(
        "tee 3",
        """
import itertools
from itertools import *

log = []
def gen(x):
    for i in range(3):
        log.append(i)
        yield x * i
def f(x):
    a, b, c = tee(gen(x), 3)
    r = next(a)
    return r, list(b), len(log), list(c), list(a)
""",
        ["A(3)"],
    ),
    Program(
        "iter sentinel",
        """
def f(x):
    l = [3, 2, 1, 0, 5]
    return x * 2, list(iter(lambda: l.pop(0), 0)), l, next(iter([]), 9)
""",
        ["A(4)"],
    ),
    Program(
        "itertools B",
        """
import itertools
from itertools import *

def f(x):
    c = count(3, 2); cy = cycle([1, 2])
    return (
        x * next(c), next(c), [next(cy) for _ in range(5)], list(dropwhile(lambda v: v < 3, [1, 3, 1])),
        list(takewhile(lambda v: v < 3, [1, 3, 1])), list(filterfalse(lambda v: v % 2, range(4))),
        list(islice(count(), 2, 8, 3)), list(islice([1, 2, 3], 2)), list(pairwise([1, 2, 3])),
        list(repeat(2, 3)), list(starmap(pow, [(2, 3)])), list(zip_longest([1, 2], [3], fillvalue=0)),
    )
""",
        ["A(4)"],
    ),
    Program(
        "operator fns",
        """
import operator as op
def f(x):
    l = [1]
    l = op.iadd(l, [2])
    return (
        op.add(x, 1), op.matmul(x, x), op.index(3), op.truth(l), op.concat([1], [2]), op.countOf([1, 1], 1),
        op.indexOf([3, 4], 4), op.length_hint([1]), op.itruediv(x * 1, 2), op.is_(x, x), op.not_(0),
        op.neg(x), op.getitem(x, 1), op.pow(x, 2), op.call(abs, -3) if hasattr(op, 'call') else 3,
    )
""",
        ["A(4)"],
    ),
    Program(
        "groupby lazy",
        """
from itertools import groupby, count, islice
log = []
def key(v):
    log.append(v)
    return v // 2
def f(x):
    groups = groupby(count(), key)
    k, first = next(groups)
    a = next(first)
    k2, second = next(groups)
    return x * a, k, k2, list(first), list(second), log[:], list(islice(groups, 1))[0][0]
""",
        ["A(4)"],
    ),
    Program(
        "pairwise lazy",
        """
from itertools import pairwise, count, islice, tee
def f(x):
    a, b = tee(count(1))
    return x * 2, list(islice(pairwise(count()), 2)), next(a), next(a), next(b), list(pairwise('a'))
""",
        ["A(4)"],
    ),
    Program(
        "sentinel shared",
        """
def f(x, l):
    taken = iter(l.pop, 0)
    return x * next(taken), list(taken), list(taken), l
""",
        ["A(3), [4, 0, 2, 1]", "A(3), [4, 0, 2, 2]"],
    ),
    Program(
        "groupby error in key",
        """
import itertools

def f(x):
    def key(v):
        if v == 2: raise ValueError('two')
        return v
    it = itertools.groupby([1, 1, 2, 3], key)
    out = []
    for _ in range(4):
        try: out.append(next(it)[0])
        except (ValueError, StopIteration) as e: out.append(type(e).__name__)
    return x * 2, out
""",
        ["A(4)"],
    ),
    Program(
        "dict fromkeys",
        """
def f(x):
    d = dict.fromkeys(['a', 'b'], 0)
    for k in d: d[k] = d[k] + x
    e = dict.fromkeys('xyz')
    g = dict.fromkeys(range(2), [])
    g[0].append(1)
    return d, e, g, g[0] is g[1]
""",
        ["A(4)"],
    ),
    Program(
        "namedtuple all",
        """
from collections import namedtuple
from typing import NamedTuple
Pt = namedtuple('Pt', 'x y', defaults=[2.0])
class S(NamedTuple):
    a: float
    b: int = 3
    def total(self): return self.a + self.b
    @property
    def dbl(self): return self.b * 2

def f(x):
    p = Pt(x)
    q = p._replace(y=x + 1)
    r = Pt._make([x, 3])
    return p, q, r, q._asdict(), Pt._fields, p._field_defaults, len(p), p[0] is x, p.index(2.0) if False else 0
""",
        ["A(4)"],
    ),
    Program(
        "namedtuple replace error",
        """
from collections import namedtuple
from typing import NamedTuple
Pt = namedtuple('Pt', 'x y', defaults=[2.0])
class S(NamedTuple):
    a: float
    b: int = 3
    def total(self): return self.a + self.b
    @property
    def dbl(self): return self.b * 2

def f(x):
    try: Pt(x)._replace(z=3)
    except (ValueError, TypeError) as e: return x * 2, type(e).__name__, str(e)
""",
        ["A(4)"],
    ),
    Program(
        "namedtuple make error",
        """
from collections import namedtuple
from typing import NamedTuple
Pt = namedtuple('Pt', 'x y', defaults=[2.0])
class S(NamedTuple):
    a: float
    b: int = 3
    def total(self): return self.a + self.b
    @property
    def dbl(self): return self.b * 2

def f(x):
    try: Pt._make([1])
    except TypeError as e: return x * 2, str(e)
""",
        ["A(4)"],
    ),
)
