"""Why a function was compiled again, in words: what changed from what to what, and what to do about it."""

from __future__ import annotations

import builtins
import linecache
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn

builtins_compile = builtins.compile


def reasons(program: str, *steps: str, **options: Any) -> list[tuple[str, str, str, str]]:
    """Guard, then, now and remedy of each recompile of ``f``; ``steps`` run in the program's namespace."""
    linecache.cache["<reasons>"] = (len(program), None, program.splitlines(True), "<reasons>")
    names: dict[str, Any] = {"np": np, "jm": jm, "x": np.arange(6.0).reshape(2, 3), "__name__": "__main__"}
    exec(builtins_compile(program, "<reasons>", "exec"), names)
    names["f"] = jm.compile(names["f"], backend="eager", **options)
    for step in ("f(x)", *steps):
        exec(step, names)
    found = [(r.guard, r.then, r.now, r.remedy) for r in jm.recompiles(names["f"])]
    for words in found:
        assert words[1] != words[2], "what changed looks the same"
        assert "0x" not in "".join(words)
    return found


CHANGES = [
    ("def f(x, n=5): return x * n", ["f(x, 6)", "f(x, 2**70)"], "int", "an int of more than 64 bits"),
    ("def f(x): return x * 2", ["f(np.float64(3))"], "float64", "a float64 instead of an array"),
    ("def f(x): return x * 2", ["f(x.astype('>f8'))"], "float64", ">f8"),
    ("def f(x, k=2): return x * k", ["f(x, np.int64(2))"], "2", "np.int64(2)"),
    ("def f(x): return x + 0.5", ["with np.errstate(call=print): f(x)"],
     "{'divide': 'warn', 'invalid': 'warn', 'over': 'warn', 'under': 'ignore'}",
     "{'divide': 'warn', 'invalid': 'warn', 'over': 'warn', 'under': 'ignore'}, with a function set by np.seterrcall"),
    ("class A: k = 1.0\na = A()\ndef f(x): return x * a.k", ["class A: k = 1.0", "a = A(); f(x)"], "A", "another A"),
    ("def g(x, *, n=1): return x + n\ndef f(x): return g(x)", ["g.__kwdefaults__ = {'n': 1, 'm': 2}; f(x)"],
     "0 defaults, keyword default n", "0 defaults, keyword defaults n, m"),
    ("def g(x, n=1): return x + n\ndef f(x): return g(x)", ["g.__defaults__ = (1, 2); f(x)"],
     "1 default", "2 defaults"),
    ("def f(x, p={'a': 1.0}): return x * len(p)", ["f(x, {'b': [1]})"], "['a']", "['b']"),
    ("def f(x, p={'a': 1.0}): return x * len(p)", ["f(x, [1.0])"], "['a']", "a list of 1"),
    ("s = {1}\ndef f(x): return x * 2 if 2 in s else x", ["s.add(2); f(x)"], "{1}", "{1, 2}"),
    ("k = None\ndef f(x): return x if k is None else x * k[0]", ["k = [3.0, {'q': (1,)}]; f(x)"],
     "None", "[3.0, {'q': (1,)}]"),
    ("k = None\ndef f(x): return x if k is None else x * 2", ["k = [object()]; f(x)"], "None", "[object object]"),
    ("t = ''\ndef f(x): return x * len(t)", ["t = str(object()); f(x)"], "''", "'<object object>'"),
    ("class A:\n    def m(s, x): return x\na = A()\ndef f(x): return a.m(x)", ["def other(s, x): return -x",
     "A.m = other; f(x)"], "A.m", "other"),
    ("class A: k = 1.0\na = A()\ndef f(x): return x * a.k", ["A.__getattribute__ = lambda s, n: 2.0; f(x)"],
     "object.__getattribute__", "<lambda>"),
    ("def f(x): return x / 2", ["np.seterr(divide='ignore'); f(x); np.seterr(divide='warn')"],
     "{'divide': 'warn', 'invalid': 'warn', 'over': 'warn', 'under': 'ignore'}",
     "{'divide': 'ignore', 'invalid': 'warn', 'over': 'warn', 'under': 'ignore'}"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "steps", "then", "now"), CHANGES, ids=[f"{c[0]} {c[1][-1]}" for c in CHANGES])
def test_both_values_are_shown_and_differ(program: str, steps: list[str], then: str, now: str) -> None:
    assert reasons(program, *steps)[-1][1:3] == (then, now)


REMEDIES = [
    (
        "def f(x, mode='a'): return x if mode == 'a' else -x",
        "f(x, 'b')",
        {},
        "every value of mode is compiled on its own",
    ),
    ("k = 1.0\ndef f(x): return x * k", "k = 2.0; f(x)", {}, "pass it as an argument"),
    ("def f(x): return x * 2", "f(x[:, :2])", {}, "become free by themselves"),
    ("def f(x): return x * 2", "f(x[:, :2].copy())", {"dynamic": False}, "without dynamic=False"),
    ("def f(x): return x * 2", "f(x[0])", {}, "one number of axes"),
    ("def f(x): return x * 2", "f(np.ones((3, 4))); f(np.ones((3, 1)))", {}, "sizes 0 and 1"),
    ("def h(x): return x\ndef f(x): return h(x)", "h = lambda x: -x; f(x)", {}, "define h once"),
]


@pytest.mark.parametrize(("program", "step", "options", "words"), REMEDIES, ids=[f"{r[0]} {r[1]}" for r in REMEDIES])
def test_the_remedy_is_one_that_helps(program: str, step: str, options: dict[str, Any], words: str) -> None:
    assert words in reasons(program, step, **options)[-1][3]


def test_without_automatic_sizes_the_remedy_says_how_to_have_them() -> None:
    with jm.configure(automatic_dynamic_shapes=False):
        found = reasons("def f(x): return x * 2", "f(np.ones((2, 4)))")
    assert found[-1][3] == "jm.mark_dynamic(x, axis), or jm.configure(automatic_dynamic_shapes=True)"


def test_the_pieces_of_a_call_have_its_number() -> None:
    @jm.compile(backend="eager")
    def f(x: Any) -> Any:
        y = x * 2
        jm.graph_break()
        return y + 1

    for _ in range(4):
        f(np.ones(3))
    f(np.ones(3, np.float32))
    assert {r.call for r in jm.recompiles(f)} == {5}


def test_values_without_a_name_are_called_by_their_expression() -> None:
    @jm.compile(backend="eager")
    def f(x: Any, v: Any) -> Any:
        return x * len(sorted(v, key=lambda q: id(q) * 0 + q))

    for v in ([1.0], [1.0, 2.0], [1.0, 2.0, 3.0]):
        f(np.ones(3), v)
    text = " ".join(str(r) for r in jm.recompiles(f)) + f.jit.guards().text
    assert "part " not in text
    assert "_jm_" not in text
    assert "sorted(v, key=lambda q: id(q) * 0 + q)" in text


def test_the_limit_names_what_kept_changing_and_its_values() -> None:
    @jm.compile(backend="eager")
    def f(x: Any, s: str) -> Any:
        return x * len(s)

    with jm.configure(entry_limit=2):
        for s in ("a", "bb", "ccc"):
            f(np.ones(3), s)
    told = f.jit.frame.record.fallbacks[-1]
    assert told.reason == "2 entries are compiled, which is the limit; what kept changing: s ('a', 'bb', 'ccc')"
    assert "jm.configure(entry_limit=4)" in told.hint


@pytest.mark.parametrize("stop", ["n", "0, n", "0, 9, n"])
def test_a_range_of_a_float_is_said_to_raise_at_the_second_call_too(stop: str) -> None:
    names: dict[str, Any] = {}
    program = f"def f(x, n):\n    for i in range({stop}): x = x + i\n    return x"
    linecache.cache["<range>"] = (len(program), None, program.splitlines(True), "<range>")
    exec(builtins_compile(program, "<range>", "exec"), names)
    f = jm.compile(names["f"])
    for _ in range(2):
        np.testing.assert_array_equal(f(np.ones(3), 3), names["f"](np.ones(3), 3))
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            f(np.ones(3), 2.0)
    assert not f.jit.breaks()
    assert "this call raises TypeError" in str(f.jit.report())


def test_a_reason_names_no_line_of_ours() -> None:
    """What a module's ``__call__`` reads is read in jitmagic's own code; the reason says what, and that suffices."""
    model = nn.Linear(3, 2)
    f = jm.compile(model)
    f(np.ones((2, 3)))
    model.register_forward_hook(lambda *_: None)
    f(np.ones((2, 3)))
    reason = jm.recompiles(f)[-1]
    assert "_forward_hooks" in str(reason)
    assert reason.read_at is None
