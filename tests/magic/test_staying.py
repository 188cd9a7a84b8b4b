"""What a ``%%compile`` cell leaves to plain Python is said in a line where a user would wonder, and nowhere else."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import Span
from jitmagic.events import PlainEvent
from jitmagic.magic.staying import LONG_S, slow_loop, staying
from jitmagic.report import Report

TOLD = {
    "returned": ("def make(a):\n    def inner(x):\n        return x * a\n    return inner", ["make.inner"]),
    "returned among others": ("def make(a):\n    def f(x): return x + a\n    return [f, lambda x: np.abs(x)]",
                              ["make.f", "the lambda of make"]),
    "stored": ("class M:\n    def set(self, a):\n        self.f = lambda x: np.sin(x)", ["the lambda of M.set"]),
    "async": ("async def fetch(x):\n    return np.sin(x)", ["fetch"]),
    "generator": ("def rows(m):\n    for row in m:\n        yield row * 2", ["rows"]),
    "lambda": ("f = lambda x: np.sin(x)", ["f"]),
}  # fmt: skip
SILENT = {
    "called inside": "def f(x):\n    def g(y):\n        return y * 2\n    return g(x)",
    "a lambda of a call": "def f(xs):\n    return sorted(xs, key=lambda v: v * 2)",
    "lambda called by a compiled function": "g = lambda x: x * 2\ndef f(x): return g(x)",
    "a maker called by a compiled function": (
        "def make(a):\n    def inner(x):\n        return x * a\n    return inner\ndef f(x): return make(2)(x)"
    ),
    "no array work": "async def fetch(url):\n    return await get('http://' + url)",
    "decorated by the user": "def make():\n    @jit\n    def inner(x):\n        return x * 2\n    return inner",
    "a small formula": "square = lambda v: v * v",
    "a wrapper": "def deco(f):\n    def wrapped(*args):\n        return f(*args)\n    return wrapped",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_kept_and_stays_plain_is_told(name: str) -> None:
    text, names = TOLD[name]
    assert [each.name for each in staying(ast.parse(text))] == names


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said_of_what_is_compiled_along_or_does_no_array_work(name: str) -> None:
    assert staying(ast.parse(SILENT[name])) == []


def loop(text: str, seconds: float = 2 * LONG_S, **names: Any) -> str:
    found = slow_loop(ast.parse(text).body[0], {"np": np, **names}, seconds)
    return found.why if found is not None else ""


def test_a_loop_that_took_long_says_why() -> None:
    assert "it calls acc.append" in loop("for i in range(9): acc.append(i * 2)", acc=[])
    assert "it loops over a list" in loop("for v in values: s += v * 2", values=[1.0])
    assert "no kernel holds" in loop("while s < 9: s = s + len(d)", d={}, s=1)
    assert loop("for i in range(9): s = s + i", LONG_S / 2) == ""


def test_a_loop_whose_time_is_in_functions_is_not_told() -> None:
    """A training loop: what is slow or fast there are the functions, which have cards of their own."""
    assert loop("for i in range(9): total = total + step(x)", step=lambda x: x) == ""
    assert loop("for i in range(9): total = total + model.step(x)", model=type("Model", (), {})()) == ""
    assert loop("for i in range(9): total = total + time.time()", time=__import__("time")) == ""


def test_it_is_one_line_of_the_card_without_a_verb_to_ask_by() -> None:
    event = PlainEvent("co", -1, Span("cell", 3), "stays plain Python, it is async", "put array work into a def")
    text = Report([event]).text
    assert text.splitlines()[0].startswith("co: stays plain Python, it is async")
    assert "%jit" not in text
    assert Report([event], quiet=True).text == ""


def test_what_to_do_has_a_line_of_its_own_where_it_does_not_fit() -> None:
    hint = "array work goes into a def that it calls"
    event = PlainEvent("gen", -1, Span("cell", 3), "stays plain Python, it is a generator", hint)
    assert Report([event]).text.splitlines() == ["gen: stays plain Python, it is a generator", f"  ({hint})"]
