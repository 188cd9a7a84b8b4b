"""Rows: the attributes of an object as a dict, and by computed names."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "order",
        """
class O: pass
def mk(**k):
    o = O(); o.__dict__.update(k); return o

def f(o, x):
    a = o.a
    del o.a
    o.c = 3
    o.a = a * x
    o.b = 5
    return (
        list(vars(o)), [v for v in vars(o).values()], len(vars(o)), {**vars(o)}, dict(vars(o)),
        o.__dict__ is vars(o),
    )
""",
        ["mk(a=1., b=2), A(3)", "mk(b=1., a=2), A(3)", "mk(b=1., a=2, d=4), A(3)"],
    ),
    Program(
        "grow",
        """
class O: pass
def mk(**k):
    o = O(); o.__dict__.update(k); return o

def f(o, x):
    try:
        for k, v in vars(o).items(): setattr(o, 'new', x)
    except RuntimeError as e: return str(e), x * 2
""",
        ["mk(a=1., b=2), A(3)"],
    ),
    Program(
        "pop",
        """
class O: pass
def mk(**k):
    o = O(); o.__dict__.update(k); return o

def f(o, x):
    d = vars(o)
    r = d.pop('a'), d.pop('zz', 3), d.setdefault('q', x), d.setdefault('b', 9), d.get('b'), 'a' in d
    try: d.pop('a')
    except KeyError as e: return r, e.args, x * 2
""",
        ["mk(a=1., b=2), A(3)"],
    ),
    Program(
        "arrays",
        """
class O: pass
def mk(**k):
    o = O(); o.__dict__.update(k); return o

def f(o, x):
    for k, v in o.__dict__.items():
        if isinstance(v, np.ndarray): v += x
    return {k: v * 2 for k, v in vars(o).items() if k != 'n'}, sum(vars(o).values())
""",
        ["mk(a=A(3), b=A(3), n=3), A(3)", "mk(a=A(3), b=A(3), n=4), A(3)"],
    ),
    Program(
        "repr",
        """
class O: pass
def mk(**k):
    o = O(); o.__dict__.update(k); return o

class R(O):
    def __repr__(self): return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"
    def __eq__(self, o): return self.__dict__ == o.__dict__
def mr(**k):
    o = R(); o.__dict__.update(k); return o
def f(o, x):
    return repr(o), x * 2, o == mr(a=1), o == R()
""",
        ["mr(a=1, b='c'), A(3)"],
    ),
    Program(
        "vars existing",
        """
class O: pass
o = O(); o.a = 1.0; o.b = 2
def f(x):
    d = vars(o)
    s = sum(d.values()) + o.__dict__.get('a', 0) + o.__dict__.get('zz', 5)
    o.c = 3
    return x * s, 'c' in o.__dict__, [k for k in vars(o)], len(o.__dict__)
""",
        ["A(3)", "A(3)"],
    ),
    Program(
        "dict update self",
        """
class O:
    def __init__(self, **k): self.__dict__.update(k)
def f(x):
    o = O(a=x, b=2)
    o.__dict__['c'] = 5
    return o.a * o.b + o.c, o
""",
        ["A(4)"],
    ),
    Program(
        "getattr computed",
        """
class O:
    a1 = 1.0
    def __init__(self): self.a2 = 2.0
    def m3(self, x): return x * 3
o = O()
def f(x):
    t = [getattr(o, f'a{i}') for i in (1, 2)]
    return x * sum(t), getattr(o, 'm' + '3')(x), getattr(o, 'q', None), hasattr(o, 'zz'), hasattr(o, 'a1')
""",
        ["A(4)"],
    ),
    Program(
        "setattr computed",
        """
class O: pass
o = O()
def f(x):
    for i in range(3): setattr(o, f'v{i}', x * i)
    if hasattr(o, 'gone'): delattr(o, 'gone')
    o.gone = 1
    try: delattr(o, 'nope')
    except AttributeError as e: m = str(e)
    return o.v2 + 1, m, sorted(vars(o))
""",
        ["A(3)", "A(3)"],
    ),
)
