"""``fullgraph=True`` turns a graph break into an error: it names the line, says why, and what avoids it."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.errors import FullGraphError
from jitmagic.tracer.breaks import CATALOGUE
from tests.conformance.programs import explained, load

X = "x = np.arange(6.0)\n"
# code, program with ``# here`` at the end of the line that stops the capture, call
BREAKS = (
    ("call", X + "def f(x):\n    y = x * 2\n    eval('1', {})  # here\n    return y", "f(x)"),
    ("data-branch", X + "def f(x, a=[]):\n  for i in (1, 2):\n    if x.sum() > i:  # here\n      a.append(i)", "f(x)"),
    ("data-number", X + "def f(x):\n    return x[::int(x.max())]  # here", "f(x)"),
    ("data-key", X + "def f(x):\n    d = {}\n    d[int(x.max())] = 1  # here\n    return d", "f(x)"),
    ("data-size", X + "def f(x):\n    v = x[x > 1]\n    return list(v)  # here", "f(x)"),
    ("iterate", X + "it = iter([1])\ndef f(x, it):\n    return x * next(it)  # here", "f(x, it)"),
    ("argument", X + "def f(x):\n    return np.poly1d(x)  # here", "f(x)"),
    ("argument", X + "def f(x):\n    return np.array(x, copy=np._CopyMode.IF_NEEDED)  # here", "f(x)"),
    ("subscript", X + "def f(x):\n    words = ['a', 'b', 'c']\n    return words[x.argmin()]  # here", "f(x)"),
    ("array-subclass", "class A(np.ndarray): pass\nx = np.ones(2).view(A)\ndef f(x): return x * x  # here", "f(x)"),
    ("dtype", "x = np.array([1, 'a'], object)\ndef f(x):\n    return x * 2  # here", "f(x)"),
    ("shape-assignment", X + "def f(x):\n    y = x * 2\n    y.real = 1.0  # here\n    return y", "f(x)"),
    ("no-source", X + "exec('def g(x): return x + 1')\ndef f(x):\n    return g(x)  # here", "f(x)"),
    ("user-break", X + "def f(x):\n    y = x * 2\n    jm.graph_break()  # here\n    return y", "f(x)"),
    ("disabled", X + "@jm.disable\ndef g(x): return x\ndef f(x):\n    return g(x) + 1  # here", "f(x)"),
    ("random", X + "import random\ndef f(x):\n    return x * random.random()  # here", "f(x)"),
    ("extern-unknown", X + "def f(x):\n    return np.roots(x)  # here", "f(x)"),
    ("recurrent", X + "m = jm.nn.RNN(3, 2)\ndef f(x):\n    return m(x.reshape(2, 1, 3))  # here", "f(x)"),
)  # fmt: skip


@pytest.mark.parametrize(("code", "text", "call"), BREAKS, ids=[row[0] for row in BREAKS])
def test_the_error_names_line_reason_and_remedy(code: str, text: str, call: str) -> None:
    line = next(i for i, each in enumerate(text.splitlines(), 1) if each.endswith("# here"))
    names = load(text)
    names["f"] = jm.compile(names["f"], fullgraph=True)
    with pytest.raises(FullGraphError) as caught:
        eval(call, names)
    message = str(caught.value)
    assert f"line {line}:" in message
    found = explained(text, call).breaks[0]
    assert found.span.line == line
    assert found.source_line.endswith("# here")
    assert found.code in CATALOGUE
    assert found.reason in message
    assert CATALOGUE[found.code].hint in message


def test_at_least_fifteen_reasons_are_met() -> None:
    codes = {explained(text, call).breaks[0].code for _, text, call in BREAKS}
    assert len(codes) >= 15, codes


def test_a_break_in_a_callee_says_where_in_it() -> None:
    text = X + "def g(x):\n    y = x + 1\n    eval('2', {})\n    return y\ndef f(x):\n    return g(x) * 2"
    (found,) = explained(text, "f(x)").breaks
    assert found.span.line == 7
    assert found.reason.endswith("(in g(), line 4)")


@pytest.mark.parametrize(
    ("call", "line", "inside"),
    [("logging.getLogger('q')", 3, True), ("np.roots(x[0])", 3, False), ("g(x)", 8, False)],
)
def test_the_error_stays_in_the_file_of_the_function(call: str, line: int, inside: bool) -> None:
    """A break inside a library is at the call of the user's that leads there."""
    helper = "def g(y):\n    z = y + 1\n    eval('2', {})\n    return z"
    text = f"import logging\ndef f(x):\n    return {call}, x * 2\n\n\n{helper}"
    names = load(text)
    with pytest.raises(FullGraphError) as caught:
        jm.compile(names["f"], fullgraph=True)(np.ones((2, 2)))
    message = str(caught.value)
    assert f"{names['f'].__code__.co_filename}, line {line}: " in message
    assert (" (in " in message) == inside
    assert message.endswith("leave it: it runs as plain Python. That needs fullgraph=False.") or inside


def test_a_call_that_would_be_left_to_plain_python_is_an_error() -> None:
    text = (
        "def g(x):\n    try:\n        yield x\n    finally:\n        print(1)\n\ndef f(x):\n    return next(g(x)) * 2"
    )
    assert explained(text, "f(np.ones(2))").flags == [
        "a function that leaves a generator unfinished is left to plain Python"
    ]
    with pytest.raises(
        FullGraphError, match=r"f is left to it at .*line 7: a function that leaves a generator unfinished .*Try: "
    ):
        jm.compile(load(text)["f"], fullgraph=True)(np.ones(2))


def test_an_error_of_the_call_itself_is_shown_as_it_is() -> None:
    with pytest.raises(ValueError, match="could not be broadcast"):
        jm.compile(load("def f(x): return x + np.ones(7)")["f"], fullgraph=True)(np.ones(3))


def test_the_split_function_is_shown_as_python() -> None:
    names = load(X + "def f(x):\n    y = np.sin(x) + eval('1', {})\n    return y * 2")
    f = jm.compile(names["f"], backend="eager")
    f(np.ones(3))
    text = f.jit.split()
    assert "eval('1', " in text
    compile(text, "<split>", "exec")


WHOLLY_PLAIN = (
    ("def f(x):\n    yield x * 2", "it is a generator or a coroutine"),
    ("async def f(x):\n    return x * 2", "it is a generator or a coroutine"),
    ("import sys\ndef f(x):\n    return x * 2, sys._getframe(1).f_lineno", "it looks at its callers (_getframe)"),
    ("import warnings\ndef f(x):\n    warnings.warn('a', stacklevel=2)\n    return x * 2", "it looks at its callers"),
)


@pytest.mark.parametrize(("text", "reason"), WHOLLY_PLAIN, ids=[reason[:20] for _, reason in WHOLLY_PLAIN])
def test_a_function_that_stays_plain_as_a_whole_is_an_error(text: str, reason: str) -> None:
    """It was left as it is before any capture began, and nobody was told."""
    names = load(text)
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "def f" in each)
    with pytest.raises(FullGraphError) as caught:
        jm.compile(names["f"], fullgraph=True)
    message = str(caught.value)
    assert f"f is left to it at {names['f'].__code__.co_filename}, line {line}: {reason}" in message
    assert "Try: move the array work into a function of its own." in message
    assert jm.compile(names["f"]) is names["f"]
