"""A class that a call defines is another class at every call, closes over variables of that call, and is not the one
that stood for it in the trace: whatever takes it, or an instance of it, out of the call gives what plain Python gives.
"""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

HEAD = """
G = None
kept = []
x = np.ones(2)
def f(x, n):
    y = x * n
    class B:
        z = y
        def m(self, k=2): return y * k
"""
WAYS = {
    "returned": ("    return B()", "f(x, {n}).m()"),
    "attribute of the class": ("    return B()", "f(x, {n}).z"),
    "in a list": ("    return [B(), x]", "f(x, {n})[0].m()"),
    "subclass": ("    class C(B): pass\n    return C()", "f(x, {n}).m()"),
    "global": ("    global G\n    G = B()\n    return y", "(f(x, {n}), G.m())"),
    "appended": ("    kept.append(B())\n    return y", "(f(x, {n}), kept[-1].m())"),
    "in a generator": ("    b = B()\n    def g(): yield b.m()\n    return g()", "list(f(x, {n}))"),
    "in a closure": ("    b = B()\n    return lambda: b.m(3)", "f(x, {n})()"),
    "over a break": ("    b = B()\n    jm.graph_break()\n    return b.m(), b", "f(x, {n})[0]"),
    "instance after a break": ("    b = B()\n    jm.graph_break()\n    return b.m(), b", "f(x, {n})[1].m()"),
    "in a caught exception": ("    e = ValueError(B())\n    return e", "f(x, {n}).args[0].m()"),
    "class": ("    return type(B())", "f(x, {n})().m()"),
    "other classes": ("    return B()", "type(f(x, {n})) is type(f(x, {n}))"),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_instance_that_leaves_the_call_has_the_class_of_that_call(way: str) -> None:
    end, call = WAYS[way]
    same_everywhere(HEAD + end + "\n", [call.format(n=n) for n in (2, 3, 2)])


def test_a_comprehension_in_a_class_does_not_see_the_names_of_the_class() -> None:
    program = """
v = 'global'
x = np.ones(2)
def f(x, n):
    k = n
    class C:
        v = 'class'
        k = [1, 2]
        seen = [v for _ in k], [k for _ in range(1)], {v: k for _ in range(1)}, [(a, v) for a in k for b in v]
        lazy = list(v for _ in range(2))
    return x * n, C.seen, C.lazy
"""
    same_everywhere(program, ["f(x, 2)", "v = 'other'", "f(x, 3)"])
    assert explained(program, "f(x, 2)").break_count == 0
