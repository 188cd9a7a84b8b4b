"""Rows: statements that decide what runs: branches, loops, exceptions, with, match."""

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
        "try and except inside",
        """
def f(x, key):
    table = {"a": 2.0}
    try:
        k = table[key]
    except KeyError as error:
        k = 5.0
        why = error.args
    else:
        why = None
    finally:
        x = x + 1
    return x * k, why
""",
        ["A(4), 'a'", "A(4), 'b'"],
    ),
    Program(
        "own exception class",
        """
class Odd(ValueError):
    def __init__(self, n, *more):
        super().__init__(f"{n} is odd")
        self.n = n
def check(n):
    if n % 2:
        raise Odd(n)
    return n
def f(x):
    try:
        check(2)
        check(3)
    except (KeyError, ValueError) as error:
        return x * error.n, str(error)
    return x
""",
        ["A(4)"],
    ),
    Program(
        "raise from and bare raise",
        """
class Wrapped(Exception):
    pass
def g():
    try:
        try:
            raise KeyError("k")
        except KeyError as error:
            raise Wrapped("outer") from error
    except Wrapped:
        raise
def f(x):
    try:
        g()
    except Wrapped as error:
        return x + 1, type(error.__cause__).__name__, error.__cause__.args, error.args
""",
        ["A(4)"],
    ),
    Program(
        "finally overrides",
        """
def g(log):
    try:
        log.append("try")
        return 1
    finally:
        log.append("finally")
def h():
    for i in range(3):
        try:
            continue
        finally:
            if i == 1:
                break
    return i
def k():
    try:
        raise ValueError
    finally:
        return 7
def f(x):
    log = []
    return x * g(log) + h() + k(), log
""",
        ["A(4)"],
    ),
    Program(
        "exception in else is not caught",
        """
def f(x):
    seen = []
    try:
        try:
            seen.append(1)
        except ValueError:
            seen.append(2)
        else:
            raise ValueError("late")
        finally:
            seen.append(3)
    except ValueError as error:
        seen.append(str(error))
    return x, seen
""",
        ["A(4)"],
        nodes=False,
    ),
    Program(
        "exception's name is unbound after",
        """
def f(x):
    try:
        raise ValueError("v")
    except ValueError as e:
        y = x + 1
    try:
        e
    except NameError as error:
        return y, type(error).__name__, str(error)
""",
        ["A(4)"],
    ),
    Program(
        "errors of Python caught",
        """
def f(x):
    found = []
    for g in (lambda: 1 / 0, lambda: [1][5], lambda: {}["k"], lambda: int("q"), lambda: None.a,
              lambda: "a" + 1, lambda: (1, 2)[7], lambda: next(iter([])), lambda: undefined):
        try:
            g()
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found
""",
        ["A(4)"],
    ),
    Program(
        "error of NumPy caught",
        """
def f(x):
    try:
        return x + np.ones(7)
    except ValueError as error:
        return x * 2, str(error)
""",
        ["A(4)"],
    ),
    Program(
        "exception out of a callee through finally",
        """
def g(x, log):
    try:
        raise RuntimeError("inside")
    finally:
        log.append("cleaned")
def f(x):
    log = []
    try:
        g(x, log)
    except RuntimeError as error:
        log.append(str(error))
    return x + len(log), log
""",
        ["A(4)"],
    ),
    Program(
        "with, own context manager",
        """
class Scope:
    def __init__(self, log, name):
        self.log, self.name = log, name
    def __enter__(self):
        self.log.append("enter " + self.name)
        return self
    def __exit__(self, kind, error, trace):
        self.log.append(f"exit {self.name} {kind.__name__ if kind else None}")
        return kind is KeyError
def f(x):
    log = []
    with Scope(log, "a") as a, Scope(log, "b"):
        x = x + len(a.name)
    with Scope(log, "c"):
        x = x * 2
        raise KeyError("gone")
    return x, log
""",
        ["A(4)"],
    ),
    Program(
        "with, return inside",
        """
class Scope:
    def __enter__(self):
        return 2.0
    def __exit__(self, *info):
        done.append(info)
done = []
def f(x):
    for i in range(3):
        with Scope() as k:
            if i == 1:
                return x * k
""",
        ["A(4)"],
    ),
    Program(
        "contextmanager",
        """
from contextlib import contextmanager
@contextmanager
def scope(log, name):
    log.append("in " + name)
    try:
        yield len(log)
    except KeyError:
        log.append("caught")
    finally:
        log.append("out " + name)
def f(x):
    log = []
    with scope(log, "a") as n:
        x = x + n
    with scope(log, "b"):
        raise KeyError
    return x, log
""",
        ["A(4)"],
    ),
    Program(
        "errstate",
        """
def f(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / 0.0
        z = np.log(x)
    return np.where(np.isfinite(y), y, 0.0) + np.isfinite(z)
""",
        ["A(4)"],
    ),
    Program(
        "nullcontext and suppress",
        """
import contextlib
def f(x):
    with contextlib.nullcontext(3.0) as k:
        x = x * k
    with contextlib.suppress(KeyError, IndexError):
        x = x + 1
        {}["a"]
        x = x + 100
    return x
""",
        ["A(4)"],
    ),
    Program(
        "match values and sequences",
        """
def kind(v):
    match v:
        case 0 | 1:
            return "small"
        case int() if v < 0:
            return "negative"
        case int(n):
            return f"int {n}"
        case "a" | "b" as letter:
            return letter.upper()
        case [] | ():
            return "empty"
        case [one]:
            return f"one {one}"
        case (first, *middle, last):
            return f"{first} {middle} {last}"
        case None:
            return "none"
        case _:
            return "other"
def f(x):
    return x + 1, [kind(v) for v in (0, -5, 7, "b", [], (3,), [1, 2, 3, 4], None, 2.5, "zz")]
""",
        ["A(4)"],
    ),
    Program(
        "match mappings and classes",
        """
from dataclasses import dataclass
@dataclass
class Point:
    x: float
    y: float
class Box:
    __match_args__ = ("size",)
    def __init__(self, size):
        self.size = size
def kind(v):
    match v:
        case {"op": "scale", "by": k, **rest}:
            return k, rest
        case {"op": op}:
            return op
        case Point(x=0.0, y=y):
            return y
        case Point(a, b):
            return a, b
        case Box(size=s) if s > 3:
            return "big", s
        case Box(s):
            return "box", s
def f(x):
    items = [{"op": "scale", "by": 2.0, "z": 1}, {"op": "neg"}, Point(0.0, 5.0), Point(1.0, 2.0), Box(9), Box(1), 5]
    return x * 2, [kind(v) for v in items]
""",
        ["A(4)"],
    ),
    Program(
        "match over arrays in a tuple",
        """
RED = 3
class Names:
    RED = 4
def f(x, command):
    match command:
        case ("add", other):
            return x + other
        case ("scale", float(k) | int(k)):
            return x * k
        case (Names.RED, *_):
            return -x
    return x
""",
        ["A(4), ('add', A(4))", "A(4), ('scale', 2.0)", "A(4), (4, 1, 2)", "A(4), 'no'"],
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
