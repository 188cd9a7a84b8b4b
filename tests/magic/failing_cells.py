# ruff: noqa: E501 - a cell is one text, a row is read as a whole
"""Cells that fail, in every way that a cell can: text of the cell, then the later calls of what it defined."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FAILING", "Failing"]


@dataclass(frozen=True)
class Failing:
    """``cell`` is run below the magic line, then each of ``calls`` in a plain cell of its own."""

    cell: str
    calls: tuple[str, ...] = ()


def _(cell: str, *calls: str) -> Failing:
    return Failing("import numpy as np\n" + cell.strip("\n") + "\n", calls)


FAILING: dict[str, Failing] = {
    # where the failing line stands
    "two arguments": _("def f(a, b):\n    return a * b + b\n", "f(np.ones(3, 'S3'), 1)"),
    "shapes": _(
        "def f(a, b):\n    c = a + 1\n    return c + b\n", "f(np.ones(3), np.ones(4))", "f(np.ones(2), np.ones(4))"
    ),
    "defaults and keywords": _(
        "def f(a, /, b=2, *rest, scale=3.0, **more):\n    return (a + b) / np.ones((2, 2)) @ np.ones(3)\n",
        "f(np.ones(2))",
        "f(np.ones(2), 1, 2, scale=1, other=5)",
    ),
    "with": _(
        "def f(a):\n    with np.errstate(all='raise'):\n        return 1 / a\n", "f(np.zeros(3))", "f(np.zeros(3))"
    ),
    "method in with": _(
        "class A:\n    def f(self, a):\n        with np.errstate(all='raise'):\n            return 1 / a\n",
        "A().f(np.zeros(3))",
        "A().f(np.zeros(3))",
    ),
    "method": _("class A:\n    k = 2\n    def f(self, a):\n        return a[self.k]\n", "A().f(np.zeros(2))"),
    "property": _(
        "class A:\n    def __init__(self): self.v = np.ones(3)\n    @property\n    def p(self):\n        return self.v @ np.ones(4)\n",
        "A().p",
    ),
    "class and static method": _(
        "class A:\n    @classmethod\n    def c(cls, x):\n        return x[7]\n    @staticmethod\n    def s(x):\n        return x[8]\n",
        "A.c(np.ones(2))",
        "A.s(np.ones(2))",
    ),
    "operator": _(
        "class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o):\n        return V(self.x + o.x)\n",
        "V(np.ones(2)) + V(np.ones(3))",
    ),
    "closure": _(
        "def make(k):\n    def inner(x):\n        return x[k]\n    return inner\ng = make(9)\ndef f(x):\n    return g(x + 1)\n",
        "g(np.ones(3))",
        "f(np.ones(3))",
    ),
    "after a print": _(
        "def f(a, i):\n    print('at', i)\n    b = a * 2\n    return b[i]\n", "f(np.ones(3), 5)", "f(np.ones(3), 5)"
    ),
    "after a break": _(
        "def f(a, i):\n    b = a * 2\n    open('/dev/null').close()\n    c = b + 1\n    return c[i]\n",
        "f(np.ones(3), 5)",
        "f(np.ones(3), 5)",
    ),
    "in the statement that breaks": _(
        "def f(a, name):\n    b = a * 2\n    data = open(name).read()\n    return b, data\n",
        "f(np.ones(3), '/no/such/file')",
        "f(np.ones(3), '/no/such/file')",
    ),
    "inside an expression that breaks": _(
        "def f(a, name):\n    return (a + 1) * len(open(name).read()) + a\n",
        "f(np.ones(3), '/no/such/file')",
        "f(np.ones(3), '/no/such/file')",
    ),
    "condition on data": _("def f(a):\n    if a:\n        return 1\n    return 2\n", "f(np.ones(3))", "f(np.ones(3))"),
    "in a branch on data": _(
        "def f(a, i):\n    b = a + 1\n    if b.sum() > 0:\n        return b[i]\n    return b\n",
        "f(np.ones(3), 7)",
        "f(np.ones(3), 8)",
    ),
    "in a loop": _(
        "def f(a):\n    s = 0.0\n    for i in range(10):\n        s += a[i]\n    return s\n",
        "f(np.ones(4))",
        "f(np.ones(4))",
    ),
    "in a loop with a break": _(
        "def f(a):\n    s = 0.0\n    for i in range(10):\n        open('/dev/null').close()\n        s += a[i]\n    return s\n",
        "f(np.ones(4))",
        "f(np.ones(4))",
    ),
    "in a while loop": _(
        "def f(a):\n    i = 0\n    while True:\n        a[i] = i\n        i += 1\n", "f(np.ones(40))", "f(np.ones(4))"
    ),
    "in a loop over items": _(
        "def f(items):\n    s = 0\n    for each in items:\n        s = s + each @ np.ones(3)\n    return s\n",
        "f([np.ones(3), np.ones(3), np.ones(2)])",
    ),
    "in a comprehension": _("def f(a):\n    return [a[i] for i in range(9)]\n", "f(np.ones(3))", "f(np.ones(3))"),
    "in a generator expression": _("def f(a):\n    return sum(a[i] for i in range(9))\n", "f(np.ones(3))"),
    "in a lambda": _(
        "f = lambda a: a[9]\ndef g(a):\n    return (lambda x: x[7])(a + 1)\n", "f(np.ones(2))", "g(np.ones(2))"
    ),
    "in an inner function": _(
        "def f(a):\n    def inner(b, i):\n        return b[i]\n    return inner(a + 1, 5)\n", "f(np.ones(2))"
    ),
    "over several lines": _(
        "def f(a, b):\n    return (\n        a\n        + b\n        + np.ones(7)\n    )\n", "f(np.ones(3), np.ones(3))"
    ),
    # callees
    "in a callee": _(
        "def g(x, k):\n    return x[k]\ndef f(a):\n    b = a * 2\n    return g(b, 5)\n",
        "f(np.ones(2))",
        "f(np.ones(2))",
    ),
    "in a callee that breaks": _(
        "def g(x, k):\n    open('/dev/null').close()\n    return x[k]\ndef f(a):\n    return g(a * 2, 5) + 1\n",
        "f(np.ones(2))",
        "f(np.ones(2))",
    ),
    "in a library": _("def f(a):\n    return np.linalg.inv(a)\n", "f(np.zeros((2, 2)))", "f(np.ones(3))"),
    "in NumPy's Python": _("def f(a):\n    return np.stack([a, a[:1]])\n", "f(np.ones(3))"),
    "called with too few arguments": _(
        "def f(a, b):\n    return a + b\ndef g(a):\n    return f(a)\n", "f(np.ones(2))", "g(np.ones(2))"
    ),
    "by a callback": _("def f(a):\n    return np.apply_along_axis(lambda row: row[5], 0, a)\n", "f(np.ones((2, 2)))"),
    "sort key": _("def f(a):\n    return sorted([3, 1], key=lambda i: a[i])\n", "f(np.ones(2))"),
    "generator": _("def f(a):\n    for i in range(5):\n        yield a[i]\n", "list(f(np.ones(2)))"),
    "generator in a function": _(
        "def g(a):\n    for i in range(5):\n        yield a[i] * 2\ndef f(a):\n    s = a.sum()\n    for v in g(a):\n        s += v\n    return s\n",
        "f(np.ones(2))",
    ),
    "async": _("async def f(a):\n    return a[9]\n", "await f(np.ones(3))"),
    "recursion": _(
        "def f(a, n):\n    return f(a + 1, n - 1) if n else a[9]\n", "f(np.ones(2), 3)", "f(np.ones(2), 30)"
    ),
    # how it is raised
    "raise": _("def f(a):\n    b = a + 1\n    raise ValueError('no', b.shape)\n", "f(np.ones(2))", "f(np.ones(2))"),
    "raise from": _(
        "def f(a):\n    try:\n        return a[9]\n    except IndexError as error:\n        raise KeyError('k') from error\n",
        "f(np.ones(2))",
        "f(np.ones(2))",
    ),
    "raise from None": _(
        "def f(a):\n    try:\n        return a[9]\n    except IndexError:\n        raise KeyError('k') from None\n",
        "f(np.ones(2))",
    ),
    "raise in a handler": _(
        "def f(a):\n    try:\n        return a[9]\n    except IndexError:\n        return a['x']\n", "f(np.ones(2))"
    ),
    "raise in a handler after a break": _(
        "def f(a):\n    try:\n        open('/no/such/file')\n    except OSError:\n        b = a + 1\n        return b[9]\n",
        "f(np.ones(2))",
    ),
    "finally": _(
        "def f(a):\n    b = a + 1\n    try:\n        return b[9]\n    finally:\n        b[0] = 7\n", "f(np.ones(2))"
    ),
    "error in finally": _(
        "def f(a):\n    try:\n        return a[9]\n    finally:\n        a @ np.ones(5)\n", "f(np.ones(2))"
    ),
    "re-raise": _(
        "def f(a):\n    try:\n        return a[9]\n    except IndexError:\n        print('seen')\n        raise\n",
        "f(np.ones(2))",
    ),
    "exception group": _(
        "def f(a):\n    b = a + 1\n    errors = []\n    for i in (5, 6):\n        try:\n            b[i]\n        except IndexError as e:\n            errors.append(e)\n    raise ExceptionGroup('many', errors)\n",
        "f(np.ones(2))",
    ),
    "except star": _(
        "def f(a):\n    b = a + 1\n    try:\n        raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\n    except* ValueError:\n        b[0] = 1\n",
        "f(np.ones(2))",
    ),
    "assert": _(
        "def f(a):\n    b = a.sum()\n    assert b > 5, 'too small'\n    return b\n", "f(np.ones(2))", "f(np.ones(2))"
    ),
    "own exception": _(
        "class Bad(Exception):\n    def __init__(self, v): self.v = v\n    def __str__(self): return f'bad {self.v}'\ndef f(a):\n    raise Bad(a.shape)\n",
        "f(np.ones(2))",
    ),
    "exception with notes": _(
        "def f(a):\n    try:\n        return a[9]\n    except IndexError as e:\n        e.add_note('look here')\n        raise\n",
        "f(np.ones(2))",
    ),
    "keyboard interrupt": _("def f(a):\n    b = a + 1\n    raise KeyboardInterrupt\n", "f(np.ones(2))"),
    "system exit": _("import sys\ndef f(a):\n    b = a + 1\n    sys.exit(3)\n", "f(np.ones(2))"),
    "stop iteration": _("def f(a):\n    b = a + 1\n    return next(iter([])) + b\n", "f(np.ones(2))"),
    "warning as error": _(
        "import warnings\ndef f(a):\n    with warnings.catch_warnings():\n        warnings.simplefilter('error')\n        return np.log(a)\n",
        "f(np.zeros(2))",
    ),
    "FloatingPointError": _(
        "def f(a):\n    b = a - 1\n    return 1 / b\n", "with np.errstate(all='raise'):\n    f(np.ones(2))"
    ),
    "unbound local": _(
        "def f(a):\n    b = a + 1\n    if a.ndim == 2:\n        c = 1\n    return b + c\n", "f(np.ones(2))"
    ),
    "unbound local after a break": _(
        "def f(a):\n    b = a + 1\n    open('/dev/null').close()\n    if a.ndim == 2:\n        c = 1\n    return b + c\n",
        "f(np.ones(2))",
    ),
    "unknown name": _("def f(a):\n    return a + nothing\n", "f(np.ones(2))"),
    "unknown attribute": _("def f(a):\n    return a.summ()\n", "f(np.ones(2))"),
    "unknown function": _("def f(a):\n    return np.sinn(a)\n", "f(np.ones(2))"),
    "integers": _("def f(a, n):\n    return a + n // 0\n", "f(np.ones(2), 3)"),
    "dictionary": _("def f(d, k):\n    return d[k] + 1\n", "f({'a': np.ones(2)}, 'b')"),
    "unpacking": _("def f(a):\n    x, y = a\n    return x + y\n", "f(np.ones(3))"),
    "read-only": _("def f(a):\n    a[0] = 1\n", "a = np.ones(3); a.flags.writeable = False; f(a)"),
    # while the cell runs
    "in the cell": _("x = 1\ny = np.ones(3)[x:] @ np.ones(3)\n"),
    "a call in the cell": _("def f(a, b):\n    return a @ b\n\nf(np.ones(2), np.ones(3))\n"),
    "a decorator": _("def deco(fn):\n    raise TypeError('not me')\n\n@deco\ndef f(a):\n    return a\n"),
    "a decorator that wraps": _(
        "import functools\ndef deco(fn):\n    @functools.wraps(fn)\n    def wrapped(*args):\n        return fn(*args)\n    return wrapped\n\n@deco\ndef f(a):\n    return a[9]\n",
        "f(np.ones(2))",
    ),
    "an undefined decorator": _("@undefined_deco\ndef f(a):\n    return a\n"),
    "a default": _("def f(a, b=1 / 0):\n    return a\n"),
    "an annotation": _("def f(a: nothing):\n    return a\n"),
    "a class body": _("class A:\n    x = 1 / 0\n    def f(self): return 1\n"),
    "top-level await": _(
        "import asyncio\nasync def f(a):\n    await asyncio.sleep(0)\n    return a[9]\nawait f(np.ones(2))\n"
    ),
    "import": _("import no_such_module\ndef f(a): return a\n"),
    "eval": _("def f(a):\n    return eval('1 +')\n", "f(np.ones(2))"),
    "exec": _("exec('def f(a):\\n    return a[9]')\n", "f(np.ones(2))"),
    # the text of the cell
    "invalid syntax": _("y = = 2\n"),
    "unclosed bracket": _("def f(a):\n    return (a + 1\n"),
    "unmatched bracket": _("def f(a):\n    return a + 1)\n"),
    "mismatched bracket": _("def f(a):\n    return (a + 1]\n"),
    "unterminated string": _("x = 'abc\ndef f(a): return a\n"),
    "unterminated triple string": _("def f(a):\n    '''abc\n    return a\n"),
    "unexpected indent": _("x = 1\n    y = 2\n"),
    "expected an indented block": _("def f(a):\nreturn a\n"),
    "unindent mismatch": _("def f(a):\n        x = 1\n    return x\n"),
    "tabs and blanks": _("def f(a):\n        x = 1\n\treturn x\n"),
    "tabs and blanks in a block": _("if True:\n        x = 1\n\ty = 2\n"),
    "invalid character": _("x = 1 € 2\n"),
    "invalid quotation mark": _("x = “abc”\n"),
    "invalid number": _("x = 12abc\n"),
    "leading zeros": _("x = 012\n"),
    "continuation": _("x = 1 \\ 2\n"),
    "continuation at the end": _("x = 1 + \\"),
    "f-string": _("x = f'{a b}'\n"),
    "f-string bracket": _("x = f'{a'\n"),
    "bytes": _("x = b'é'\n"),
    "escape": _("x = '\\N{no such}'\n"),
    "assignment to a call": _("f() = 1\n"),
    "return outside": _("x = 1\nreturn x\n"),
    "break outside": _("x = 1\nbreak\n"),
    "yield outside": _("yield 1\n"),
    "duplicate argument": _("def f(a, a):\n    return a\n"),
    "nonlocal": _("def f(a):\n    nonlocal a\n    return a\n"),
    "global after use": _("def f(a):\n    b = 1\n    global b\n    return a\n"),
    "late future": _("x = 1\nfrom __future__ import annotations\n"),
    "print statement": _("print 'x'\n"),
    "not Python": _("this is not python\n"),
    "null": _("x = 1\x00\n"),
    "star": _("*a\n"),
    "keyword": _("class = 1\n"),
    "dict": _("x = {1: 2, 3}\n"),
    "await in a function": _("def f(a):\n    await g(a)\n"),
    # warnings of the compiler
    "is with a literal": _("def f(a):\n    return a is 1\n", "f(np.ones(2))"),
    "invalid escape": _("def f(a):\n    return '\\d', a\n", "f(np.ones(2))"),
    "invalid escape outside": _("x = '\\d'\ny = 1 is 1\n"),
    "assert a tuple": _("def f(a):\n    assert (a, 'x')\n", "f(np.ones(2))"),
    "call a literal": _("def f(a):\n    return 1(a)\n", "f(np.ones(2))"),
    "return in finally": _(
        "def f(a):\n    try:\n        return a[9]\n    finally:\n        return 1\n", "f(np.ones(2))"
    ),
}
