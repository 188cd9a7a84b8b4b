"""``:=`` in loops, and loops that bind globals and variables of an outer function: one kernel, Python's order."""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph.region_call import RegionCall
from jitmagic.magic.rounds import may_be_kernel
from tests.loops.outcomes import define, loop_calls, outcome, seen

HEAD = "def f(x, n):\n    s, k = 0.0, 0\n"
NAMED = {
    "test of a while": "while (d := abs(s - x[k]) * 0.9) > 0.05 and k < n:\n    s = d\n    k += 1",
    "test of a while, then a break": "while (d := x[k] * 2) > 0.01:\n    k += 1\n    if k == n:\n        break",
    "test of a while with continue": (
        "while (k := k + 1) < n:\n    if x[k] > 0.5:\n        continue\n    s += x[k]\nd = k"
    ),
    "after and": "while k < n and (d := x[k]) < 0.99:\n    s += d\n    k += 1",
    "after or": "for v in x:\n    if v > 0.7 or (d := v * v) > 0.2:\n        s += v\n    d = v",
    "both sides of and": "for v in x:\n    if (d := v * 2) > 0.5 and (e := d * d) < 2:\n        s += e\n    e = 1.0",
    "test of an if": "for v in x:\n    if (d := v * 2) > 1.0:\n        s += d",
    "test of an elif": (
        "for v in x:\n    if v < 0.2:\n        s += 1\n    elif (d := v * 3) > 1.5:\n        s -= d\n    d = v"
    ),
    "read before": "d = 2.0\nfor v in x:\n    s += d + (d := v) * d",
    "twice": "for v in x:\n    s += (d := v) + (d := d * 2) * d",
    "target": "for v in x:\n    s += v * (s := v * 0.5)",
    "index": "for i in range(n):\n    s += x[(k := k + 1)] * k\nd = k",
    "index of a target": "k = -1\nfor i in range(n):\n    x[(k := k + 1)] = i * k\nd = k",
    "index and value": "k = -1\nfor i in range(n):\n    x[(k := k + 1)] += (d := i * 0.5) + k",
    "value before target": "for i in range(n - 1):\n    x[i] = (k := i + 1) * 2.0\nd = k",
    "either way": "for v in x:\n    s += (d := v) if v > 0.5 else -(d := v * 2)",
    "test of either": "for v in x:\n    s += d if (d := v - 0.5) > 0 else -d",
    "chain": "for v in x:\n    k += 0.2 < (d := v * v) < 0.6\nd = v",
    "chain that ends early": "d = 5.0\nfor v in x:\n    k += v < 0.5 < (d := v * 4)",
    "argument": "for v in x:\n    s += max((d := v * 2), 1.0) * d",
    "statement": "for v in x:\n    (d := v * 2)\n    s += d",
    "nested": "for v in x:\n    s += (d := (e := v * 2) + 1) * e",
    "head": "for i in range(d := n // 2):\n    s += x[i]",
    "kinds": "d = 0\nfor v in x:\n    s += d\n    if (d := v if v > 0.5 else 1) == 1:\n        k += 1",
    "index error": "for i in range(n):\n    s += x[(k := k + 40)]\nd = k",
    "sum": "d = 0.0\ns = sum((d := d * 0.5 + v) for v in x)",
    "condition of a sum": "d = 0.0\ns = sum(d for v in x if (d := v * 2) > 1)",
    "any": "d = 0.0\nk = any((d := v) > 0.9 for v in x)",
    "list": "d = 0.0\ny = np.array([d := d + v for v in x])\ns = y[-1] + y[3]",
    "condition of a list": "y = np.array([d for v in x if (d := v * 2) > 1])\ns = y.sum()\nd = 0",
}


def _function(body: str) -> Any:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return define(f"{HEAD}{lines}    return s, k, d\n", "loop of names", np=np)


@pytest.mark.parametrize("body", NAMED.values(), ids=NAMED.keys())
def test_names_bound_in_expressions_have_pythons_order(body: str) -> None:
    function = _function(body)
    compiled = jm.compile(function)
    rng = np.random.default_rng(3)
    for size in (60, 60, 9, 61):
        given = [rng.random(size), size - 2]
        assert outcome(compiled, given) == outcome(function, given)
    assert any(isinstance(call, RegionCall) for call in loop_calls(compiled))


def test_a_comprehension_does_not_bind_before_what_is_read_before_it() -> None:
    """Loops over elements run before the rest of their statement: not where that would show."""
    for body in (
        "d = 3.0\nfor i in range(n):\n    s = d + sum((d := d * 0.5 + v) for v in x)",
        "d = 3.0\nfor i in range(n):\n    s = sum((d := d * 0.5 + v) for v in x) if i > 3 else d",
    ):
        function = _function(body)
        given = [np.linspace(0, 1, 20), 7]
        assert outcome(jm.compile(function), given) == outcome(function, given)


def test_a_loop_of_a_cell_may_bind_names_in_its_test() -> None:
    """It may be cut into pieces as any other, and go on as a kernel."""
    (loop,) = ast.parse("while (d := s - 1) > 0:\n    s = d").body
    assert may_be_kernel(loop)


MODULE = """
S = {start}
N = 0
def other(v):
    return v * S
def f(x, n):
    {first}
    for i in range(n):
        {body}
    return S, N
"""
GLOBALS = {
    "sum": ("global S", "S += x[i]"),
    "count": ("global N", "N += x[i] > 0.5"),
    "two": ("global S, N", "S = S * 0.5 + x[i]; N = N + 1"),
    "writes too": ("global S", "S += x[i]; x[i] = S"),
    "test": ("global N", "N += i if N < 100 else -1"),
    "read by another function": ("global S", "S = S + other(x[i]) * 1e-3"),
    "index error": ("global S", "S += x[i + 5]"),
    "new": ("global S, Z", "Z = x[i]; S += Z"),
}


@pytest.mark.parametrize("start", ["0.0", "0", "np.float64(2)"])
@pytest.mark.parametrize(("first", "body"), GLOBALS.values(), ids=GLOBALS.keys())
def test_globals_are_carried_by_a_loop(first: str, body: str, start: str) -> None:
    """And hold after each call what plain Python leaves in them, also when something is raised."""
    text = MODULE.format(start=start, first=first, body=body)
    plain, compiled = _module(text), _module(text)
    function = jm.compile(compiled["f"])
    rng = np.random.default_rng(5)
    for size in (40, 40, 41, 30):
        given = [rng.random(size), size]
        assert outcome(function, copy.deepcopy(given)) == outcome(plain["f"], given)
        assert _numbers(compiled) == _numbers(plain)
    if "other" not in body:
        assert any(isinstance(call, RegionCall) for call in loop_calls(function))


def _module(text: str) -> dict[str, Any]:
    """The namespace of a module with this text."""
    scope: dict[str, Any] = define(text, "loop of globals", np=np).__globals__
    return scope


def _numbers(scope: dict[str, Any]) -> dict[str, Any]:
    return {name: seen(scope[name]) for name in ("S", "N", "Z") if name in scope}


OUTER = {
    "own variable": "total += x[i]",
    "two": "total = total * 0.5 + x[i]; count += 1",
    "writes too": "x[i] = total; total += i",
    "index error": "total += x[i + 5]",
}


@pytest.mark.parametrize("body", OUTER.values(), ids=OUTER.keys())
def test_variables_of_an_outer_function_are_carried_by_a_loop(body: str) -> None:
    """Those that two inner functions share; a call that raises leaves what it did before."""
    text = f"""
def make():
    total, count = 0, 0
    def g(x, n):
        nonlocal total, count
        for i in range(n):
            {body}
        return total
    def look():
        return total, count
    return g, look
def f():
    return make()
"""
    plain, look_plain = define(text, "loop of cells")()
    original, look = define(text, "loop of cells")()
    compiled = jm.compile(original)
    rng = np.random.default_rng(5)
    for size in (40, 40, 41, 30):
        given = [rng.random(size), size]
        assert outcome(compiled, given) == outcome(plain, given)
        assert seen(look()) == seen(look_plain())
    assert any(isinstance(call, RegionCall) for call in loop_calls(compiled))


def test_a_function_made_and_called_here_changes_a_variable_of_this_one() -> None:
    """The loop is in the inner function; the outer one reads the variable afterwards."""
    text = """
def f(x):
    total = 0
    def g():
        nonlocal total
        last = 0.0
        for i in range(len(x)):
            total += x[i]
            last = x[i]
        return last
    return g(), total, g(), total
"""
    function = define(text, "loop of cells")
    compiled = jm.compile(function)
    for size in (30, 30, 31):
        given = [np.arange(size) * 0.5]
        assert outcome(compiled, given) == outcome(function, given)
    assert any(isinstance(call, RegionCall) for call in loop_calls(compiled))
