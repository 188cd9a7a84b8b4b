"""Rows: comprehensions, generators and iterators."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "list comprehension",
        """
def f(x):
    return [x * i for i in range(3)], [i + j for i in range(3) if i for j in range(i) if j != 1]
""",
        ["A(4)"],
    ),
    Program(
        "set and dict comprehension",
        """
def f(x):
    squares = {i * i for i in (-1, 0, 1, 2)}
    table = {f"k{i}": x + i for i in sorted(squares)}
    return table, len(squares), {k: v.shape for k, v in table.items()}
""",
        ["A(4)"],
    ),
    Program(
        "comprehension scope",
        """
def f(x):
    i = 5
    y = [x + i for i in range(2)]
    z = [[i * j for j in range(2)] for i in range(2)]
    return y, z, i
""",
        ["A(4)"],
    ),
    Program(
        "comprehension over pairs",
        """
def f(params):
    return {k: w * 2 + b for k, (w, b) in params.items()}, [a for a, *_ in [(1, 2, 3)]]
""",
        ["{'p': (A(4), 1.0), 'q': (A(3), 2.0)}"],
    ),
    Program(
        "generator expression",
        """
def f(xs):
    total = sum(x * 2 for x in xs)
    return total, any(x.ndim > 1 for x in xs), max(len(x) for x in xs), tuple(x.shape for x in xs if len(x) > 1)
""",
        ["[A(4), A(4), A(4)]"],
    ),
    Program(
        "generator expression is lazy",
        """
def note(log, v):
    log.append(v)
    return v
def f(x):
    log = []
    g = (note(log, v) for v in range(5))
    first = next(g)
    found = 2 in g
    return x * first, found, log, list(g)
""",
        ["A(4)"],
    ),
    Program(
        "generator function",
        """
def halves(x, n):
    for _ in range(n):
        yield x
        x = x / 2
def f(x):
    total = 0.0
    for h in halves(x, 3):
        total = total + h
    return total, list(halves(x, 2))
""",
        ["A(4)"],
    ),
    Program(
        "generator is lazy",
        """
def count(log):
    n = 0
    try:
        while True:
            log.append(n)
            yield n
            n += 1
    finally:
        log.append("closed")
def f(x):
    log = []
    g = count(log)
    log.append("made")
    a = next(g)
    b = next(g)
    g.close()
    return x * (a + b), log
""",
        ["A(4)"],
    ),
    Program(
        "generator dropped by a loop",
        """
def numbers(log):
    try:
        for i in range(5):
            yield i
    finally:
        log.append("closed")
def f(x):
    log = []
    for n in numbers(log):
        x = x + n
        if n == 2:
            log.append("leaving")
            break
    log.append("after")
    return x, log
""",
        ["A(4)"],
    ),
    Program(
        "generator left unfinished",
        """
def numbers(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")
def f(x, log):
    g = numbers(log)
    return x + next(g)
""",
        ["A(4), []"],
        plain="generator",
    ),
    Program(
        "iterable evaluated once",
        """
def f(x, stack):
    for n in range(stack.pop()):
        x = x + n
    for n in stack.pop():
        x = x * n
    return x, stack
""",
        ["A(4), [1, [2, 3], 4]", "A(4), [1, [2, 3], 20]"],
    ),
    Program(
        "yield from",
        """
def inner(n):
    for i in range(n):
        yield i
    return n * 10
def outer(n):
    got = yield from inner(n)
    yield got
    yield from [7, 8]
def f(x):
    return x + sum(outer(3)), list(outer(2))
""",
        ["A(4)"],
    ),
    Program(
        "send and throw",
        """
def averager():
    total, n, mean = 0.0, 0, None
    while True:
        try:
            value = yield mean
        except KeyError:
            value = 0.0
        total, n = total + value, n + 1
        mean = total / n
def f(x):
    g = averager()
    next(g)
    a = g.send(x)
    b = g.send(x * 2)
    c = g.throw(KeyError("k"))
    g.close()
    return a, b, c
""",
        ["A(4)"],
    ),
    Program(
        "generator with return value",
        """
def g(x):
    yield x
    return "done"
def f(x):
    it = g(x)
    y = next(it)
    try:
        next(it)
    except StopIteration as stop:
        return y + 1, stop.value
""",
        ["A(4)"],
    ),
    Program(
        "generator with loops and conditions",
        """
def windows(xs, k):
    buffer = []
    for i, x in enumerate(xs):
        buffer.append(x)
        if len(buffer) < k:
            continue
        elif i > 3:
            break
        else:
            yield tuple(buffer)
        del buffer[0]
    else:
        yield ("end",)
    with_yield = yield None
def f(x):
    return [w for w in windows([1, 2, 3, 4, 5, 6], 2)], [x + len(w) for w in windows([1, 2], 2) if w]
""",
        ["A(4)"],
    ),
    Program(
        "recursive generator",
        """
def walk(tree):
    if isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from walk(branch)
    else:
        yield tree
def f(tree):
    return sum(walk(tree)), [leaf * 2 for leaf in walk(tree)]
""",
        ["[A(4), (1.0, [A(4), 2.0])]"],
    ),
    Program(
        "generator method and __iter__",
        """
class Batches:
    def __init__(self, x, size):
        self.x, self.size = x, size
    def __len__(self):
        return -(-len(self.x) // self.size)
    def __iter__(self):
        for i in range(len(self)):
            yield self.x[i * self.size:(i + 1) * self.size]
def f(x):
    return [b.sum() for b in Batches(x, 2)], len(Batches(x, 3))
""",
        ["A(5)"],
    ),
    Program(
        "iterator class",
        """
class Countdown:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n
def f(x):
    for n in Countdown(3):
        x = x + n
    return x, list(Countdown(2)), next(Countdown(5))
""",
        ["A(4)"],
    ),
    Program(
        "sequence protocol",
        """
class Squares:
    def __getitem__(self, i):
        if i >= 4:
            raise IndexError(i)
        return i * i
def f(x):
    return [x * v for v in Squares()], 9 in Squares(), Squares()[2]
""",
        ["A(4)"],
    ),
    Program(
        "iter and next",
        """
def f(xs):
    it = iter(xs)
    first = next(it)
    rest = [x + first for x in it]
    return rest, next(it, "none"), next(iter(()), None)
""",
        ["[A(4), A(4), A(4)]"],
    ),
    Program(
        "one iterator used twice",
        """
def f(x):
    it = iter([1, 2, 3, 4, 5, 6])
    pairs = list(zip(it, it))
    return x * sum(a * b for a, b in pairs), pairs
""",
        ["A(4)"],
    ),
    Program(
        "enumerate, zip, reversed",
        """
def f(xs, ys):
    out = []
    for i, (x, y) in enumerate(zip(xs, ys), start=1):
        out.append(x * i + y)
    for i, x in enumerate(reversed(xs)):
        out.append(x - i)
    return out, list(zip("ab", range(3))), list(zip(*[(1, 2), (3, 4)]))
""",
        ["[A(4), A(4)], [1.0, 2.0]"],
    ),
    Program(
        "zip strict",
        """
def f(x):
    try:
        list(zip([1, 2], [3], strict=True))
    except ValueError as error:
        return x + 1, str(error), list(zip([1], [x], strict=True))
""",
        ["A(4)"],
    ),
    Program(
        "map and filter",
        """
def f(xs):
    doubled = list(map(lambda v: v * 2, xs))
    pairs = [a + b for a, b in map(lambda a, b: (a, b), xs, doubled)]
    return pairs, list(filter(None, [0, 1, "", "a"])), list(filter(lambda v: v > 1, range(4)))
""",
        ["[A(4), A(3)]"],
    ),
    Program(
        "unpacking with stars",
        """
def f(xs):
    first, *middle, last = xs
    a, (b, *c), d = 1, (2, 3, 4), 5
    [p, q] = first, last
    merged = [*middle, *range(2)], (*"ab", 3), {**{"k": 1}, "l": 2}, {*[1], 2}
    return p + q + sum(middle), a, b, c, d, merged
""",
        ["[A(4), A(4), A(4), A(4)]"],
    ),
    Program(
        "unpacking errors",
        """
def f(x):
    out = []
    for values in ((1,), (1, 2, 3)):
        try:
            a, b = values
        except ValueError as error:
            out.append(str(error))
    try:
        a, b, *c = [1]
    except ValueError as error:
        out.append(str(error))
    try:
        a, b = 5
    except TypeError as error:
        out.append(str(error))
    return x * 2, out
""",
        ["A(4)"],
    ),
    Program(
        "unpacking an array",
        """
def f(m):
    a, b, c = m
    (p, q), *rest = m[:, :2]
    return a + b * c, p * q, rest
""",
        ["A(3, 4)"],
    ),
)
