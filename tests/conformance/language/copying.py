"""Rows: copy and deepcopy of containers and instances."""

from __future__ import annotations

import sys

from tests.conformance.runner import Program

__all__ = ["ROWS"]

_ASKED = int(sys.version_info >= (3, 12))  # ``dataclasses`` looks a class up in a set of classes, a break

_SHARED = """import copy
from collections import namedtuple, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from types import SimpleNamespace
@dataclass
class C:
    a: object
    b: list = field(default_factory=list)
class N:
    def __init__(self, v): self.v = v; self.me = self
Pt = namedtuple('Pt', 'x y')
"""

ROWS = (
    Program(
        "shared parts",
        _SHARED
        + """
def f(x):
    l = [1, x]
    d = {'a': l, 'b': l, 'c': (l, x), 't': (1, 'a')}
    e = copy.deepcopy(d)
    e['a'].append(x * 2)
    return d, e, e['a'] is e['b'], e['c'][0] is e['a'], e['t'] is d['t'], e['c'][1] is e['a'][1]
""",
        ["A(4)"],
    ),
    Program(
        "cycles",
        _SHARED
        + """
def f(x):
    n = N(x)
    m = copy.deepcopy(n)
    k = copy.copy(n)
    return m.me is m, k.me is n, m.v * 2, m.v is x, k.v is x
""",
        ["A(4)"],
    ),
    Program(
        "containers",
        _SHARED
        + """
def f(x):
    vs = [Pt(x, [1]), OrderedDict(a=x), defaultdict(list, a=[x]), deque([x, [2]], 3)]
    vs += [{1, 2}, frozenset([1]), SimpleNamespace(a=x, b=[1]), C(x, [x])]
    a, b = [copy.copy(v) for v in vs], copy.deepcopy(vs)
    b[0].y.append(3); b[2]['q'].append(1); a[7].b.append(4); b[7].b.append(5)
    return vs, a, b
""",
        ["A(4)"],
    ),
    Program(
        "outside",
        _SHARED
        + """
c = C(A(3), [1, 2])
c.extra = {'k': A(3)}
def f(x, o):
    d = copy.deepcopy(c)
    d.extra['k'] += x
    d.b.append(1)
    e = copy.copy(c); e.a = x
    return d, c.extra['k'] + 1, e, copy.deepcopy(o) is o, copy.deepcopy(np.sin) is np.sin, copy.copy(f) is f
""",
        ["A(3), 3", "A(3), 'a'"],
    ),
    Program(
        "strides",
        _SHARED
        + """
def f(x):
    return (
        copy.deepcopy(x.T), copy.copy(x.T), copy.deepcopy(x[::2, ::-1]), copy.deepcopy(x.sum()),
        copy.copy(x[0, 0]),
    )
""",
        ["A(4, 3)"],
    ),
    Program(
        "memo passed on",
        _SHARED
        + """
class T:
    def __init__(self, v, kids=()): self.v = v; self.kids = list(kids)
    def __deepcopy__(self, memo): return T(copy.deepcopy(self.v, memo), copy.deepcopy(self.kids, memo))
def f(x):
    t = T(x, [T(x), T(3)])
    u = copy.deepcopy(t)
    return u.v is u.kids[0].v, u.v + 1, u.kids[1].v, u.kids[0] is t.kids[0]
""",
        ["A(4)"],
    ),
    Program(
        "best model",
        _SHARED
        + """
class Model:
    def __init__(self): self.w = A(3); self.hist = []
m = Model()
def f(x):
    best = copy.deepcopy(m)
    m.w -= 0.1 * x
    m.hist.append(float(x.sum()))
    return best.w, m.w * 1, best.hist
""",
        ["A(3)", "A(3)"],
    ),
    Program(
        "reduce own",
        _SHARED
        + """
class R:
    def __init__(self, v): self.v = v
    def __reduce__(self): return R, (self.v + 1,)
class S:
    __slots__ = ('a',)
    def __init__(self, a): self.a = a
def f(x):
    return copy.copy(R(x)).v, copy.deepcopy(S(x)).a, x * 2
""",
        ["A(4)"],
        2,
    ),
    Program(
        "asdict",
        """
from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass, KW_ONLY, InitVar
@dataclass
class C:
    a: float
    b: list = field(default_factory=list)
    c: int = 3
@dataclass(frozen=True, slots=True)
class F:
    x: object
    k: float = 2.0
@dataclass(order=True)
class O:
    p: int
    q: int = 0
@dataclass
class N:
    inner: C
    d: dict
@dataclass(kw_only=True)
class K:
    a: int
    b: int = 2
@dataclass
class Pi:
    a: float
    scale: InitVar[float] = 1.0
    out: float = field(init=False)
    def __post_init__(self, scale): self.out = self.a * scale

def f(x):
    n = N(C(1.0, [1, 2]), {'k': C(2.0)})
    return asdict(n), x * 2
""",
        ["A(4)"],
        _ASKED,
    ),
    Program(
        "asdict array",
        """
from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass, KW_ONLY, InitVar
@dataclass
class C:
    a: float
    b: list = field(default_factory=list)
    c: int = 3
@dataclass(frozen=True, slots=True)
class F:
    x: object
    k: float = 2.0
@dataclass(order=True)
class O:
    p: int
    q: int = 0
@dataclass
class N:
    inner: C
    d: dict
@dataclass(kw_only=True)
class K:
    a: int
    b: int = 2
@dataclass
class Pi:
    a: float
    scale: InitVar[float] = 1.0
    out: float = field(init=False)
    def __post_init__(self, scale): self.out = self.a * scale

def f(x):
    n = N(C(x, [x]), {'k': x})
    d = asdict(n)
    return d['inner']['a'] + 1, d['inner']['a'] is x, d, n.d
""",
        ["A(4)"],
        _ASKED,
    ),
    Program(
        "astuple",
        """
from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass, KW_ONLY, InitVar
@dataclass
class C:
    a: float
    b: list = field(default_factory=list)
    c: int = 3
@dataclass(frozen=True, slots=True)
class F:
    x: object
    k: float = 2.0
@dataclass(order=True)
class O:
    p: int
    q: int = 0
@dataclass
class N:
    inner: C
    d: dict
@dataclass(kw_only=True)
class K:
    a: int
    b: int = 2
@dataclass
class Pi:
    a: float
    scale: InitVar[float] = 1.0
    out: float = field(init=False)
    def __post_init__(self, scale): self.out = self.a * scale

def f(x):
    return astuple(N(C(1.0, [1, 2]), {'k': 2})), x * 2
""",
        ["A(4)"],
        _ASKED,
    ),
    Program(
        "copy dunder",
        """
import copy
class O:
    def __init__(self, v): self.v = v
    def __copy__(self): return O(self.v + 1)
    def __deepcopy__(self, memo): return O(self.v + 2)
def f(x):
    o = O(x)
    return copy.copy(o).v, copy.deepcopy(o).v
""",
        ["A(4)"],
    ),
    Program(
        "deepcopy dict",
        """
import copy
class O:
    def __init__(self, a): self.a = a; self.l = [1, [2]]

def f(d, x):
    e = copy.deepcopy(d)
    e['w'] += x
    return e, d['w']
""",
        ["{'w': A(3), 'b': [A(3)]}, A(3)"],
    ),
)
