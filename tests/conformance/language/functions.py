"""Rows: functions, their parameters, closures, decorators and recursion."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "closure",
        """
def make(scale):
    offset = scale + 1.0
    def f(x):
        return x * scale + offset
    return f
f = make(3.0)
""",
        ["A(4)", "A(5)"],
    ),
    Program(
        "closure made inside",
        """
def f(x, n):
    def power(y):
        return y ** n + x.sum()
    return power(x) - power(x + 1)
""",
        ["A(4), 2", "A(4), 3"],
    ),
    Program(
        "late binding of closures",
        """
def f(x):
    fs = []
    for i in range(3):
        def g(y):
            return y * i
        fs.append(g)
    return [g(x) for g in fs]
""",
        ["A(4)"],
    ),
    Program(
        "lambdas over a comprehension's variable",
        """
def f(x):
    fs = [lambda y: y + i for i in range(3)]
    gs = [lambda y, i=i: y + i for i in range(3)]
    return [g(x) for g in fs], [g(x) for g in gs]
""",
        ["A(4)"],
    ),
    Program(
        "nonlocal",
        """
def f(x):
    count = 0
    def step(y):
        nonlocal count
        count += 1
        return y * count
    a = step(x)
    b = step(a)
    return a, b, count
""",
        ["A(4)"],
    ),
    Program(
        "nonlocal of an enclosing call",
        """
def make():
    total = 0
    seen = []
    def f(x):
        nonlocal total
        total += 1
        seen.append(x.shape)
        return x * 2, total
    return f
f = make()
""",
        ["A(4)", "A(3)"],
    ),
    Program(
        "global counter",
        """
count = 0
last = None
def f(x):
    global count, last
    count += 1
    last = x + 1
    return last * 2
""",
        ["A(4)", "A(4)", "A(4)"],
    ),
    Program(
        "global bound and deleted",
        """
def f(x):
    global fresh
    fresh = x * 2
    y = fresh + 1
    del fresh
    return y
""",
        ["A(4)"],
    ),
    Program(
        "star arguments",
        """
def g(a, *rest, scale=1.0, **named):
    return a * scale + sum(rest) + named.get("b", 0.0)
def f(*args, **kwargs):
    return g(*args, **kwargs), len(args), sorted(kwargs)
""",
        ["A(4), A(4), 2.0, scale=3.0", "A(4), b=A(4)"],
    ),
    Program(
        "keyword-only and positional-only",
        """
def g(a, b=2.0, /, c=3.0, *, d, e=5.0):
    return a + b * c - d / e
def f(x, /, *, k=2.0):
    return g(x, d=k) + g(x, 1.0, c=k, d=4.0)
""",
        ["A(4)", "A(4), k=5.0"],
    ),
    Program(
        "defaults evaluated once",
        """
def g(x, seen=[]):
    seen.append(len(seen))
    return x * len(seen)
def f(x):
    return g(x) + g(x)
""",
        ["A(4)"],
    ),
    Program(
        "default of an inner function",
        """
def f(x):
    k = 1.0
    def g(y, s=k, *, t=k + 1):
        return y * s + t
    k = 100.0
    return g(x) + g(x, 2.0, t=0.5)
""",
        ["A(4)"],
    ),
    Program(
        "wrong arguments caught",
        """
def g(a, b):
    return a
def f(x):
    try:
        g(x)
    except TypeError as error:
        text = str(error)
    return x + 1, text
""",
        ["A(4)"],
    ),
    Program(
        "lambda",
        """
square = lambda v: v * v
def f(x):
    add = lambda a, b=1.0: a + b
    return add(square(x)), (lambda *v: v[-1])(x, x * 2)
""",
        ["A(4)"],
    ),
    Program(
        "decorator with wraps",
        """
import functools
def doubled(g):
    @functools.wraps(g)
    def inner(*args, **kwargs):
        return 2 * g(*args, **kwargs)
    return inner
@doubled
def g(x):
    return x + 1
def f(x):
    return g(x), g.__name__
""",
        ["A(4)"],
    ),
    Program(
        "decorator with arguments, applied inside",
        """
def scaled(by):
    def decorate(g):
        def inner(y):
            return g(y) * by
        return inner
    return decorate
def f(x):
    @scaled(3.0)
    def g(y):
        return y - 1
    return g(x)
""",
        ["A(4)"],
    ),
    Program(
        "wraps inside",
        """
import functools
def logged(calls, g):
    @functools.wraps(g)
    def inner(x):
        calls.append(g.__name__)
        return g(x)
    return inner
def f(x):
    calls = []
    def twice(y):
        return y * 2
    h = logged(calls, twice)
    return h(x), calls, h.__name__
""",
        ["A(4)"],
    ),
    Program(
        "function as argument and result",
        """
def compose(*fs):
    def run(v):
        for g in fs:
            v = g(v)
        return v
    return run
def f(x):
    return compose(np.sin, abs, lambda v: v + 1)(x)
""",
        ["A(4)"],
    ),
    Program(
        "inner function returned",
        """
def f(x):
    y = x * 2
    def g(z, k=3.0):
        return y + z * k
    return g
""",
        ["A(4)"],
    ),
    Program(
        "recursion",
        """
def tree(x, depth):
    if depth == 0:
        return x
    return tree(x + 1, depth - 1) * 0.5 + tree(x - 1, depth - 1)
def f(x):
    return tree(x, 4)
""",
        ["A(4)"],
    ),
    Program(
        "mutual recursion",
        """
def even(n, x):
    return x if n == 0 else odd(n - 1, x * 2)
def odd(n, x):
    return -x if n == 0 else even(n - 1, x + 1)
def f(x):
    return even(6, x), odd(4, x)
""",
        ["A(4)"],
    ),
    Program(
        "recursion without end",
        """
def down(x):
    return down(x + 1)
def f(x):
    try:
        return down(x)
    except RecursionError as error:
        return x * 2, type(error).__name__
""",
        ["A(4)"],
        breaks=1,
    ),
    Program(
        "argument mutated by a callee",
        """
def fill(a, v):
    a[:2] = v
def f(x):
    y = x * 1.0
    fill(y, 3.0)
    fill(x, 4.0)
    return y + x
""",
        ["A(4)"],
    ),
    Program(
        "same array twice",
        """
def f(x, y):
    x += 1
    return x is y, y * 2
""",
        ["*(lambda a: (a, a))(A(4))", "A(4), A(4)"],
    ),
    Program(
        "annotations",
        """
def f(x: np.ndarray, k: float = 2.0) -> np.ndarray:
    y: np.ndarray = x * k
    z: int
    return y + 1
""",
        ["A(4)"],
    ),
    Program(
        "docstring and nested constant",
        '''
def f(x):
    """Doubles."""
    "a stray text"
    ...
    return x * 2
''',
        ["A(4)"],
    ),
    Program(
        "attributes of functions",
        """
def g(x):
    return x * g.factor
g.factor = 3.0
def f(x):
    return g(x), g.__name__
""",
        ["A(4)"],
    ),
    Program(
        "identity of functions",
        """
def g(x):
    return x + 1
table = {"g": g}
def f(x):
    h = g
    return g(x), h is g, table["g"] is g, h == g
""",
        ["A(4)"],
    ),
    Program(
        "callable in a dict",
        """
ops = {"double": lambda v: v * 2, "neg": np.negative}
def f(x, name):
    return ops[name](x)
""",
        ["A(4), 'double'", "A(4), 'neg'"],
    ),
    Program(
        "import inside",
        """
def f(x):
    import math
    from math import pi as p
    import numpy.linalg
    return x * math.sqrt(2.0) + p
""",
        ["A(4)"],
    ),
)
