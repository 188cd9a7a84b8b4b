"""Rows: exceptions that are raised and caught, with, match."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
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
)
