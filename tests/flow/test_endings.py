"""Branches whose ways differ in what they return and change: each is part of the graph to the end of the function."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import explained, same_everywhere

BEFORE = """
x = np.array([1.5, -2.25, 3.0]); z = np.ones(3); log = []; table = {'n': 0, 'old': None}; level = 0
class O:
    best = None
    count = 0
o = O()
def helper(v):
    return v * 2 if v.size > 2 else v
def f(x, c=0.0):
"""
CALLS = (
    *("f(x)", "f(x, 100.0)", "f(-x)", "f(x)", "f(x * 0, -1.0)", "f(x[::-1], 2.0)", "f(np.zeros(0))", "f(z)"),
    *("log", "table", "vars(o)", "level", "x", "z"),
)
TEST = "if x.sum() > c:\n"
CAPTURED = {
    "None or an array": TEST + "    return x * 2\nreturn None",
    "a float of either class": TEST + "    r = x.mean()\nelse:\n    r = 0.0\nreturn r * 2, type(r).__name__",
    "tuples of other lengths": TEST + "    return x + 1, x.sum()\nreturn x, 1, 'no'",
    "texts": TEST
    + "    s = 'plus'\nelif x.sum() < c:\n    s = 'minus'\nelse:\n    s = 'zero'\nreturn s, f'{s} {x.sum():.2f}'",
    "a dict or a list": TEST + "    return {'x': x - 1}\nreturn [x, x * 2]",
    "None first": "m = None\n" + TEST + "    m = x * 2\nreturn x if m is None else m",
    "a list is appended to": TEST + "    log.append(x.sum())\nreturn len(log)",
    "appended to on both ways": "log.append('in')\n"
    + TEST
    + "    log.append(x * 2)\nelse:\n    log.extend([None, 1])\nreturn x",
    "a list of its own": "out = [x]\n" + TEST + "    out.append(x + 1)\nout.append(0)\nreturn out, out",
    "lists in lists": "a = []\nb = [a, a]\n" + TEST + "    a.append(1)\nreturn b, a, b[0] is b[1]",
    "an item": TEST
    + "    table['n'] += 1\n    table['new'] = x.max()\nelse:\n    table.pop('new', None)\nreturn table",
    "an attribute": TEST + "    o.best = x.max()\n    o.count += 1\nreturn o.count",
    "an attribute read again": "o.best = x\n" + TEST + "    o.best = None\nreturn o.best",
    "an attribute is deleted": "o.gone = 1\n" + TEST + "    del o.gone\nreturn hasattr(o, 'gone')",
    "a global": "global level\n" + TEST + "    level += 1\nreturn x + level",
    "prints": "print('first', x)\n"
    + TEST
    + "    print('more', x.sum())\nelse:\n    print('less')\nprint('last')\nreturn x * 2",
    "the argument is written": TEST + "    x += 1\n    log.append(x.copy())\nelse:\n    x[0] = 7\nreturn x",
    "written before and after": "y = x * 2\ny[0] = 1\n" + TEST + "    y += 5\nlog.append(y)\nreturn y, y[0]",
    "views of the argument": TEST + "    return x[1:], x[::-1], x\nreturn x.reshape(-1, 1), x.T, None",
    "views of a result": TEST + "    y = x * 2\n    return y, y[1:], y[::2]\nreturn x[::2] + 1",
    "one object twice": TEST + "    y = x + 1\n    t = (y, [y])\n    return t, y, t\nreturn z, z, [z]",
    "three branches": "r = []\n"
    + TEST
    + "    r.append('a')\nif x.max() > 1:\n    r.append(x)\nif x.min() < 0:\n    r.append(0)\nreturn r",
    "a branch in a branch": TEST + "    if x.max() > 2:\n        return 'big'\n    log.append(1)\nreturn x",
    "in a known branch": "y = x\nif c < 1000:\n    if x.sum() > c:\n        return None\n    y = x - 1\nreturn y * 2",
    "early return": "if not x.any():\n    return None\ny = x / np.abs(x).max()\nreturn y[y > 0], y.sum()",
    "a selection": TEST + "    x = x[x > 0]\n    log.append(len(x))\nreturn x.sum(), x",
    "a join inside": TEST + "    log.append(0)\nif x.max() > 1:\n    y = x * 2\nelse:\n    y = x * 3\nreturn y + 1",
    "a loop inside": TEST + "    return None\nwhile x.max() > 1:\n    x = x / 2\nreturn x",
    "an exception on one way": TEST + "    log.append(1)\n    return x\nraise ValueError(f'{x.sum():.1f}')",
    "an exception after an effect": "log.append(x.sum())\n"
    + TEST
    + "    return None\nlog.append(1)\nraise KeyError('small')",
    "an exception caught": TEST
    + "    try:\n        raise ValueError('big')\n    except ValueError as e:\n        return str(e)\nreturn x",
    "an index out of range": "y = [x]\n" + TEST + "    y.append(x)\nreturn y[1]",
    "a name that one way has": TEST + "    y = 'set'\ntry:\n    return y\nexcept NameError:\n    return x",
    "a function made on one way": TEST + "    g = lambda v: v + x\nelse:\n    g = helper\nreturn g(x * 2)",
    "a class of one's own": TEST + "    r = O()\n    r.best = x\nelse:\n    r = o\nreturn r.count, r.best",
    "of a closure": "n = 0\ndef up():\n    nonlocal n\n    n += 1\n" + TEST + "    up()\nreturn n, x * n",
    "a set and a dict view": "s = {1, 2}\n" + TEST + "    s.add(3)\nreturn sorted(s), list(table)",
    "a list from outside first seen inside": TEST + "    log.append(len(log))\nelse:\n    log.clear()\nreturn x",
    "a conditional expression": "y = x * 2 if x.sum() > c else None\nreturn y",
    "a conditional expression returned": "return x * 2 if x.sum() > c else 'no'",
    "random numbers": "rng = np.random.default_rng(1)\n"
    + TEST
    + "    return rng.normal(size=2)\nreturn rng.random(), 1",
    "no else, falls off the end": TEST + "    log.append(x)",
}
SPLIT = {
    "a break in one way": (TEST + "    jm.graph_break()\nreturn x", 2),
    "in a loop": ("for i in (1, 2):\n    if x.sum() > i:\n        log.append(i)\nreturn x", 1),
    "too many ways": (
        "r = []\n" + "".join(f"if x.sum() > {i}:\n    r.append({i})\n" for i in range(5)) + "return r",
        2,
    ),
    "a view of what is made before": ("y = x * 2\n" + TEST + "    return y[1:], y\nreturn None", 1),
}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_each_way_does_what_it_does_in_plain_python(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize(("body", "breaks"), SPLIT.values(), ids=SPLIT)
def test_other_programs_are_split(body: str, breaks: int) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == breaks


@pytest.mark.parametrize("name", ["None or an array", "prints", "an attribute", "a branch in a branch", "a selection"])
def test_the_whole_function_is_one_graph(name: str) -> None:
    same_everywhere(program(CAPTURED[name]), CALLS, fullgraph=True)


def test_the_derivative_is_that_of_the_way_taken() -> None:
    log: list[float] = []

    def loss(x):
        if x.sum() > 0:
            log.append(1.0)
            return (x**2).sum()
        print("negative")
        return x.sum() * 3

    for _ in range(2):
        assert jm.grad(loss)(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert jm.grad(loss)(np.array([-1.0, -2.0])).tolist() == [3.0, 3.0]
    assert log == [1.0, 1.0]


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = 1.0\n    if x.sum() > 0: return x[1:]\n    return 't'",
        "v = x[1:]\n    x += 1\n    if x.sum() > 0: return v, 1\n    return v",
        "np.negative(x, x)\n    if z.sum() > 0: return x[::-1]\n    return (x,)",
        "if z.sum() > 0:\n        x[0] = 3\n        return x.T\n    return None",
        "x[0] = 1.0\n    y = x if x.sum() > 0 else x * 2\n    return y",
        "x[0] = 1.0\n    if x.sum() > 0: y = x[1:]\n    else: y = x[:-1]\n    return y, x",
        "z[0] = x[0]\n    if z.sum() > 0: return [x[1:], z], 'a'\n    return x",
    ],
)
def test_a_view_of_an_array_that_was_written_shares_its_memory(body: str) -> None:
    text = f"x = np.array([1.5, -2.25, 3.0]); z = np.ones(3)\ndef f(x, z):\n    {body}"
    calls = ["f(x, z)", "f(-x, z)", "f(x, -z)", "f(x, x)", "f(x, z)"]
    same_everywhere(text, [f"r{n} = {call}" for n, call in enumerate(calls)])
