"""Random programs over a small heap of objects, lists, dicts and arrays that are rebound, changed and aliased.

A function reads and writes random places; between its calls other statements change, share and replace what is
there. Compiled and plain runs must leave the same heap, with the same sharing, and give the same results.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.conformance.programs import assert_same, plain, run

HEAP = """
class B:
    c = 2.0
    cl = [1.0, 2.0]
class A(B):
    pass
a, b = A(), A()
a.p, a.q, b.p, b.q = 1, 2.5, 3, np.ones(3)
x, y, z = np.arange(3.0), np.ones(3), np.zeros(3)
n, k = 4, 0.5
l, m = [1.0, x], [y, 2]
a.l, b.l = [z, 1.5, 2], [1, 2.0]
d = {"u": 1.0, "v": y, "l": [3.0, x]}
a.o, b.o = b, a
"""
NUMBERS = ["a.p", "a.q", "b.p", "b.q", "x", "y", "z", "n", "k", "A.c", "a.c", "d['u']", "d['v']", "a.o.p", "b.o.q"]
LISTS = ["l", "m", "a.l", "b.l", "d['l']", "A.cl", "a.o.l"]
OBJECTS = ["a", "b", "a.o", "b.o"]
WRITTEN = ["a.p", "a.q", "b.p", "n", "k", "x", "d['u']", "d['v']", "a.o.p", "b.o.q"]
ARRAYS = ["x", "y", "z", "b.q"]

Rule = Callable[[random.Random], str]


def number(rng: random.Random) -> str:
    return rng.choice(
        [rng.choice(NUMBERS), f"{rng.choice(LISTS)}[{rng.choice([0, 0, 1, -1])}]", str(rng.randint(-2, 5))]
    )


def expression(rng: random.Random) -> str:
    forms = ["{} + {}", "{} * {}", "{} - {}", "np.maximum({}, {})", "np.sum({}) + {}", "({} if {} is 1 else 2)"]
    return rng.choice(forms[:5]).format(number(rng), number(rng))


INSIDE: list[Rule] = [
    lambda rng: f"out.append({expression(rng)})",
    lambda rng: f"out.append({expression(rng)})",
    lambda rng: f"out.append({rng.choice(LISTS)} is {rng.choice(LISTS)})",
    lambda rng: f"out.append({rng.choice(OBJECTS)} is {rng.choice(OBJECTS)})",
    lambda rng: f"out.append(len({rng.choice(LISTS)}))",
    lambda rng: f"out.append({rng.choice(LISTS)})",
    lambda rng: f"{rng.choice(WRITTEN)} = {expression(rng)}",
    lambda rng: f"{rng.choice(LISTS)}.append({number(rng)})",
    lambda rng: f"{rng.choice(LISTS)}[0] = {expression(rng)}",
    lambda rng: f"if len({(name := rng.choice(LISTS))}) > 2: out.append({name}.pop())",
    lambda rng: f"if type({(name := rng.choice(ARRAYS))}) is np.ndarray: {name}[1:] += {name}[:-1]",
    lambda rng: f"for v in {rng.choice(LISTS)}: out.append(v * 2)",
    lambda rng: "out.append([*d])",
    lambda rng: f"{rng.choice(['a.l', 'b.l', 'l'])} = {rng.choice(LISTS)}",
    lambda rng: f"a.o = {rng.choice(OBJECTS)}",
    lambda rng: f"d['w'] = {number(rng)}",
]
BETWEEN: list[Rule] = [
    *INSIDE[6:10],
    lambda rng: f"{rng.choice(['l', 'm', 'a.l', 'b.l', 'A.cl'])} = {rng.choice(LISTS)}",
    lambda rng: f"{rng.choice(['l', 'm', 'a.l', 'b.l'])} = [*{rng.choice(LISTS)}]",
    lambda rng: rng.choice(["a, b = b, a", "a.o = a", "b = a", "a = A(); a.__dict__.update(b.__dict__)", "b.o = a"]),
    lambda rng: rng.choice(
        ["A.c = 5.0", "B.c = 7.0", "a.c = 9.0", "b.c = x", "a.__dict__.pop('c', None)", "B.cl = [4.0, y]"]
    ),
    lambda rng: (
        f"{rng.choice(ARRAYS)} = {rng.choice(['x', 'y', 'z', 'x[:2]', 'np.ones(4)', 'np.ones(3, int)', 'y[::-1]'])}"
    ),
    lambda rng: (
        f"{rng.choice(NUMBERS)} = {rng.choice(['1', '2', '2.0', 'True', 'x', 'np.float64(3)', '0', '7', '1.5'])}"
    ),
    lambda rng: rng.choice(["d = dict(reversed(d.items()))", "d['new'] = 1", "d.pop('new', None)", "d = dict(d)"]),
    lambda rng: "pass",
]


NESTS: list[Rule] = [
    lambda rng: f"if np.sum({number(rng)}) > 2:",
    lambda rng: f"if {number(rng)} is not None and len({rng.choice(LISTS)}) < 9:",
    lambda rng: f"for v in {rng.choice(LISTS)}[:2]:",
    lambda rng: "for i in range(2):",
    lambda rng: "with np.errstate(all='ignore'):",
    lambda rng: "for w in (1, 2.0):",
]


def block(rng: random.Random, depth: int, broken: bool) -> list[str]:
    """Statements; in broken programs also graph breaks, at any depth."""
    lines: list[str] = []
    for _ in range(rng.randint(2, 5) if depth == 0 else rng.randint(1, 2)):
        kind = rng.random()
        if kind < 0.25 and depth < 2:
            lines += [rng.choice(NESTS)(rng), *(f"    {line}" for line in block(rng, depth + 1, broken))]
        elif kind < 0.35 and depth < 2:
            inner = [f"    {line}" for line in block(rng, depth + 1, broken)]
            lines += ["try:", *inner, "except (IndexError, ValueError, KeyError):", "    out.append('caught')"]
        elif kind < 0.5 and broken:
            lines.append(
                rng.choice(["jm.graph_break()", f"out.append(float(np.sum({number(rng)})))", "print(len(out))"])
            )
        else:
            lines.append(rng.choice(INSIDE)(rng))
    return lines


def program(rng: random.Random, broken: bool = False) -> tuple[str, list[str]]:
    head = ["global a, b, l, m, n, k, x, y, z, d", "out = []"]
    lines = "\n".join(f"    {line}" for line in [*head, *block(rng, 0, broken), "return out"])
    calls = ["out = []", "f()"]
    for _ in range(6):
        calls += [rng.choice(BETWEEN)(rng) for _ in range(rng.randint(0, 2))] + ["f()"]
    guarded = [c if c == "f()" else f"try:\n    {c}\nexcept Exception: pass" for c in calls]
    return f"{HEAP}\ndef f():\n{lines}\n", guarded


@pytest.mark.parametrize("seed", range(60))
def test_a_random_heap_is_left_as_by_plain_python(seed: int) -> None:
    text, calls = program(random.Random(seed))
    assert_same(run(text, calls, "eager"), plain(text, calls))


@pytest.mark.parametrize("seed", range(2000, 2040))
def test_graph_breaks_at_any_depth_change_nothing(seed: int) -> None:
    text, calls = program(random.Random(seed), broken=True)
    assert_same(run(text, calls, "eager"), plain(text, calls))


@pytest.mark.parametrize("seed", range(1000, 1015))
def test_the_same_through_functional_graphs(seed: int) -> None:
    text, calls = program(random.Random(seed))
    assert_same(run(text, calls, "aot_eager"), plain(text, calls))
