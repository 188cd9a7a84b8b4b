"""Rows: statements that decide what runs: branches, loops, and what leaves them."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "if elif else over constants",
        """
def f(x, mode):
    if mode == "a":
        return x + 1
    elif mode in ("b", "c"):
        y = x * 2
    else:
        y = x / 2
    return y
""",
        ["A(4), 'a'", "A(4), 'c'", "A(4), 'z'"],
    ),
    Program(
        "conditional expression and not",
        """
def f(x, flag=None):
    y = x if flag is None else -x
    return y + (1.0 if not flag else 2.0)
""",
        ["A(4)", "A(4), True"],
    ),
    Program(
        "and, or give operands",
        """
def f(x, options=None):
    options = options or {"k": 3.0}
    k = options and options["k"]
    name = "" or None or "last"
    return x * k, name
""",
        ["A(4)", "A(4), {'k': 2.0}"],
    ),
    Program(
        "chained comparison",
        """
def f(x, lo, hi):
    if 0 <= lo < hi <= 10 != 11:
        return x * lo, 1 < 2 > 3, lo == lo == 1
    return x * hi
""",
        ["A(4), 1, 3", "A(4), 4, 2"],
    ),
    Program(
        "walrus",
        """
def f(x):
    if (n := x.shape[0]) > 2:
        y = (z := x * 2) + z
    else:
        y = x
    rest = [last := v for v in range(n)]
    return y, n, rest, last
""",
        ["A(4)", "A(2)"],
    ),
    Program(
        "walrus in a loop's test",
        """
def f(x):
    todo = [1.0, 2.0, 3.0]
    while (n := len(todo)) and (k := todo.pop()):
        x = x * k + n
    return x
""",
        ["A(4)"],
    ),
    Program(
        "for with else",
        """
def find(items, wanted):
    for i, item in enumerate(items):
        if item == wanted:
            where = i
            break
    else:
        where = -1
    return where
def f(x):
    return x + find([3, 4, 5], 4), x * find([3], 7)
""",
        ["A(4)"],
    ),
    Program(
        "while with else, break and continue",
        """
def f(x, limit):
    n = 0
    while n < 10:
        n += 1
        if n % 2:
            continue
        if n > limit:
            break
        x = x + n
    else:
        x = -x
    return x, n
""",
        ["A(4), 5", "A(4), 20"],
    ),
    Program(
        "nested loops over arrays in lists",
        """
def f(xs, ws):
    out = []
    for x in xs:
        row = 0.0
        for w, b in ws:
            row = row + x * w + b
        out.append(row)
    return out
""",
        ["[A(4), A(3)], [(2.0, 1.0), (3.0, 0.5)]"],
    ),
    Program(
        "early return from nested loops",
        """
def f(x, stop):
    for i in range(3):
        for j in range(3):
            x = x + i * j
            if (i, j) == stop:
                return x, i, j
    return x
""",
        ["A(4), (1, 2)", "A(4), (9, 9)"],
    ),
    Program(
        "loop variable lives on",
        """
def f(x):
    for i in range(4):
        pass
    for a, (b, *c) in [(1, (2, 3, 4))]:
        x = x + a
    return x * i, a, b, c
""",
        ["A(4)"],
    ),
    Program(
        "loop over rows",
        """
def f(m):
    total = 0.0
    for row in m:
        total = total + row * 2
    return total
""",
        ["A(3, 4)", "A(2, 4)"],
    ),
    Program(
        "list grows while looped over",
        """
def f(x):
    todo = [x]
    for item in todo:
        if len(todo) < 4:
            todo.append(item * 2)
    return todo
""",
        ["A(4)"],
    ),
    Program(
        "assert",
        """
def f(x, n):
    assert x.ndim == 1, "one axis"
    assert n
    try:
        assert n > 100, f"{n} is small"
    except AssertionError as error:
        return x * n, error.args
""",
        ["A(4), 3"],
    ),
    Program(
        "del of names and items",
        """
def f(x):
    y, z = x + 1, [1, 2, 3, 4]
    d = {"a": 1, "b": 2}
    del z[0], z[-1:], d["a"]
    w = y * len(z)
    del y
    try:
        y
    except UnboundLocalError as error:
        return w, z, d, str(error)
""",
        ["A(4)"],
    ),
    Program(
        "branch on data",
        """
def f(x):
    y = x * 2
    if y.sum() > 0:
        z = y + 1
    else:
        z = y - 1
    return z * 3
""",
        ["A(4)", "-A(4)", "A(4, seed=3)"],
    ),
    Program(
        "numbers out of arrays in a loop",
        """
def f(x, log):
    for i in range(3):
        x = x + i
        log.append(float(x[0]))
        x = x * 2
    return x
""",
        ["A(4), []"],
    ),
    Program(
        "break inside with and try",
        """
import contextlib
@contextlib.contextmanager
def scope(log):
    log.append("in")
    try:
        yield
    finally:
        log.append("out")
def f(x, log):
    y = x + 1
    with scope(log):
        try:
            y = y * 2
            log.append(y.dumps()[:1])
        finally:
            log.append("finally")
    return y - 1
""",
        ["A(4), []"],
        breaks=1,
    ),
    Program(
        "appends in cases and handlers of a loop that breaks the graph",
        """
from enum import Enum
State = Enum("State", "IDLE UP DOWN")
def f(signal, high, low):
    state, events, faults = State.IDLE, [], []
    for i, v in enumerate(signal):
        try:
            match state:
                case State.IDLE | State.DOWN if v > high:
                    state = State.UP
                    events.append((i, state.name))
                case State.UP if v < low:
                    state = State.DOWN
                    events.append((i, 1 // (i % 2)))
        except ZeroDivisionError:
            faults.append(i)
    return events, faults, state
""",
        ["np.sin(np.arange(12.0)), 0.5, -0.5", "A(14), 0.5, -0.5", "[0.0, 1.0, -1.0, 1.0], 0.5, -0.5"],
        breaks=1,
    ),
    Program(
        "a short loop that appends where the data say so",
        """
def f(x, k):
    chosen, left = [], k
    for i in range(5):
        if x[i] > 0.5:
            chosen.append(i)
            left -= 1
    return chosen, left, x * 2
""",
        ["A(6), 3", "-np.ones(5), 2", "np.ones(5), 9"],
    ),
)
