"""For every kind of guard, and for every form of check in compiled code: change just what it watches.

The kinds are read from the source, so that a new one without a row here fails. Each row also changes something beside
it that the trace did not read: nothing is compiled again then.
"""

from __future__ import annotations

import ast
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.runtime import compiling
from jitmagic.runtime.native import checks, code
from tests.runtime.changes import Case
from tests.runtime.test_campaign import outcome, run_apart

TRACER = Path(jm.__file__).parent / "tracer"


@dataclass(frozen=True)
class Row:
    """``watched``: a kind, or the form of a check. ``beside`` changes what the trace did not read."""

    watched: str
    program: str
    beside: str
    change: str
    call: str = "f(x)"


OBJECT = "class A: k = 2.0\na = A()\na.j = 1.0\ndef f(x): return x * a.k"
HELPER = "def g(x, n=1): return x + n\ndef f(x): return g(x) * 2"
MODEL = (
    "from jitmagic import nn\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.w = nn.Parameter(np.arange(6.0).reshape(2, 3))\n    def forward(self, x): return x * self.w\n"
    "m = M()\ndef f(x): return m(x)"
)
TENSOR = (
    "import jitmagic as jm\nrecords = True\nt = jm.Tensor(np.arange(3.0), requires_grad=True)\n"
    "def f(t): return t * 2.0\ndef g():\n    if records: y = f(t)\n    else:\n        with jm.no_grad(): y = f(t)\n"
    "    return np.append(y.detach().numpy(), y.requires_grad)"
)
ROWS = [
    Row("GRAD_MODE", TENSOR, "u = jm.Tensor(np.ones(3))", "records = False", "g()"),
    Row("REQUIRES_GRAD", TENSOR, "t = jm.Tensor(np.ones(3), requires_grad=True)", "t = jm.Tensor(np.ones(3))", "g()"),
    Row("ALIAS", "w = np.ones((2, 3))\nv = w\ndef f(x): return x + w + v", "u = w", "v = np.ones((2, 3))"),
    Row("ARRAY_MATCH", "def f(x): return x * 2", "x = x + 1", "x = x.astype('f4')"),
    Row("BUILTIN_MATCH", "def f(x): return x * len(x)", "def max(x): return 10", "def len(x): return 10"),
    Row("CACHE_MATCH", "from functools import cache\nlog = []\n@cache\ndef k(n): return np.full(3, n + len(log))\n"
        "k(3)\ndef f(x): return x.sum() * k(3)", "k(4)", "log.append(1); k.cache_clear()"),
    Row("CLASS_ATTRIBUTE", OBJECT, "A.other = 3.0", "A.k = 3.0"),
    Row("CLOSURE_MATCH", "def o():\n    def f(x):\n        try: return x * k\n        except NameError: return x\n"
        "    def put():\n        nonlocal k\n        k = 5.0\n    if 0: k = 1\n    return f, put\nf, put = o()",
        "o()", "put()"),
    Row("CONSTANT_MATCH", "k = 2.0\ndef f(x): return x * k", "j = 5.0", "k = 3.0"),
    Row("DICT_KEYS", "p = {'a': 1.0}\ndef f(x): return x * len(p)", "q = {'b': 2.0}", "p['b'] = 2.0"),
    Row("EQUALS_MATCH", "s = {1}\ndef f(x): return x * 2 if 2 in s else x", "t = {2}", "s.add(2)"),
    Row("ERRSTATE", "def f(x): return x / (x - 1.0)", "np.set_printoptions(precision=3)", "np.seterr(divide='raise')"),
    Row("WARNINGS", "import warnings\nwarnings.resetwarnings()\nwarnings.simplefilter('ignore')\n"
        "def f(x):\n    warnings.warn('seen')\n    return x * 2",
        "warnings.filterwarnings('ignore', 'other')", "warnings.simplefilter('error')"),
    Row("FUNCTION_MATCH", HELPER, "g.__doc__ = 'new'", "def g(x): return x - 1"),
    Row("ID_MATCH", "D = np.float32\ndef f(x): return x.astype(D)", "E = np.float16", "D = np.float16"),
    Row("LIST_LENGTH", "p = [1.0]\ndef f(x): return x * len(p)", "p[0] = 2.0", "p.append(3.0)"),
    Row("NOT_PRESENT_IN_GENERIC_DICT", OBJECT, "a.j = 2.0", "a.k = 3.0"),
    Row("NO_ALIASING", "def f(x, y):\n    x += 1\n    return x + y", "y = y + 1", "y = x", "f(x, y)"),
    Row("PYMODULE_MATCH", "import types\nm = types.ModuleType('m')\nm.k = 2.0\ndef f(x): return x * m.k", "m.j = 1",
        "m = types.ModuleType('m'); m.k = 2.0"),
    Row("SIZE_RELATION",
        "def f(x, y): return x.sum() + y.sum() if x.shape[0] == y.shape[0] else x.sum()\n",
        "x, y = x + 1, y + 1",
        "f(np.ones((4, 3)), np.ones((4, 3))); x, y = np.ones((5, 3)), np.ones((6, 3))", "f(x, y)"),
    Row("SUBCLASS_MATCH", "import collections.abc\nclass B: pass\nb = B()\n"
        "def f(x): return x * 2 if isinstance(b, collections.abc.Sized) else x",
        "class C: pass\ncollections.abc.Sized.register(C)", "collections.abc.Sized.register(B)"),
    Row("TYPE_MATCH", "s = np.float64(2)\ndef f(x): return x * s", "s = np.float64(3)", "s = np.float32(3)"),
    # forms of checks
    Row("absent", OBJECT, "a.j = 2.0", "a.k = 3.0"),
    Row("bases", "class A: pass\nclass D: pass\nclass B(D): pass\nb = B()\n"
        "def f(x): return x * 2 if isinstance(b, A) else x", "class E(A): pass", "B.__bases__ = (A,)"),
    Row("class entry", OBJECT, "A.other = 3.0", "A.k = 3.0"),
    Row("defaults", "def g(x, a=1, b=2): return x + b\ndef f(x): return g(x, 3)", "g.k = 1", "g.__defaults__ = (7,)"),
    Row("distinct", "def f(x, y):\n    x += 1\n    return x + y", "y = y + 1", "y = x", "f(x, y)"),
    Row("dtype", "def f(x): return x * 2", "x = x + 1", "x = x.astype('>f8')"),
    Row("equals", "k = 2\ndef f(x): return x * k", "j = 3", "k = 3"),
    Row("equal sizes",
        "def f(x, y): return x.sum() + y.sum() if x.shape[0] == y.shape[0] else x.sum()\n",
        "x, y = x + 1, y + 1",
        "f(np.ones((4, 3)), np.ones((4, 3))); x, y = np.ones((5, 3)), np.ones((6, 3))", "f(x, y)"),
    Row("errstate", "def f(x): return x / (x - 1.0)", "np.seterrcall(None)", "np.seterr(divide='raise')"),
    Row("flags", "def f(x): return x * 2", "x = x.copy()", "x = np.asfortranarray(x)"),
    Row("float", "k = 0.0\ndef f(x): return np.copysign(x, k)", "j = -0.0", "k = -0.0"),
    Row("function", HELPER, "g.__doc__ = 'new'", "g.__code__ = (lambda x, n: x - n).__code__"),
    Row("int64", "n = 5\ndef f(x, n): return x * n", "x = x + 1", "f(x, 7); n = 2.5", "f(x, n)"),
    Row("is", "k = None\ndef f(x): return x if k is None else x * k", "j = 1", "k = 2.0"),
    Row("keys", "p = {'a': 1.0}\ndef f(x): return x * 2 if 'b' in p else x", "q = 1", "p['b'] = 2.0"),
    Row("length", "p = [1.0]\ndef f(x): return x * len(p)", "p[0] = 2.0", "p.append(3.0)"),
    Row("not among", MODEL, "x = x + 1", "x = m.w"),
    Row("not in", "def f(x): return x * len(x)", "def max(x): return 10", "def len(x): return 10"),
    Row("recording", TENSOR, "u = jm.Tensor(np.ones(3))", "records = False", "g()"),
    Row("same", "w = np.ones((2, 3))\nv = w\ndef f(x): return x + w + v", "u = w", "v = np.ones((2, 3))"),
    Row("sizes", "def f(x): return x * x.shape[0]", "x = x + 1", "x = x[:1]"),
    Row("strides", "w = np.arange(24.0).reshape(4, 6)\nx = w[:2, ::2]\ndef f(x): return x * 2",
        "x = x.base.reshape(4, 6)[1:3, ::2]", "x = np.arange(24.0).reshape(6, 4)[::2, :2].T"),
    Row("type", "s = np.float64(2)\ndef f(x): return x * s", "s = np.float64(3)", "s = np.float32(3)"),
    Row("unset cell", "def o():\n    def f(x):\n        try: return x * k\n        except NameError: return x\n"
        "    def put():\n        nonlocal k\n        k = 5.0\n    if 0: k = 1\n    return f, put\nf, put = o()",
        "o()", "put()"),
]  # fmt: skip
# No entry has these among its guards: they have tests of their own.
ELSEWHERE = {
    "CACHE_FULL": "tests/runtime/test_memory.py",
    "MODULES_UNCHANGED": "tests/runtime/test_covering.py",
    "pairs": "tests/runtime/test_covering.py",
}


def kinds_in_the_source() -> set[str]:
    """The first words of every call that makes a guard, in the tracer and in the runtime."""
    makers, found = {"Guard", "expression_guard", "identity_guard"}, set()
    for path in [*TRACER.rglob("*.py"), *(TRACER.parent / "runtime").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and (getattr(node.func, "id", "") or getattr(node.func, "attr", "")) in makers
            ):
                words = [*node.args, *(k.value for k in node.keywords if k.arg == "kind")]
                found |= {w.value for w in words if isinstance(w, ast.Constant) and str(w.value).isupper()}
    return found


def test_every_kind_and_every_form_has_its_row() -> None:
    watched = {row.watched for row in ROWS}
    known = kinds_in_the_source() | set(checks._WRITERS) | checks._OF_ARRAYS
    assert known - watched - set(ELSEWHERE) == set(), "change what these watch between two calls, in ROWS"
    assert watched | set(ELSEWHERE) == known
    assert len(watched) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.watched)
def test_a_change_is_noticed_and_one_beside_it_costs_nothing(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[str] = []
    told = compiling.tell_recompile

    def tell(frame, entry, failure, *rest) -> None:
        failed.append(failure.guard.kind if row.watched.isupper() else (failure.guard.form or [""])[0])
        told(frame, entry, failure, *rest)

    monkeypatch.setattr(compiling, "tell_recompile", tell)
    beside = Case(f"{row.watched}, beside", row.program, row.beside, row.call)
    plain, _ = run_apart(beside, compile=False)
    found, names = run_apart(beside, compile=True)
    assert found == plain
    assert names["f"].jit.compiles == 1, [str(r) for r in jm.recompiles(names["f"])]
    assert failed == []
    case = Case(row.watched, row.program, row.change, row.call)
    plain, _ = run_apart(case, compile=False)
    found, names = run_apart(case, compile=True)
    assert found == plain
    assert failed
    assert row.watched == failed[-1]


def test_outcomes_tell_values_apart() -> None:
    names = {"x": np.ones(2), "f": lambda x: x}
    assert outcome("f(x)", names) != outcome("f(x * 2)", names)


def test_defaults_by_keyword_are_checked_in_compiled_code() -> None:
    program = "def g(x, a=1, *, b=2, c=3): return x + b * c\ndef f(x): return g(x, 3, c=4)"
    changes = ("g.__kwdefaults__ = {'b': 7, 'c': 3}", "g.__kwdefaults__ = {'b': 2}", "g.__defaults__ = (1, 2)")
    for k, change in enumerate((*changes, "g.__kwdefaults__ = None", "g.__kwdefaults__ = {'c': 3, 'b': 2}")):
        case = Case(f"defaults by keyword {k}", program, change)
        plain, _ = run_apart(case, compile=False)
        found, _ = run_apart(case, compile=True)
        assert found == plain

    def g(x, *, a=2.0):
        return x * a

    def f(x):
        return g(x)

    compiled = jm.compile(f)
    code.prepare()
    for _ in range(4):
        compiled(np.ones(8))
    assert compiled.jit.frame.native is not None


def test_named_tuples_are_checked_in_compiled_code() -> None:
    program = (
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\np = P(1.0, 2.0)\ndef f(x): return x * p.b"
    )
    for k, change in enumerate(
        ("p = P(1.0, 3.0)", "P.__getitem__ = lambda s, i: 9.0", "P.b = property(lambda s: 9.0)")
    ):
        case = Case(f"named tuple in compiled code {k}", program, change)
        plain, _ = run_apart(case, compile=False)
        found, _ = run_apart(case, compile=True)
        assert found == plain

    def f(x, p):
        return x * p.b

    P = namedtuple("P", "a b")
    compiled = jm.compile(f)
    code.prepare()
    for _ in range(4):
        compiled(np.ones(8), P(1.0, 2.0))
    assert compiled.jit.frame.native is not None
