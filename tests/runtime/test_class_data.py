"""Class attributes that the function itself replaces are data: read at each call, not compiled in."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

PROGRAMS = {
    "a sum": "class A: t = 0\na = A()\ndef f(x):\n    A.t += x.sum()\n    return A.t",
    "a count": "class A: t = 0\na = A()\ndef f(x):\n    A.t += 1\n    return x * A.t",
    "a float": "class A: t = 0.5\na = A()\ndef f(x):\n    A.t *= 1.5\n    return x * A.t",
    "an array": "class A: t = np.zeros(3)\na = A()\ndef f(x):\n    A.t = A.t + x\n    return A.t",
    "None at first": "class A: t = None\na = A()\ndef f(x):\n    old = A.t\n    A.t = x.copy()\n"
    "    return x if old is None else x - old",
    "in a method": "class A:\n    t = 0\n    def add(self, x):\n        A.t += x.sum()\n        return A.t\n"
    "a = A()\ndef f(x): return a.add(x)",
    "read by an instance": "class A:\n    t = 0\n    def add(self, x):\n        A.t = self.t + x.sum()\n"
    "        return self.t\na = A()\ndef f(x): return a.add(x)",
    "in a class method": "class A:\n    t = 0\n    @classmethod\n    def add(cls, x):\n        cls.t += x.sum()\n"
    "        return cls.t\na = A()\ndef f(x): return A.add(x)",
    "through a subclass": "class A: t = 0\nclass B(A): pass\na = B()\ndef f(x):\n    A.t = B.t + x.sum()\n"
    "    return B.t",
    "by an instance of a subclass": "class A:\n    t = 0\n    def add(self, x):\n        A.t = self.t + x.sum()\n"
    "        return self.t\nclass B(A): pass\na = B()\ndef f(x): return a.add(x)",
    "an array through a subclass": "class A: t = np.zeros(3)\nclass B(A): pass\na = B()\ndef f(x):\n"
    "    A.t = B.t + x\n    return a.t",
    "of an instance's class": "class A:\n    t = 0\n    def add(self, x):\n        type(self).t += x.sum()\n"
    "        return self.t\na = A()\ndef f(x): return a.add(x)",
}


def _names(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {"np": np, "__name__": "__main__"}
    linecache.cache["<class data>"] = (len(program), None, program.splitlines(True), "<class data>")
    exec(compile(program, "<class data>", "exec"), names)
    return names


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_each_call_replaces_is_compiled_a_few_times(program: str) -> None:
    plain, compiled = _names(program), _names(program)
    f = jm.compile(compiled["f"])
    for k in range(12):
        x = np.arange(3.0) + k
        expected, result = plain["f"](x), f(x)
        assert type(result) is type(expected)
        np.testing.assert_array_equal(result, expected)
        assert type(compiled["A"].t) is type(plain["A"].t)
        np.testing.assert_array_equal(compiled["A"].t, plain["A"].t)
    assert 1 <= f.jit.compiles <= 3, [str(r) for r in jm.recompiles(f)]


@pytest.mark.parametrize("change", ["A.t = 7.0", "A.t = 7", "A.t = np.ones(3)", "a.t = 5.0", "del A.t",
                                    "A.t = property(lambda self: 4.0)"])  # fmt: skip
@pytest.mark.parametrize("name", ["a sum", "an array", "read by an instance", "of an instance's class",
                                  "through a subclass", "by an instance of a subclass"])  # fmt: skip
def test_a_change_from_outside_counts(name: str, change: str) -> None:
    follows(name, change)


@pytest.mark.parametrize(
    "change",
    [
        *("B.t = 7.0", "B.t = A.t", "B.t = 7.0; del B.t", "class C: t = 3.0\nB.__bases__ = (C,)"),
        *("A, B.t = B, 5.0", "type(a).t = np.ones(3)", "a.t = 2.0"),
    ],
)
@pytest.mark.parametrize("name", ["through a subclass", "by an instance of a subclass", "an array through a subclass"])
def test_a_subclass_that_gets_its_own_counts(name: str, change: str) -> None:
    follows(name, change)


def follows(name: str, change: str) -> None:
    """The answers after the change are plain Python's."""
    plain, compiled = _names(PROGRAMS[name]), _names(PROGRAMS[name])
    f = jm.compile(compiled["f"])
    outcomes = []
    for names, function in ((plain, plain["f"]), (compiled, f)):
        found: list[Any] = [function(np.arange(3.0) + k) for k in range(4)]
        exec(change, names)
        for _ in range(3):
            try:
                found.append(function(np.arange(3.0)))
            except Exception as error:  # whatever plain NumPy raises
                found.append((type(error), str(error)))
        outcomes.append(found)
    for expected, result in zip(*outcomes, strict=True):
        assert type(result) is type(expected)
        np.testing.assert_equal(result, expected)
