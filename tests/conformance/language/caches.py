"""Rows: functions with a cache, of which the first call that has no result there is left to Python."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

_SHARED = """from functools import lru_cache, cache, cached_property
"""

ROWS = (
    Program(
        "full and evicted",
        _SHARED
        + """
@lru_cache(maxsize=2)
def k(n): return [n]
def f(x, n):
    a = k(n)
    a.append(len(a))
    return x * a[0], a, k(n) is a
""",
        ["A(3), 1", "A(3), 2", "A(3), 1", "A(3), 3", "A(3), 2", "A(3), 1", "A(3), 1", "A(3), 2", "A(3), 3", "A(3), 3"],
        1,
    ),
    Program(
        "array cached and changed",
        _SHARED
        + """
@cache
def w(n, scale=1.0):
    return np.ones(n) * scale
def f(x):
    a, b = w(len(x)), w(len(x), scale=2.0)
    a += 1
    return a * x + b, a is w(len(x)), b
""",
        ["A(3)", "A(3)", "A(3)", "A(4)", "A(3)"],
        2,
    ),
    Program(
        "cleared by others",
        _SHARED
        + """
log = []
@lru_cache
def k(n):
    log.append(n)
    return float(n)
def f(x, n, clear):
    y = x * k(n)
    if clear: k.cache_clear()
    return y, k(n) + k(n + 1), list(log)
""",
        ["A(3), 1, 0", "A(3), 1, 1", "A(3), 1, 0", "A(3), 2, 0", "A(3), 2, 1", "A(3), 1, 0", "A(3), 1, 0"],
        2,
    ),
    Program(
        "methods",
        _SHARED
        + """
class M:
    def __init__(self, s): self.s = s
    @lru_cache(maxsize=None)
    def t(self, n): return self.s * n
    def run(self, x): return x * self.t(2) + self.t(3)
a, b = M(2.0), M(3.0)
def f(x, m):
    return m.run(x), a.t(2)
""",
        ["A(3), a", "A(3), b", "A(3), a", "A(3), M(1.0)", "A(3), b"],
        1,
    ),
    Program(
        "a local cache",
        _SHARED
        + """
def f(x, n):
    calls = []
    @lru_cache(maxsize=None)
    def path(i, j):
        calls.append((i, j))
        if i == 0 or j == 0: return 1
        return path(i - 1, j) + path(i, j=j - 1)
    a = x * path(n, n)
    b = path.cache_info()
    path.cache_clear()
    return a, b, path.cache_info(), path(1, 1), len(calls), path.cache_info()
""",
        ["A(3), 3", "A(3), 4"],
    ),
    Program(
        "a local cache with a limit",
        _SHARED
        + """
def f(x):
    seen = []
    @lru_cache(2)
    def g(v):
        seen.append(v)
        return v * 2
    return x * g(1), [g(v) for v in (1, 2, 1, 3, 2, 1, 1)], seen, g.cache_info()[:3], g.__name__
""",
        ["A(3)", "A(3)"],
    ),
    Program(
        "kept counts",
        _SHARED
        + """
@lru_cache
def k(n): return n * 2
k(3); k(4)
def f(x):
    return x * k(3) + k(4) + k(3)
g = lambda: k.cache_info()
""",
        ["A(3)", "A(3)", "A(3) if k(5) else 0"],
    ),
    Program(
        "results that are callables and dicts",
        _SHARED
        + """
@cache
def make(n):
    def scale(x): return x * n
    return scale
@cache
def table(n): return {'a': n, 'b': [n]}
def f(x, n):
    t = table(n)
    t['b'].append(1)
    return make(n)(x), t['a'], len(t['b'])
""",
        ["A(3), 2", "A(3), 2", "A(3), 2", "A(3), 2", "A(3), 3", "A(3), 2"],
        2,
    ),
    Program(
        "arrays and numbers of the run",
        _SHARED
        + """
@cache
def k(n): return n + 1
def f(x):
    try: k(x)
    except TypeError as e: m = str(e)
    try: k([1])
    except TypeError as e: m += str(e)
    return x * 2, m, k(float(x[0]))
""",
        ["A(3)", "A(3)", "A(4)"],
        2,
    ),
    Program(
        "learning rates",
        _SHARED
        + """
@cache
def k(lr): return lr * 2
def f(x, lr): return x * k(lr)
""",
        ["A(3), 0.1", "A(3), 0.2", "A(3), 0.3", "A(3), 0.4", "A(3), 0.1", "A(3), 0.2"],
        1,
    ),
)
