"""Rows B01 to B08: sources, identity, lifetime."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.errors import InternalError
from jitmagic.tracer.builder import Builder
from jitmagic.tracer.guards import LocalSource
from tests.conformance.programs import explained, load, same_everywhere


def test_b01_the_builder_wants_a_source_and_an_analysis_that_is_active() -> None:
    names = load("def f(x): return x")
    builder = None

    def spy(self: Builder, tx: object, value: object, source: object) -> object:
        nonlocal builder
        builder = self
        return wrap(self, tx, value, source)

    wrap, Builder.wrap = Builder.wrap, spy
    try:
        jm.compile(names["f"], backend="eager")(np.ones(3))
    finally:
        Builder.wrap = wrap
    assert builder is not None
    with pytest.raises(InternalError, match="source"):
        builder.wrap(None, np.ones(3), None)
    with pytest.raises(InternalError, match="no trace is active"):
        builder.wrap(None, np.ones(3), LocalSource("x"))


def test_b02_policy_follows_where_an_int_came_from() -> None:
    text = """
class M: pass
m = M(); m.k = 7; K = 7; x = np.ones(3)
def f(x, n):
    return x * n + K + m.k
"""
    calls = ["f(x, 7)", "f(x, 8)", "f(x, 9)", "K = 8", "f(x, 9)", "K = 9", "f(x, 9)", "m.k = 8", "f(x, 9)"]
    same_everywhere(text, calls, [1, 2, 2, 3, 4, 5])


def test_b03_a_source_that_is_read_twice_is_one_input_with_a_readable_name() -> None:
    text = """
W = np.ones(3); cfg = {"w": [np.ones(3)]}
def f(x):
    return x * W + W + cfg["w"][0]
"""
    (printed,) = explained(text, "f(np.ones(3))").graphs
    inputs = [line.split("=")[0].strip() for line in printed.splitlines() if "= input " in line]
    assert inputs == ["%x", "%W", "%cfg_w_0"], printed
    guards = [(g.source, g.expression) for g in explained(text, "f(np.ones(3))").guards]
    assert len(guards) == len(set(guards)), guards


def test_b04_one_object_through_two_sources_is_one_input_with_an_alias_guard() -> None:
    text = "a = np.ones(3); b = np.arange(3.0)\ndef f(x, y): return x * 2 + y"
    same_everywhere(text, ["f(a, a)", "f(a, b)", "f(b, b)"], [1, 2, 2])
    found = explained(text, "f(a, a)")
    assert found.graphs[0].count("= input ") == 1
    assert [g.source for g in found.guards if g.kind == "ALIAS"] == ["y"]


def test_b05_distinct_inputs_are_not_confused_with_one() -> None:
    text = "a = np.ones(3); b = np.arange(3.0)\ndef f(x, y):\n    x += y\n    return x - y"
    same_everywhere(text, ["f(a, b)", "f(a, a)", "f(a, b)"], [1, 2, 2])
    many = "a = np.ones(3)\ndef f(x, *rest):\n    for y in rest:\n        x += y\n    return x"
    for count in (2, 5):
        arrays = ", ".join(f"a * {n}" for n in range(count))
        kinds = [g.kind for g in explained(many, f"f(a, {arrays})").guards]
        assert kinds.count("NO_ALIASING") == 1, "one guard, not one for each pair"


def test_b06_a_write_through_one_name_is_seen_through_the_other() -> None:
    text = """
class Box: pass
box = Box(); box.tag = 0; box.data = np.zeros(3)
def f(b, x):
    b.tag = b.tag + 1
    b.data[0] += 5
    return x * box.tag + box.data
"""
    same_everywhere(text, ["f(box, np.ones(3))", "f(box, np.ones(3))"])


def test_b07_an_entry_does_not_keep_the_arrays_of_its_caller_alive() -> None:
    f = jm.compile(load("def f(x): return x * 2")["f"])
    a = np.ones(5)
    f(a)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
    assert f(np.full(5, 3.0)).tolist() == [6.0] * 5
    assert f.jit.compiles == 1


@pytest.mark.parametrize(
    ("base", "value"),
    [
        ("list", "Own([1.0, 2.0])"),
        ("dict", "Own(a=1.0)"),
        ("tuple", "Own((1.0, 2.0))"),
        ("int", "Own(3)"),
        ("float", "Own(3.5)"),
        ("str", "Own('abc')"),
    ],
)
def test_b08_a_subclass_of_a_builtin_keeps_its_own_behaviour(base: str, value: str) -> None:
    text = f"""
class Own({base}):
    def __len__(self): return 10
    def __add__(self, other): return other * 100
    def __bool__(self): return False
o = {value}
def f(x, o):
    y = x * len(o)
    return y + (1 if o else 2), o
"""
    same_everywhere(text, ["f(np.ones(2), o)", "f(np.ones(2), o)"])
