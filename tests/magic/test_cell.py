"""A ``%%compile`` cell does what the plain cell does: prints, value, names, errors, tracebacks."""

from __future__ import annotations

import ast
import linecache
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitmagic.magic import rounds
from jitmagic.runtime import once
from tests.magic.conftest import Notebook

# What the cell is called -> its body. Every one runs below "# %%compile" and below "%%compile".
# No error stands on the line of a ``def``: IPython shows such frames with and without the lines around, by chance.
CELLS = {
    "last value": "def f(x):\n    return x + 1\nf(2)",
    "no value": "def f(x):\n    return None\nf(2)",
    "silenced value": "def f(x):\n    return x\nf(2);",
    "silenced value before a comment": "1 + 1;  # quiet",
    "prints and value": "print('a')\ndef f():\n    print('b')\n    return 'c'\nf()",
    "only statements": "x = 1\ny = x + 1\nfor i in range(3):\n    i",
    "only definitions": "def f(): pass\nclass C: pass",
    "nothing but a comment": "# nothing\n",
    "blank lines above": "\n\n\ndef f(x):\n    return 1 / x\nf(0)",
    "docstring of the cell": "'''About this cell'''\nprint(__doc__)",
    "multi-line text": "t = '''a\n  b\n    c'''\nt",
    "future annotations": (
        "from __future__ import annotations\ndef f(x: Missing) -> Gone: return x\nf.__annotations__"
    ),
    "future holds later": "from __future__ import annotations\ndef g(x: Nope): pass\ng.__annotations__",
    "type of the function": "def f(): pass\ntype(f), f.__name__, f.__qualname__, f.__module__",
    "signature": "import inspect\ndef f(a, /, b: int = 2, *c, d=3, **e) -> str: ...\ninspect.signature(f)",
    "source": "import inspect\ndef f(a):\n    # note\n    return a\nprint(inspect.getsource(f))",
    "source below a decorator": (
        "import inspect, functools\n@functools.cache\ndef f(a):\n    return a\n"
        "print(inspect.getsource(f.__wrapped__), f.__wrapped__.__code__.co_firstlineno)"
    ),
    "line numbers": "def f():\n    return f.__code__.co_firstlineno\nf(), list(f.__code__.co_positions())[:2]",
    "docstring": "def f():\n    'Does it.'\nf.__doc__",
    "defaults are evaluated once": "n = []\ndef f(a=n.append(1), *, b=n.append(2)): return a\nf(); f(); n",
    "mutable default": "def f(a=[]):\n    a.append(1)\n    return a\nf(); f()",
    "global": "k = 0\ndef f():\n    global k\n    k += 1\nf(); f(); k",
    "closure": (
        "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return inner\ni = outer(); i(), i()"
    ),
    "recursion": "def fac(n):\n    return 1 if n < 2 else n * fac(n - 1)\nfac(10)",
    "redefinition": "def f(): return 1\ndef f(): return 2\nf()",
    "methods": "class C:\n    def m(self, x): return x * 2\nC().m(4)",
    "static and class methods": (
        "class C:\n    @staticmethod\n    def s(x): return x\n    @classmethod\n    def c(cls): return cls.__name__\n"
        "    @property\n    def p(self): return 'p'\n    @p.setter\n    def p(self, v): print('set', v)\n"
        "o = C(); o.p = 3; (C.s(1), C.c(), o.p)"
    ),
    "special methods": (
        "class V:\n    def __init__(self, a): self.a = a\n    def __add__(self, o): return V(self.a + o.a)\n"
        "    def __repr__(self): return f'V({self.a})'\n    def __new__(cls, a): return object.__new__(cls)\n"
        "    def __init_subclass__(cls): print('sub')\n    def __class_getitem__(cls, k): return k\n"
        "class W(V): pass\nV(1) + W(2), V[3]"
    ),
    "super": "class A:\n    def m(self): return 'A'\nclass B(A):\n    def m(self): return super().m() + 'B'\nB().m()",
    "private names": (
        "class C:\n    def __init__(self): self.__x = 1\n    def __m(self): return self.__x\n"
        "    def m(self): return self.__m()\nC().m(), sorted(vars(C()))"
    ),
    "nested classes": "class A:\n    class B:\n        def m(self): return __class__.__qualname__\nA.B().m()",
    "class body": (
        "class C:\n    def f(x): return x + 1\n    y = f(1)\n"
        "    names = sorted(n for n in dir() if n[0] != '_')\nC.y, C.names"
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\n"
        "    def d(self): return self.x * 2\nP(3), P(4).d()"
    ),
    "enum": "import enum\nclass E(enum.Enum):\n    A = 1\n    def m(self): return self.name\nlist(E), E.A.m()",
    "slots": "class S:\n    __slots__ = ('a',)\n    def m(self): return 1\nS().m(), hasattr(S(), '__dict__')",
    "abstract": (
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def m(self): ...\n"
        "A.__abstractmethods__, A.m.__isabstractmethod__"
    ),
    "metaclass": (
        "class M(type):\n    def __call__(cls): return 'made'\nclass C(metaclass=M):\n    def f(self): pass\nC()"
    ),
    "cached": "import functools\n@functools.cache\ndef f(x):\n    print('run')\n    return x\nf(1), f(1)",
    "several decorators": (
        "def a(f):\n    print('a', f.__name__)\n    return f\ndef b(n):\n    print('b', n)\n    return a\n"
        "@a\n@b(print('argument'))\ndef f(x=print('default')): pass"
    ),
    "decorator that replaces": "def five(f): return 5\n@five\ndef f(): pass\nf",
    "single dispatch": (
        "import functools\n@functools.singledispatch\ndef f(x): return 'any'\n"
        "@f.register\ndef _(x: int): return 'int'\nf(1), f('')"
    ),
    "context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef c():\n    print('in')\n    yield 1\n    print('out')\n"
        "with c() as v: print(v)"
    ),
    "generator": "def g(n):\n    yield from range(n)\nlist(g(3)), type(g(1)).__name__",
    "lambda and comprehension": "sq = lambda v: v * v\n[sq(v) for v in range(4)]",
    "functions in blocks": (
        "if True:\n    def a(): return 'a'\nelse:\n    def a(): return 'b'\n"
        "for i in range(2):\n    def b(i=i): return i\n"
        "try:\n    def c(): return 'c'\nfinally:\n    pass\nwhile True:\n    def d(): return 'd'\n    break\n"
        "match 1:\n    case 1:\n        def e(): return 'e'\na(), b(), c(), d(), e()"
    ),
    "names in the cell": (
        "def f(): pass\nclass C:\n    def m(self): pass\nprint(sorted(n for n in dir() if n[0] != '_'))"
    ),
    "constants of the code": "def f(): return 1\nprint([c for c in f.__code__.co_consts])",
    "del": "def f(): pass\ndel f\n'f' in globals()",
    "walrus": "(n := 10)\nn",
    "star import": "from math import *\nround(cos(0))",
    "main": "__name__, __name__ == '__main__'",
    "warning": (
        "import warnings\ndef f():\n    warnings.warn('careful')\n"
        "with warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n    f()\n"
        "[(str(x.message), x.lineno) for x in w]"
    ),
    "doctest": (
        "import doctest\ndef f(x):\n    '''\n    >>> f(1)\n    3\n    '''\n    return x + 1\n"
        "t = doctest.DocTestFinder(recurse=False).find(f, 'f', globs={'f': f})\n"
        "doctest.DocTestRunner(verbose=False).run(t[0])"
    ),
    "line magic": "def f(): return 1\n%who_ls function",
    "line magic in a function": "def f():\n    %time_it_not_there\nprint('defined')",
    "shell command": "!echo hello",
    "shell value": "x = !echo hello\nx",
    "help on a function": "def f(a):\n    'Adds.'\n    return a\nf?",
    "source on a function": "def f(a):\n    'Adds.'\n    return a\nf??",
    "await": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nawait f()",
    "await, silent": "async def f(): return 5\nawait f();",
    "await in a text": "async def f(i): return i\nprint(f'{await f(2)}')",
    "await in a comprehension": "async def f(i): return i\n[await f(i) for i in range(3)]",
    "async comprehensions": (
        "async def g():\n    yield 1\n    yield 2\n"
        "[x async for x in g()], {x async for x in g()}, sum([x async for x in g()])"
    ),
    "async for and with": (
        "import contextlib\nasync def g():\n    yield 1\nasync for x in g(): print(x)\n"
        "@contextlib.asynccontextmanager\nasync def c():\n    yield 5\nasync with c() as v: print(v)\nv"
    ),
    "await silenced": "import asyncio\nawait asyncio.sleep(0, 3);",
    "async comprehension": "async def a():\n    yield 1\n    yield 2\n[x async for x in a()]",
    "async for": "async def a():\n    yield 1\nasync for x in a():\n    print(x)",
    "async with": (
        "import contextlib\n@contextlib.asynccontextmanager\nasync def c():\n    yield 4\n"
        "async with c() as v:\n    print(v)"
    ),
    "await in a default": "import asyncio\ndef f(x=await asyncio.sleep(0, 7)): return x\nf()",
    "await only inside": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\ntype(f).__name__",
    "error": "def f(x):\n    y = x\n    return 1 / y\nf(0)",
    "error at top level": "x = 1\nx / 0\nprint('not reached')",
    "error in a method": "class C:\n    def m(self):\n        raise KeyError('k')\nC().m()",
    "error in a class body": "class C:\n    def m(self): pass\n    x = 1 / 0",
    "error in a default": "def f(\n    x=1 / 0,\n):\n    pass",
    "error in a decorator": "def d(f):\n    raise TypeError('no')\n@d\ndef f():\n    pass",
    "error in a comprehension": "[1 / x for x in (1, 0)]",
    "error from a library": "import json\ndef f(t): return json.loads(t)\nf('{')",
    "error with notes": "e = ValueError('v')\ne.add_note('a note')\nraise e",
    "error with a cause": (
        "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
        "        raise ValueError('v') from e\nf()"
    ),
    "error with its own form": "class E(Exception):\n    def _render_traceback_(self): return ['mine']\nraise E",
    "error without attributes": (
        "class E(Exception):\n    __slots__ = ()\n"
        "    def __setattr__(self, n, v): raise AttributeError(n)\nraise E('x')"
    ),
    "error with await": (
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    raise LookupError('x')\nawait f()"
    ),
    "stop iteration": "def f():\n    return next(iter([]))\nf()",
    "interrupt": "def f():\n    raise KeyboardInterrupt\nf()",
    "assertion": "def f(x):\n    assert x > 0, 'positive'\nf(-1)",
    "wrong arguments": "def f(x): return x\nf()",
    "unknown name": "def f(): return nowhere\nf()",
    "recursion without end": "def f():\n    raise RecursionError('deep')\nf()",
    "syntax error": "x = 1\ny = = 2",
    "syntax error in a function": "def f(x):\n    return x +\n",
    "indentation error": "def f():\n  x = 1\n    y = 2",
    "missing body": "def f():\nx = 1",
    "open bracket": "f(1,",
    "return outside": "print('first')\nreturn 1",
    "nonlocal outside": "print('first')\nnonlocal x",
    "syntax error at run time": "def f():\n    return eval('1 +')\nf()",
    "await with a stop iteration": (
        "import asyncio\nawait asyncio.sleep(0)\ndef f():\n    raise StopIteration(3)\nf()"
    ),
}


def described(notebook: Notebook, cell: str) -> dict[str, Any]:
    """All that can be seen of a cell, addresses and timings left out."""
    before = set(notebook.ns)
    ran = notebook.run(cell)
    made = {name for name in set(notebook.ns) - before if not re.fullmatch(r"_(i|ih)?\d*", name)}
    error = ran.error
    return {
        "out": re.sub(r"0x[0-9a-f]+|-input-\d+-\w+|(?m:^ +1 # %%compile\n)", "", ran.out),
        "err": ran.err,
        "value": re.sub(r"0x[0-9a-f]+", "", repr(ran.value)),
        "shown": ran.shown,
        "error": (type(error).__name__, re.sub(r"-input-\d+-\w+", "", str(error))) if error else None,
        "names": made,
        "who": notebook.shell.run_line_magic("who_ls", ""),
        "last": re.sub(r"0x[0-9a-f]+", "", repr(notebook.ns.get("_"))),
    }


@pytest.mark.parametrize("name", CELLS)
def test_is_the_plain_cell(name: str, open_notebook: Callable[..., Notebook]) -> None:
    """Same prints, value, error, traceback (to the letter, below the magic line), names, ``%who`` and ``_``."""
    plain = described(open_notebook(extension=False), "# %%compile\n" + CELLS[name])
    compiled = described(open_notebook(), "%%compile\n" + CELLS[name])
    assert compiled == plain


LONG_LOOPS = {
    "for i": "for t in range(10**9):\n    for i in range(1000):\n        x[i] = t\n        s += 1",
    "while s": "while s < 10**12:\n    s += 1\n    x[s % 1000] = s",
}


@pytest.mark.parametrize(("head", "loop"), LONG_LOOPS.items())
def test_ctrl_c_in_a_loop_of_the_cell_leaves_what_it_has_done(
    head: str, loop: str, open_notebook: Callable[..., Notebook]
) -> None:
    """At a line of the loop, with the variables and the array as they are there; the loop ran as a kernel."""
    notebook = open_notebook(extension=False)
    notebook.run("%load_ext jitmagic")
    for delay_s in (2, 8, 32):
        timer = threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        ran = notebook.run(f"%%compile\nimport numpy as np\nx, s = np.zeros(1000), 0\n{loop}\n")
        timer.join()
        assert isinstance(ran.error, KeyboardInterrupt)
        if notebook.ns["s"] > 10**8:  # else the interrupt came too early
            break
    x, s, t = notebook.ns["x"], notebook.ns["s"], notebook.ns.get("t")
    assert s > 10**8
    if t is None:
        assert s - 1 <= x.max() <= s
        assert np.unique(x).size == 1000
    else:
        assert s == x.sum() + 1000
        assert s // 1000 == t + (x[-1] == t)
    assert f"{head} " in linecache.getline(*place_of(ran.error))
    assert "jitmagic" not in ran.out


def place_of(error: BaseException) -> tuple[str, int]:
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.lineno is not None
    return last.filename, last.lineno


@pytest.mark.parametrize("loop", ["while n < 1000:\n    n += 1", "for n in range(1000):\n    pass"])
def test_an_interrupt_while_a_loop_is_compiled_is_shown_at_the_loop(
    loop: str, open_notebook: Callable[..., Notebook], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(statement: ast.stmt, *_: Any) -> bool:
        if isinstance(statement, ast.For | ast.While):
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(rounds, "PLAIN_S", 0)
    monkeypatch.setattr(once, "run_once", interrupted)
    monkeypatch.setattr(once, "run_if_long", interrupted)
    notebook = open_notebook(extension=False)
    notebook.run("%load_ext jitmagic")
    ran = notebook.run(f"%%compile\nn = 0\n{loop}\n")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert [entry.lineno for entry in traceback.extract_tb(ran.error.__traceback__)][-1] == 3
    assert f"----> 3 {loop.splitlines()[0]}" in ran.out
    assert "jitmagic" not in ran.out
    assert notebook.run("n >= 0").value is True
