"""``jm.comptime`` (row B53): a hook runs when the program is compiled, sees the capture, and leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import BACKENDS, explained, load, run, same_everywhere

TEXT = """
x = np.ones(3)
seen = []
def note(m): seen.append(m)
def f(x, k=2.5):
    y = x * k
    jm.comptime(HOOK)
    return y + 1
"""


def _text(hook: str) -> str:
    return TEXT.replace("HOOK", hook)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_graph_is_printed_once(backend: str) -> None:
    done = run(_text("print"), ["f(x)", "f(x)", "f(x * 2)"], backend)
    assert (
        done.printed == "%x = input x                   float64[3]\n%multiply = multiply(%x, 2.5)  float64[3]  line 6\n"
    )
    assert done.compiles == [1, 1, 1]


@pytest.mark.parametrize("hook", ["note", "lambda m: globals()['seen'].append(m)", "hook=note"])
def test_each_compile_calls_the_hook_again(hook: str) -> None:
    names = load(_text(hook))
    f = jm.compile(names["f"], backend="eager")
    for array in (np.ones(3), np.ones(3), np.ones(3, "f4")):
        np.testing.assert_array_equal(f(array), array * 2.5 + 1)
    assert [m.graph.count("float32") for m in names["seen"]] == [0, 2]


def test_a_moment_tells_guards_variables_and_place() -> None:
    names = load(_text("note"))
    jm.explain(names["f"])(np.ones(3))
    (moment,) = names["seen"]
    assert "x.dtype is float64" in moment.guards
    assert set(moment.variables) == {"x", "k", "y"}
    assert moment.span.line == 7
    assert str(moment) == moment.graph


def test_nothing_of_it_is_in_the_graph() -> None:
    found = explained(_text("lambda m: None"), "f(x)")
    assert (found.graph_count, found.break_count) == (1, 0)
    assert "comptime" not in "".join(found.graphs)


def test_an_attempt_that_is_made_again_calls_it_once() -> None:
    """The break behind the hook is found out by an attempt that is thrown away."""
    names = load(_text("note").replace("return y + 1", "z = eval('1', {})\n    return y + z"))
    f = jm.compile(names["f"], backend="eager")
    for _ in range(2):
        np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 3.5))
    assert len(names["seen"]) == 1


def test_in_plain_python_it_does_nothing() -> None:
    names = load(_text("note"))
    names["f"](names["x"])
    assert names["seen"] == []


@pytest.mark.parametrize("hook", ["(lambda k: lambda m: None)(1)", "", "1, 2", "None"])
def test_what_is_no_hook_is_left_to_python(hook: str) -> None:
    same_everywhere(_text(hook).replace("return", "return x, ") if hook else _text(hook), ["f(x)", "f(x)"])
