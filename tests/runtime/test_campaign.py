"""For each thing that a trace can read: change just that between two calls, and the answer follows.

And change what nothing read: nothing is compiled again.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import linecache
import os
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

import jitmagic as jm
from tests.runtime.changes import OBJECTS, Case
from tests.runtime.changes_of_classes import CLASSES

X = np.arange(1.0, 7.0).reshape(2, 3)


CASES = [
    Case("global number", "k = 2.0\ndef f(x): return x * k", "k = 3.0"),
    Case("global array replaced", "w = np.ones(3)\ndef f(x): return x * w", "w = np.arange(3.0)"),
    Case("global array written", "w = np.ones(3)\ndef f(x): return x * w", "w[1] = 7"),
    Case("global array of another dtype", "w = np.ones(3)\ndef f(x): return x * w", "w = np.ones(3, 'f4') * 2"),
    Case("global deleted", "k = 2.0\ndef f(x): return x * k", "del k"),
    Case("undefined name", "def f(x):\n    try: return x * k\n    except NameError: return -x", "k = 3.0"),
    Case("undefined name of a helper", "def g(x): return x * k\ndef f(x):\n    try: return g(x)\n"
         "    except NameError as e: return -x * len(e.name)", "k = 3.0"),
    Case("undefined name of another module", "import types\nm = types.ModuleType('m')\n"
         "exec('def g(x):\\n    try: return x * k\\n    except NameError: return -x', vars(m))\n"
         "def f(x): return m.g(x)", "m.k = 3.0"),
    Case("builtin shadowed", "def f(x): return x * len(x)", "def len(x): return 10"),
    Case("helper redefined", "def g(x): return x + 1\ndef f(x): return g(x) * 2", "def g(x): return x - 1"),
    Case("helper of a helper", "def h(x): return x + 1\ndef g(x): return h(x)\ndef f(x): return g(x) * 2",
         "def h(x): return x - 1"),
    Case("helper's code", "def g(x): return x + 1\ndef f(x): return g(x) * 2",
         "g.__code__ = (lambda x: x - 1).__code__"),
    Case("helper's default", "def g(x, n=1): return x + n\ndef f(x): return g(x) * 2", "g.__defaults__ = (5,)"),
    Case("helper's keyword default", "def g(x, *, n=1): return x + n\ndef f(x): return g(x) * 2",
         "g.__kwdefaults__ = {'n': 5}"),
    Case("own default", "def f(x, n=1): return x + n", "f.__defaults__ = (5,)"),
    Case("own keyword default", "def f(x, *, n=1): return x + n", "f.__kwdefaults__ = {'n': 5}"),
    Case("closure cell", "def outer():\n    k = 1.0\n    def f(x): return x * k\n    def put(v):\n        nonlocal k\n"
         "        k = v\n    return f, put\nf, put = outer()", "put(4.0)"),
    Case("cell of a helper", "def outer():\n    k = 1.0\n    def g(x): return x * k\n    def put(v):\n"
         "        nonlocal k\n        k = v\n    return g, put\ng, put = outer()\ndef f(x): return g(x) + 1",
         "put(4.0)"),
    Case("attribute of an object", "class A: pass\na = A()\na.k = 2.0\ndef f(x): return x * a.k", "a.k = 3.0"),
    Case("attribute through __dict__", "class A: pass\na = A()\na.k = 2.0\ndef f(x): return x * a.k",
         "a.__dict__['k'] = 3.0"),
    Case("attribute deleted, class attribute below", "class A: k = 5.0\na = A()\na.k = 2.0\ndef f(x): return x * a.k",
         "del a.k"),
    Case("class attribute", "class A: k = 2.0\na = A()\ndef f(x): return x * a.k", "A.k = 3.0"),
    Case("base class attribute", "class B: k = 2.0\nclass A(B): pass\na = A()\ndef f(x): return x * a.k", "B.k = 3.0"),
    Case("shadowed in between", "class B: k = 2.0\nclass A(B): pass\na = A()\ndef f(x): return x * a.k", "A.k = 3.0"),
    Case("shadowed by the instance", "class A: k = 2.0\na = A()\ndef f(x): return x * a.k", "a.k = 3.0"),
    Case("method", "class A:\n    def m(self, x): return x + 1\na = A()\ndef f(x): return a.m(x)",
         "A.m = lambda self, x: x - 1"),
    Case("method on the instance", "class A:\n    def m(self, x): return x + 1\na = A()\ndef f(x): return a.m(x)",
         "a.m = lambda x: x - 1"),
    Case("class of an object", "class A: k = 2.0\nclass B: k = 3.0\na = A()\ndef f(x): return x * a.k",
         "a.__class__ = B"),
    Case("object replaced", "class A:\n    def __init__(self, k): self.k = k\na = A(2.0)\ndef f(x): return x * a.k",
         "a = A(3.0)"),
    Case("list item", "p = [1.0, 2.0]\ndef f(x): return x * p[0] + p[1]", "p[1] = 5.0"),
    Case("list grown", "p = [1.0, 2.0]\ndef f(x):\n    for v in p: x = x * v\n    return x", "p.append(3.0)"),
    Case("list replaced by array", "p = [1.0, 2.0, 3.0]\ndef f(x): return x * p", "p = np.array([3.0, 4.0, 5.0])"),
    Case("list item is a list", "p = [[1.0], 2.0]\ndef f(x): return x * p[0][0]", "p[0][0] = 9.0"),
    Case("dict value", "p = {'a': 1.0}\ndef f(x): return x * p['a']", "p['a'] = 2.0"),
    Case("dict key added", "p = {'a': 1.0}\ndef f(x): return x * len(p)", "p['b'] = 2.0"),
    Case("dict order", "p = {'a': 2.0, 'b': 3.0}\ndef f(x):\n    for v in p.values(): x = (x + 1) * v\n    return x",
         "p['a'] = p.pop('a')"),
    Case("dict get with default", "p = {}\ndef f(x): return x * p.get('k', 2.0)", "p['k'] = 5.0"),
    Case("set", "s = {1}\ndef f(x): return x * 2 if 2 in s else x", "s.add(2)"),
    Case("hasattr", "class A: pass\na = A()\ndef f(x): return x * 2 if hasattr(a, 'k') else x", "a.k = 1"),
    Case("module attribute", "import types\nm = types.ModuleType('m')\nm.k = 2.0\ndef f(x): return x * m.k",
         "m.k = 3.0"),
    Case("NumPy function replaced", "import types\nn = types.SimpleNamespace(fn=np.sin)\ndef f(x): return n.fn(x)",
         "n.fn = np.cos"),
    Case("isinstance", "class A: pass\nclass B(A): pass\na = A()\ndef f(x): return x if isinstance(a, B) else x * 2",
         "a = B()"),
    Case("errstate", "def f(x): return x / (x - 1.0)", "np.seterr(divide='raise')"),
    Case("dtype", "def f(x): return x * 3", "x = x.astype('f4')"),
    Case("integer dtype", "def f(x): return x / 2", "x = x.astype('i4')"),
    Case("byte order", "def f(x): return x * 3", "x = x.astype('>f8')"),
    Case("shape", "def f(x): return x * x.shape[0]", "x = x[:1]"),
    Case("rank", "def f(x): return x * x.ndim", "x = x[0]"),
    Case("memory order", "def f(x): return x * 2", "x = np.asfortranarray(x)"),
    Case("strides", "def f(x): return x[::-1] + 1", "x = x[:, ::-1]"),
    Case("read-only", "def f(x):\n    x += 1\n    return x", "x = x.copy(); x.flags.writeable = False"),
    Case("array to subclass", "class S(np.ndarray): pass\ndef f(x): return x * 2", "x = x.view(S)"),
    Case("array to list", "def f(x): return np.asarray(x) * 2", "x = x.tolist()"),
    Case("array to scalar", "def f(x): return x * 2", "x = np.float32(3)"),
    Case("scalar type", "s = np.float64(2)\ndef f(x): return x * s", "s = np.float32(3)"),
    Case("int to float", "k = 2\ndef f(x): return x.astype('i4') * k", "k = 2.0"),
    Case("int to bool", "k = 1\ndef f(x): return x * k if k is True else x", "k = True"),
    Case("zero's sign", "k = 0.0\ndef f(x): return np.copysign(x, k)", "k = -0.0"),
    Case("nan", "k = 1.0\ndef f(x): return x * k", "k = float('nan')"),
    Case("string", "mode = 'a'\ndef f(x): return x if mode == 'a' else -x", "mode = 'b'"),
    Case("None", "k = None\ndef f(x): return x if k is None else x * k", "k = 2.0"),
    Case("tuple", "t = (1, 2.0)\ndef f(x): return x * t[1]", "t = (1, 3.0)"),
    Case("slice", "s = slice(0, 2)\ndef f(x): return x[:, s] * 2", "s = slice(1, 3)"),
    Case("range", "r = range(3)\ndef f(x):\n    for i in r: x = x + i\n    return x", "r = range(4)"),
    Case("partial", "import functools\ng = functools.partial(np.add, 1)\ndef f(x): return g(x)",
         "g = functools.partial(np.add, 2)"),
    Case("lambda in a list", "p = [lambda x: x + 1]\ndef f(x): return p[0](x)", "p[0] = lambda x: x - 1"),
    Case("one object twice", "def f(x, y):\n    x += 1\n    return x + y", "y = x", "f(x, y)"),
    Case("overlap", "def f(x, y):\n    x += 1\n    return x + y", "y = x[::-1]", "f(x, y)"),
    Case("property", "class A:\n    @property\n    def k(self): return 2.0\na = A()\ndef f(x): return x * a.k",
         "A.k = property(lambda self: 3.0)"),
    Case("__slots__", "class A:\n    __slots__ = ('k',)\na = A()\na.k = 2.0\ndef f(x): return x * a.k", "a.k = 3.0"),
    Case("__getattr__", "class A:\n    def __getattr__(self, n): return 2.0\na = A()\ndef f(x): return x * a.k",
         "A.__getattr__ = lambda self, n: 3.0"),
    Case("random state", "def f(x): return x + np.random.rand()", "np.random.seed(5)"),
    Case("operator of a class", "class A:\n    def __mul__(self, x): return x * 2\na = A()\ndef f(x): return a * x",
         "A.__mul__ = lambda self, x: x * 3"),
    Case("dataclass default", "from dataclasses import dataclass\n@dataclass\nclass A:\n    k: float = 2.0\n"
         "def f(x): return x * A().k", "A.__init__.__defaults__ = (3.0,)"),
    Case("enum member",
         "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\ne = E.A\ndef f(x): return x * e.value", "e = E.B"),
    Case("complex number", "k = 1j\ndef f(x): return x * k", "k = 2j"),
    Case("big int", "k = 2**70\ndef f(x): return x * k", "k = 2**71"),
]  # fmt: skip


def run(case: Case, compile: bool) -> tuple[list[object], dict]:
    """The outcomes of two calls before the change and two after it, and the namespace."""
    filename = f"<campaign {case.name}>"
    linecache.cache[filename] = (len(case.program), None, case.program.splitlines(True), filename)
    names: dict = {"np": np, "__name__": "__main__", "x": X.copy(), "y": X.copy() + 1}
    exec(builtins_compile(case.program, filename, "exec"), names)
    if compile:
        names["f"] = jm.compile(names["f"], backend="aot_eager")
    np.random.seed(1)
    found = []
    with np.errstate(all="ignore"):
        for step in ("", "", case.change, ""):
            exec(step, names)
            found.append(outcome(case.call, names))
    return found, names


builtins_compile = compile


def outcome(call: str, names: dict) -> object:
    try:
        value = eval(call, names)
    except Exception as error:
        return type(error), str(error)
    flags = (value.strides, value.flags.writeable) if isinstance(value, np.ndarray) else ()
    array = np.asarray(value)
    content = array.tolist() if array.dtype.hasobject else array.tobytes()
    state = names["x"].tolist() if isinstance(names["x"], np.ndarray) else names["x"]
    return type(value).__name__, array.dtype.str, array.shape, content, flags, str(state)


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Whatever a change does to Python and NumPy themselves is undone."""
    modules = {m: dict(vars(m)) for m in (np, np.linalg, builtins)}
    printing, buffer_size, depth = np.get_printoptions(), np.getbufsize(), sys.getrecursionlimit()
    loaded, environment = set(sys.modules), dict(os.environ)
    try:
        with warnings.catch_warnings(), jm.configure(), np.errstate():
            warnings.simplefilter("ignore", DeprecationWarning)  # np.matrix, w.shape = ...
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            yield
    finally:
        for module, before in modules.items():
            for name in set(vars(module)) - set(before):
                if not isinstance(vars(module)[name], ModuleType):  # what was loaded stays
                    delattr(module, name)
            vars(module).update(before)
        np.set_printoptions(**printing)
        np.setbufsize(buffer_size)
        sys.setrecursionlimit(depth)
        np.seterrcall(None)
        for name in set(sys.modules) - loaded:
            if name.startswith("changing"):
                del sys.modules[name]
        os.environ.clear()
        os.environ.update(environment)


def run_apart(case: Case, compile: bool) -> tuple[list[object], dict]:
    """``run`` in a context of its own, with everything put back."""
    with surroundings():
        return contextvars.copy_context().run(run, case, compile)


@pytest.mark.parametrize("case", [*CASES, *OBJECTS, *CLASSES], ids=lambda c: c.name)
def test_the_answer_follows_the_change(case: Case) -> None:
    plain, _ = run_apart(case, compile=False)
    found, names = run_apart(case, compile=True)
    assert found == plain
    assert names["f"].jit.compiles >= 1
    assert "failed" not in names["f"].jit.frame.closed


UNREAD = [
    Case("other global", "k = 2.0\nother = 1\ndef f(x): return x * k", "other = 2"),
    Case("new global", "k = 2.0\ndef f(x): return x * k", "fresh = 2"),
    Case("other global than the one undefined",
         "def f(x):\n    try: return x * k\n    except NameError: return -x", "fresh = 2"),
    Case("other attribute", "class A: pass\na = A()\na.k = 2.0\ndef f(x): return x * a.k", "a.j = 3.0"),
    Case("other list item", "p = [1.0, 2.0]\ndef f(x): return x * p[0]", "p[1] = 5.0"),
    Case("other dict value", "p = {'a': 1.0, 'b': 2.0}\ndef f(x): return x * p['a']", "p['b'] = 5.0"),
    Case("array contents", "w = np.ones(3)\ndef f(x): return x * w", "w[:] = 7"),
    Case("equal array", "def f(x): return x * 2", "x = x.copy()"),
    Case("equal global array", "w = np.ones(3)\ndef f(x): return x * w", "w = np.zeros(3)"),
    Case("which arrays are one", "def f(x, y): return (x + 1) * y - x[::-1]", "y = x", "f(x, y)"),
    Case("other entry of a tuple", "t = (1.0, 2.0)\ndef f(x): return x * t[0]", "t = (1.0, 5.0)"),
    Case("other attribute of a class", "class A: k = 1.0\na = A()\ndef f(x): return x * a.k", "A.j = 2"),
    Case("a method more", "class A:\n    def m(s, x): return x * 2\na = A()\ndef f(x): return a.m(x)", "A.n = len"),
    Case("other module attribute", "import types\nm = types.ModuleType('m')\nm.k = 2.0\ndef f(x): return x * m.k",
         "m.j = 1"),
    Case("other default", "def g(x, a=1, b=2): return x * a\ndef f(x): return g(x)", "g.__defaults__ = (1, 7)"),
    Case("other keyword default", "def g(x, *, a=1, b=2): return x * a\ndef f(x): return g(x)",
         "g.__kwdefaults__ = {'a': 1, 'b': 5}"),
    Case("docstring and tags of a helper", "def g(x): return x * 2\ndef f(x): return g(x)",
         "g.__doc__ = 'a'; g.tag = 3"),
    Case("whether an array that is read may be written", "def f(x): return x * 2",
         "x = x.copy(); x.flags.writeable = False"),
    Case("order of the keys of a dict", "p = {'a': 1.0, 'b': 2.0}\ndef f(x): return x * p['a']",
         "p['a'] = p.pop('a')"),
    Case("other closure cell", "def outer():\n    k = 1.0\n    j = 1\n    def f(x): return x * k\n    def put(v):\n"
         "        nonlocal j\n        j = v\n    return f, put\nf, put = outer()", "put(4.0)"),
]  # fmt: skip


@pytest.mark.parametrize("case", UNREAD, ids=lambda c: c.name)
def test_what_nothing_read_compiles_nothing(case: Case) -> None:
    plain, _ = run(case, compile=False)
    found, names = run(case, compile=True)
    assert found == plain
    assert names["f"].jit.compiles == 1, [str(r) for r in jm.recompiles(names["f"])]


def test_the_case_names_are_different() -> None:
    names = [c.name for c in (*CASES, *OBJECTS, *CLASSES, *UNREAD)]
    assert len(set(names)) == len(names)
