"""Faults that other array compilers had, and other members of their kinds: the outcome is NumPy's, and how far the
program was captured is stated in advance.

``breaks`` is what ``jm.explain`` says of the first call; ``graphs`` too. A program that ran plainly would have none.
"""

from __future__ import annotations

import gc
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import explained, load, plain, same_everywhere


@dataclass(frozen=True)
class Fault:
    name: str
    text: str
    calls: tuple[str, ...]
    graphs: int = 1
    breaks: int = 0


def fault(name: str, text: str, *calls: str, graphs: int = 1, breaks: int = 0) -> Fault:
    return Fault(name, text, calls, graphs, breaks)


INPUTS = "x = np.arange(1.0, 5.0); i8 = np.array([127, 1], np.int8); u8 = np.array([200, 1], np.uint8)\n"

# fmt: off
FAULTS = [
    fault("01 stale helper", """
x = np.ones(3); h = np.sin
f = lambda x: h(x) + 1
""", "f(x)", "h = np.cos", "f(x)", "h = lambda x: x", "f(x)"),
    fault("01 stale helper behind a helper", """
x = np.ones(3)
def a(x): return x + 1
def b(x): return a(x)
def f(x): return b(x) * 2
""", "f(x)", "def a(x): return x - 1", "f(x)"),
    fault("01 stale helper in a dict", """
x = np.ones(3)
h = {'a': np.sin}
f = lambda x: h['a'](x)
""", "f(x)", "h['a'] = np.cos", "f(x)"),
    fault("02 frozen global", """
K = 1
f = lambda x: x * K
""", "f(np.float64(2))", "K = 5", "f(np.float64(2))"),
    fault("02 frozen global array", """
x = np.ones(3); W = np.ones(3)
f = lambda x: x * W
""", "f(x)", "W *= 3", "f(x)", "W = 2.5", "f(x)"),
    fault("03 unguarded default", """
x = np.ones(3)
mk = lambda n: (lambda x, k=n: x * k)
g = mk(3)
f = mk(2)
""", "f(x)", "f.__defaults__ = (7,)", "f(x)", "f(x, 4)"),
    fault("03 default that is changed", """
x = np.ones(3)
def f(x, seen=[]):
    seen.append(1)
    return x * len(seen)
""", "f(x)", "f(x)", "f(x)"),
    fault("04 class attribute", """
x = np.ones(3)
class C: k = 2
f = lambda x: x * C.k
""", "f(x)", "C.k = 3", "f(x)"),
    fault("04 attribute of a base class", """
x = np.ones(3)
class B: k = 2
class C(B): pass
f = lambda x: x * C.k
""", "f(x)", "B.k = 3", "f(x)", "C.k = 4", "f(x)", "del C.k", "f(x)"),
    fault("05 replaced attribute", """
class M: pass
m = M(); m.buf = np.zeros(3)
def f(m, i, v):
    m.buf[i] = v
    return m.buf
""", "f(m, 0, 1.0)", "m.buf = np.ones(3)", "f(m, 1, 5.0) is m.buf", "f(m, 2, 7.0)"),
    fault("06 effect on a class list", """
x = np.ones(3)
class M: log = []
def f(x):
    M.log.append(x.shape)
    return x * 2
""", "f(x)", "f(x)", "len(M.log), M.log"),
    fault("07 generator returned", """
x = np.ones(2)
def f(x):
    y = x * 2
    def g(x):
        yield x
        return 'done'
    return g(y)
""", "f(x)", "list(f(x))", "[*f(x)]", "(lambda g: (next(g), str(type(g))))(f(x))"),
    fault("08 key order", """
f = lambda d: [v * 2 for v in d.values()]
""", "f({'a': np.ones(2), 'b': np.zeros(2)})", "f({'b': np.ones(2), 'a': np.zeros(2)})"),
    fault("09 random stream", """
x = np.arange(4.0)
f = lambda x: x[np.random.permutation(4)]
""", "f(x)", "f(x)", "f(x)", graphs=1, breaks=0),
    fault("09 stream of Python's random", """
import random
x = np.ones(2)
f = lambda x: x * random.random()
""", "f(x)", "f(x)", graphs=1, breaks=1),
    fault("10 overlapping views", """
x = np.arange(1.0, 6.0)
def f(a):
    a[1:] += a[:-1]
    return a
""", "f(x)", "f(x[::-1])"),
    fault("10 reversed into itself", """
x = np.arange(5)
def f(a):
    a[:] = a[::-1]
    return a
""", "f(x)", "f(x)"),
    fault("10 overlapping arguments", """
x = np.arange(6.0)
def f(a, b):
    a += b
    return a
""", "f(x[1:], x[:-1])", "f(x[:3], x[3:])", "f(x, x)"),
    fault("10 out= that overlaps", """
x = np.arange(6.0)
def f(a): return np.add(a[:-1], a[1:], out=a[1:])
""", "f(x)", "f(x)"),
    fault("11 sort in place", """
x = np.array([3, 1, 2])
def f(x):
    x.sort()
    return x
""", "f(x)"),
    fault("11 fill and partition", """
x = np.array([3, 1, 2])
def f(x):
    x.partition(1)
    y = x.copy()
    x.fill(4)
    return x, y
""", "f(x)"),
    fault("11 out= is the result", """
x = np.arange(3.0); o = np.zeros(3)
def f(x, o): return np.sin(x, out=o) is o
""", "f(x, o)", "o"),
    fault("11 resize in place", """
def f(n):
    x = np.arange(n)
    y = x * 2
    y.resize(3, 2, 1, refcheck=False)
    return y
""", "f(3)", "f(4)", graphs=1, breaks=2),
    fault("12 minimum of nothing", """
f = lambda x: np.min(x)
""", "f(np.ones(3))", "f(np.zeros(0))"),
    fault("12 mean of nothing", """
f = lambda x: np.mean(x) + x.sum()
""", "f(np.ones(3))", "f(np.zeros(0))", "f(np.zeros(0))"),
    fault("12 spread of too little", """
f = lambda x, d: (np.std(x, ddof=d), x.var(0, ddof=d), np.median(x))
""", "f(np.ones(3), 1)", "f(np.ones(1), 1)", "f(np.zeros(0), 0)", "f(np.ones(5), 2)", "f(np.ones(2), 2)"),
    fault("12 argmax, any, prod of nothing", """
f = lambda x: (x.any(), x.all(), x.prod(), x.argmax())
""", "f(np.ones(3))", "f(np.zeros(0))"),
    fault("13 index ends", """
x = np.arange(5.0)
f = lambda a, i: a[i] * 2
""", "f(x, 0)", "f(x, -1)", "f(x, 4)", "f(x, 5)", "f(x, 7)", "f(x, -5)", "f(x, -7)"),
    fault("13 index arrays", """
x = np.arange(5.0)
f = lambda a, i: a[i] * 2
""", "f(x, np.array([0, 4]))", "f(x, np.array([1, 9]))", "f(x, np.array([-6]))"),
    fault("13 write past the end", """
x = np.arange(5.0)
def f(a, i):
    a[0] = 9
    a[i] = 1
    return a
""", "f(x, 3)", "f(x, 7)", "x"),
    fault("14 handler skipped", """
x = np.arange(5.0)
def f(a, i):
    try:
        return a[i]
    except IndexError:
        return -1.0
""", "f(x, 2)", "f(x, 7)", "f(x, -7)"),
    fault("14 handler around a shape error", """
x = np.ones(3)
def f(a, b):
    try:
        return a + b
    except ValueError:
        return a * 5
""", "f(x, x)", "f(x, np.ones(2))"),
    fault("14 finally and else", """
x = np.ones(3); log = []
def f(a, i):
    try:
        r = a[i]
    except IndexError:
        r = -1.0
    else:
        r = r + 1
    finally:
        log.append(i)
    return a * r
""", "f(x, 1)", "f(x, 9)"),
    fault("15 small dtypes", """
x = np.full(3, 100, np.int8)
f = lambda x: (np.cumsum(x), np.any(x.view(np.uint8)), np.clip(x, -5, 50), x.sum(), x.mean())
""", "f(x)"),
    fault("15 a bound that does not fit", """
x = np.full(3, 100, np.int8)
f = lambda x: np.clip(x, -1000, 1000)
""", "f(x)"),
    fault("15 sign of nan", """
f = lambda x: (np.sign(x), np.maximum(x, 0), np.fmax(x, 0), np.isnan(x).sum())
""", "f(np.array([np.nan, -0.0, 2]))"),
    fault("16 promotion in loops", """
v = np.ones(3, np.float32)
def f(v, n):
    for _ in range(n):
        v = 3.0 * v
    return v
""", "f(v, 3)", "f(v, 4)"),
    fault("17 integer arithmetic", """
a = np.uint8([200]); b = np.uint8([100])
f = lambda a, b: (a + b).astype(np.int32)
""", "f(a, b)"),
    fault("17 negative power", """
a = np.array([1, 2])
f = lambda a, n: a ** n
""", "f(a, 2)", "f(a, -1)", "f(a, 0.5)"),
    fault("17 unsigned wrap", """
a = np.uint64([5, 1])
f = lambda a: (a - 3, a // 2, a % 3, a >> 1, ~a)
""", "f(a)"),
    fault("18 zero division of scalars", """
one, zero = np.float64(1), np.float64(0)
f = lambda a, b: a / b
""", "f(one, zero)", "f(zero, zero)"),
    fault("18 zero division under raise", """
x = np.ones(2); z = np.zeros(2)
def f(a, b):
    with np.errstate(divide='raise'):
        return a / b
""", "f(x, x)", "f(x, z)"),
    fault("18 division warns once a call", """
x = np.ones(2); z = np.zeros(2)
f = lambda a, b: a / b
""", "f(x, z)", "f(x, z)", "f(z, z)", "f(x, x)"),
    fault("18 overflow, underflow, invalid", """
f = lambda x: (np.exp(x), np.log(x), x * x, np.sqrt(x), x // 0)
""", "f(np.array([1e300, -1.0]))", "f(np.array([1.0]))"),
    fault("20 prints", """
x = np.ones(2)
def f(x):
    for i in range(3):
        x = x * 2
        print(i, end=' ')
    return x
""", "f(x)", "f(x)"),
    fault("20 prints of arrays", """
x = np.ones(2)
def f(x):
    y = x + 1
    print('y is', y)
    return y * 2
""", "f(x)", "f(x * 2)"),
    fault("21 cached callee", """
import functools
x = np.ones(2); log = []
@functools.cache
def c(n):
    log.append(n)
    return n * 2
def f(x): return x * c(3) + c(3)
""", "f(x)", "f(x)", "log", breaks=1),
    fault("22 partly used iterator", """
x = np.ones(2)
it = iter([3, 5, 7]); next(it)
f = lambda it, x: x + next(it) * 10 + next(it)
""", "f(it, x)", "list(it)", graphs=2, breaks=2),
    fault("23 vector tail", """
f = lambda x: (x % 3, x // 3, np.exp(x), np.remainder(x, -3), x ** 1.5)
""", "f(np.linspace(0.1, 9.9, 16)[:3])", "f(np.linspace(0.1, 9.9, 16)[:12])",
        "f(np.linspace(0.1, 9.9, 16)[:16])", "f(np.linspace(0.1, 9.9, 16)[:1])"),
    fault("24 list in a tuple", """
x = np.ones(2); t = ([], 5)
f = lambda t, x: (t[0].append(1), x * 2)[1]
""", "f(t, x)", "f(t, x)", "t"),
    fault("24 dict in a list", """
x = np.ones(2); t = [{'n': 0}]
def f(t, x):
    t[0]['n'] += 1
    return x * t[0]['n']
""", "f(t, x)", "f(t, x)", "t"),
    fault("int8 wraps", """
x = np.arange(1.0, 5.0); i8 = np.array([127, 1], np.int8); u8 = np.array([200, 1], np.uint8)
f = lambda a: (a + 1, a * a, -a, abs(a), a << 1)
""", "f(i8)", "f(np.array([-128], np.int8))"),
    fault("float32 stays", """
f = lambda a: (a * 2.5, np.where(a > 0, a, 0), a ** 2, a / 3, np.mean(a), a.sum())
""", "f(np.ones(3, np.float32))"),
    fault("uint64 scalars", """
f = lambda a, b: a - b
""", "f(np.uint64(5), np.int64(3))", "f(np.uint64(5), 3)"),
    fault("results are NumPy scalars", """
f = lambda x: (x.sum(), x.mean(), np.median(x), x.max(), x.argmax(), x[0])
""", "f(np.arange(3))", "f(np.arange(3.0))"),
    fault("shapes that do not fit in place", """
x = np.ones((3, 4))
def f(a, b):
    a += b
    return a
""", "f(x, np.ones(4))", "f(x, np.ones((3, 5)))", "f(np.ones(3), np.ones((3, 3)))"),
    fault("maximum of nan", """
f = lambda x: (np.max(x), np.nanmax(x), x.argmax(), np.fmax.reduce(x))
""", "f(np.array([2.0, np.nan, 3.0]))"),
    fault("powers of Python ints", """
x = np.ones(2)
def f(x, n): return x * 2 ** -n, 3 ** (n * 25), 1 << (n * 32), n ** 40
""", "f(x, 2)", "f(x, 3)"),
    fault("factorial of a Python int", """
x = np.ones(2)
def f(x, n):
    p = 1
    for k in range(1, n + 1):
        p = p * k
    return x + 1, p
""", "f(x, 25)", "f(x, 30)"),
    fault("smallest int by minus one", """
f = lambda a, b: (a // b, a % b)
""", "f(np.array([5, -7]), np.array([-2, 2]))", "f(np.array([-2**63]), np.array([-1]))",
        "f(np.array([1]), np.array([0]))"),
    fault("range of a float", """
x = np.ones(2)
def f(x, n):
    for _ in range(n):
        x = x + 1
    return x
""", "f(x, 2)", "f(x, 4.0)"),
    fault("bool minus bool", """
f = lambda a, b: (a ^ b, a & b, a + b)
""", "f(np.array([True]), np.array([False]))"),
    fault("bool minus bool raises", """
f = lambda a, b: a - b
""", "f(np.array([1]), np.array([0]))", "f(np.array([True]), np.array([False]))"),
    fault("axis and keepdims", """
f = lambda a: (np.max(a, axis=0), a.sum(axis=1, keepdims=True), a[a > 2], a.mean((0, 1)))
""", "f(np.arange(6.0).reshape(2, 3))"),
    fault("matmul of every kind", """
f = lambda a, b: a @ b
""", "f(np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2))", "f(np.ones((2, 2), 'f4'), np.ones(2))",
        "f(np.ones((3, 2, 2)), np.ones((2, 2)))", "f(np.ones(2), np.ones(3))"),
    fault("written global array", """
W = np.zeros(3); x = np.ones(3)
def f(x):
    W[0] = W[0] + 1
    return x * W
""", "f(x)", "W[1] = 5", "f(x)", "W"),
    fault("errors show their line", """
x = np.ones(3)
def f(x):
    y = x * 2
    return y.reshape(2, 2)
""", "f(np.ones(4))", "f(x)"),
]
# fmt: on


@pytest.mark.parametrize("each", FAULTS, ids=lambda f: f.name)
def test_fault_does_not_happen(each: Fault) -> None:
    same_everywhere(each.text, each.calls)


@pytest.mark.parametrize("each", FAULTS, ids=lambda f: f.name)
def test_program_is_captured_as_stated(each: Fault) -> None:
    call = next(c for c in each.calls if "f(" in c)
    found = explained(each.text, call)
    assert (found.graph_count, found.break_count) == (each.graphs, each.breaks), found


def test_01_the_reason_names_the_helper() -> None:
    names = load("h = np.sin\nf = lambda x: h(x) + 1")
    f = jm.compile(names["f"])
    f(np.ones(2))
    names["h"] = np.cos
    f(np.ones(2))
    (why,) = jm.recompiles(f)
    assert (why.guard, why.then, why.now) == ("h", "sin", "cos")


def test_07_a_returned_generator_is_a_real_one() -> None:
    text = "def f(x):\n    y = x * 2\n    def g():\n        yield y\n        return 'done'\n    return g()"
    f = jm.compile(load(text)["f"])
    for _ in range(2):
        made = f(np.ones(2))
        assert next(made).tolist() == [2.0, 2.0]
        with pytest.raises(StopIteration) as stop:
            next(made)
        assert stop.value.value == "done"


def test_19_threads_that_call_first_with_four_dtypes() -> None:
    text = "def f(x): return x * 2 + 1"
    told = explained(text, "f(np.arange(8, dtype='f4'))")
    assert (told.graph_count, told.break_count) == (1, 0)
    f = jm.compile(load(text)["f"])
    arrays = [np.arange(8).astype(t) for t in ("f4", "f8", "i2", "i8")]
    found: list[object] = [None] * 16
    start = threading.Barrier(16)

    def work(k: int) -> None:
        start.wait()
        found[k] = f(arrays[k % 4])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, result in enumerate(found):
        expected = arrays[k % 4] * 2 + 1
        assert isinstance(result, np.ndarray)
        assert (result.dtype, result.tolist()) == (expected.dtype, expected.tolist())
    assert f.jit.compiles == 4


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 7, 8, 12, 17, 127, 128, 129, 1000])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_23_an_element_does_not_depend_on_the_length(size: int, dtype: str) -> None:
    text = "f = lambda x: (x % 3, x // 3, np.exp(x * 0.01), np.tanh(x), x.sum())"
    told = explained(text, f"f(np.arange({size}, dtype={dtype!r}))")
    assert (told.graph_count, told.break_count) == (1, 0)
    f = jm.compile(load(text)["f"], dynamic=True)
    x = (np.arange(size) * 37 % 101 - 50).astype(dtype)
    for a, b in zip(f(x), f.jit.plain(x), strict=True):
        assert a.dtype == b.dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_an_error_points_at_the_line_of_the_user() -> None:
    f = jm.compile(load("def f(x):\n    y = x * 2\n    return y.reshape(2, 2)")["f"])
    f(np.ones(4))
    with pytest.raises(ValueError, match="cannot reshape array of size 3") as caught:
        f(np.ones(3))
    assert ("f", 3) in [(entry.name, entry.lineno + 1) for entry in caught.traceback]


def test_an_error_leaves_no_argument_alive() -> None:
    f = jm.compile(load("def f(x, i): return x[i] * 2")["f"])
    x = np.ones(4)
    f(x, 1)
    with pytest.raises(IndexError):
        f(x, 99)
    gc.collect()
    assert sys.getrefcount(x) == 2


def test_the_plain_run_of_every_fault_is_not_trivial() -> None:
    for each in FAULTS:
        assert plain(each.text, each.calls).outcomes, each.name
