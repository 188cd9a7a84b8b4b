"""The sentences that a person reads after a recompile, one row for each cause: what changed, then, now, and advice."""

from __future__ import annotations

import contextlib
import linecache
import re
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

OBJECTS = """
import collections, enum
class A: k = 1.0
a = A()
class E(enum.Enum):
    ON = 1
    OFF = 2
P = collections.namedtuple("P", "u v")
class M(jm.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", np.ones(3))
    def forward(self, x): return x * self.b
m = M()
def g(x): return x * 2
"""

# cause, program, what the second call is, the guard with its values, the advice
TYPES = "values of each type are compiled on their own: keep {} at one type"
FEW = "every value of {} is compiled on its own: call it with few different ones"
ONE_SIZE = "sizes 0 and 1 are compiled on their own: size 1 is stretched where arrays meet, size 0 computes nothing"
ROWS = [
    ("a class attribute goes", "def f(x): return x * getattr(a, 'k', 2.0)", "del A.k; f(x)",
     "A.k was 1.0, is absent", "pass it as an argument, or keep it at one value"),
    ("a class attribute of an instance", "def f(x): return x * a.k", "A.k = 2.0; f(x)",
     "A.k was 1.0, is 2.0", "pass it as an argument, or keep it at one value"),
    ("a class attribute", "def f(x): return x * A.k", "A.k = 2.0; f(x)",
     "A.k was 1.0, is 2.0", "pass it as an argument, or keep it at one value"),
    ("keys of an OrderedDict", "p = collections.OrderedDict(u=1.0)\ndef f(x): return x * p['u']",
     "p['v'] = 2.0; f(x)", "keys of p was ['u'], is ['u', 'v']", "keep the same keys"),
    ("their order", "p = collections.OrderedDict(u=1.0, v=2.0)\ndef f(x):\n    for k in p: x = x * p[k]\n    return x",
     "p.move_to_end('u'); f(x)", "order of the keys of p was ['u', 'v'], is ['v', 'u']", "fill the dict in one order"),
    ("a defaultdict", "p = collections.defaultdict(float, u=1.0)\ndef f(x): return x * p['u']", "p['v'] = 2.0; f(x)",
     "keys of p was ['u'], is ['u', 'v']", "keep the same keys"),
    ("a deque", "p = collections.deque([1.0])\ndef f(x): return x * p[0]", "p.append(2.0); f(x)",
     "p was a deque of 1, is a deque of 2", "pass containers of one length, or one array"),
    ("a named tuple", "p = (1.0, 2.0)\ndef f(x): return x * p[0]", "p = P(1.0, 2.0); f(x)",
     "p was a tuple of 2, is a P of 2", "pass containers of one length, or one array"),
    ("an enum member", "e = E.ON\ndef f(x): return x * (2 if e is E.ON else 3)", "e = E.OFF; f(x)",
     "e was E.ON, is E.OFF", "give e its value once, before the first call"),
    ("an enum member that is passed", "def f(x, e=E.ON): return x * (2 if e is E.ON else 3)", "f(x, E.OFF)",
     "e was E.ON, is E.OFF", FEW.format("e")),
    ("two arrays become one", "def f(x, y=X1):\n    x += y\n    return x - y", "f(x, x)",
     "x is y was False (two objects), is True (the same object)", "pass different arrays, or copies"),
    ("two of three become one", "def f(x, y=X1, z=X2):\n    x += y\n    return x - z", "f(x, X2, X2)",
     "number of objects among x, y, z was 3, is 2 (y and z are one)", "pass different arrays, or copies"),
    ("one array becomes two", "def f(x, y=None):\n    if y is x: x = x + 1\n    return x * 2",
     "r(f, x, x); f(x, x.copy())", "x is y was True (one object), is False (two objects)",
     "pass the same object in both places, or different ones, at every call"),
    ("a value after a break", "def f(x):\n    y = g(x)\n    jm.graph_break()\n    return y + 1", "f(x.astype('f4'))",
     "y.dtype was float64, is float32", "pass arrays of one dtype and memory order"),
    ("code of a helper", "def f(x): return g(x)", "g.__code__ = (lambda x: x * 3).__code__; f(x)",
     "g was g as compiled, is g with other code", "define g once, before the first call"),
    ("dtype of a buffer", "def f(x): return m(x)", "m.b = np.ones(3, 'f4'); f(x)",
     "m.b was array of float64, shape (3,), is array of float32, shape (3,)",
     "give m.b its value once, before the first call"),
    ("a number becomes an array", "def f(x, k=2.0): return x * k", "f(x, np.ones(3))",
     "k was 2.0, is array of float64, shape (3,)", TYPES.format("k")),
    ("None becomes an array", "def f(x, w=None): return x if w is None else x * w", "f(x, np.ones(3))",
     "w was None, is array of float64, shape (3,)", TYPES.format("w")),
    ("a dtype", "def f(x, kind=np.float64): return x.astype(kind)", "f(x, np.float32)",
     "kind was float64, is float32", FEW.format("kind")),
    ("size 0", "def f(x): return x * 2", "f(x[:0])", "x.shape was (2, 3), is (0, 3)", ONE_SIZE),
    ("size 1", "def f(x): return x * 2", "f(x[:1])", "x.shape was (2, 3), is (1, 3)", ONE_SIZE),
    ("a size", "def f(x): return x * 2", "f(np.ones((4, 3)))", "x.shape was (2, 3), is (4, 3)",
     "sizes that change become free by themselves; jm.mark_dynamic(x, axis) says so in advance"),
    ("a size that is marked", "jm.mark_static(x, 0)\ndef f(x): return x * 2", "f(np.ones((4, 3)))",
     "x.shape was (2, 3), is (4, 3)",
     "jm.mark_static keeps axis 0 of x at one size: without it, sizes that change become free"),
    ("the number of axes", "def f(x): return x * 2", "f(x[0])", "x.shape was (2, 3), is (3,)",
     "pass arrays with one number of axes"),
    ("memory order", "def f(x): return x * 2", "f(x[::-1])", "memory order of x was C, is strided",
     "pass arrays of one dtype and memory order"),
    ("the axis that runs backwards", "x = x[::-1]\ndef f(x): return x * 2", "f(np.ones((2, 3))[:, ::-1])",
     "axis order of x was 0 (backwards), 1, is 0, 1 (backwards)", "pass arrays of one dtype and memory order"),
    ("a repeated axis", "x = x[::-1]\ndef f(x): return x * 2", "f(np.broadcast_to(np.ones(3), (2, 3)))",
     "axis order of x was 0 (backwards), 1, is 1, 0 (repeated)", "pass arrays of one dtype and memory order"),
    ("a list for an array", "def f(x): return np.asarray(x) * 2", "f([1.0, 2.0])",
     "x.dtype was float64, is a list instead of an array", "pass arrays of one dtype and memory order"),
    ("a number that is no word", "def f(x, n=2): return x * n", "r(f, x, 3); f(x, 2**70)",
     "type(n) was int, is an int of more than 64 bits", "pass values of one type"),
    ("a number that becomes a variable", "def f(x, n=2): return x * n", "f(x, 3)", "n was 2, is 3",
     "nothing to do: n is a variable from now on, one compile serves many values of it"),
    ("a float that becomes a variable", "def f(x, k=2.0): return x * k", "f(x, 3.0)", "k was 2.0, is 3.0",
     "nothing to do: k is a variable from now on, one compile serves many values of it"),
    ("a number that becomes 1", "def f(x, n=2): return x * n", "f(x, 1)", "n was 2, is 1",
     "nothing to do: n as 0 or 1 is always compiled on its own"),
    ("a complex number that becomes a variable", "def f(x, c=2j): return x * c", "f(x, 3j)", "c was 2j, is 3j",
     "nothing to do: c is a variable from now on, one compile serves many values of it"),
    ("a number that stays a constant", "def f(x, n=2): return x * [1, 2, 3, 4][n]", "f(x, 3)", "n was 2, is 3",
     FEW.format("n")),
    ("a global", "k = 2.0\ndef f(x): return x * k", "k = 3.0; f(x)", "k was 2.0, is 3.0",
     "pass it as an argument, or keep it at one value"),
    ("a text", "def f(x, mode='u'): return x if mode == 'u' else -x", "f(x, 'v')", "mode was 'u', is 'v'",
     FEW.format("mode")),
    ("a builtin that is shadowed", "def f(x): return x * len(x)", "len = lambda v: 3; f(x)",
     "a global named len was absent, is <lambda>", "do not define a global called len"),
    ("read-only", "def f(x):\n    x += 1\n    return x", "x.flags.writeable = False; r(f, x)",
     "x.flags.writeable was writeable, is read-only", "pass an array that may be written"),
]  # fmt: skip


def _quietly(function: Any, *values: Any) -> None:
    with contextlib.suppress(ValueError):
        function(*values)


@pytest.mark.parametrize(("cause", "program", "step", "change", "advice"), ROWS, ids=[row[0] for row in ROWS])
def test_the_sentence_for_each_cause(cause: str, program: str, step: str, change: str, advice: str) -> None:
    filename = f"<sentence {cause}>"
    text = OBJECTS + program + "\n"
    names: dict[str, Any] = {"np": np, "jm": jm, "x": np.arange(6.0).reshape(2, 3), "__name__": "__main__"}
    names |= {"X1": np.ones((2, 3)), "X2": np.ones((2, 3)) * 2, "r": _quietly}
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), names)
    names["f"] = jm.compile(names["f"], backend="eager")
    names["f"](names["x"])
    exec(step, names)
    last = jm.recompiles(names["f"])[-1]
    lines = str(last).split("\n")
    said = re.sub(r" \((read at )?[^()]+, line \d+\)", "", lines[0])  # the line that calls, and the one that has read
    assert said == f"call {last.call}: {change}  (+{last.cost_ns / 1e9:.2f} s)"
    assert str(last.location) in lines[0]
    assert last.read_at is None or last.read_at.filename == filename
    assert lines[1] == f"  try: {advice}"


def test_a_limit_of_no_entries_says_so() -> None:
    @jm.compile(backend="eager")
    def f(x: Any) -> Any:
        return x * 2

    with jm.configure(entry_limit=0):
        assert f(np.ones(2)).tolist() == [2.0, 2.0]
    told = f.jit.frame.record.fallbacks[-1]
    assert told.reason == "entry_limit is 0: nothing is compiled"
    assert told.hint == "raise the limit: jm.configure(entry_limit=1)"
