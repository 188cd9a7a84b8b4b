"""Arrays that are an old object or a new one, as the data decide: which object it is, and what is captured."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

BEFORE = """
x = np.array([1.5, -2.25, 3.0]); z = np.ones(3); log = []
class O: pass
o = O()
def f(x, c=0.0):
"""
CALLS = ("f(x)", "f(x) is x", "f(x, 100.0)", "f(x, 100.0) is x", "f(x[::-1], 9.0)", "x")
CHOICE = "if x.sum() > c:\n    y = x * 2\nelse:\n    y = x\n"
INNER = "w = x * 3\nif x.sum() > c:\n    y = w + 1\nelse:\n    y = w\n"
CAPTURED = {
    "the name of an argument": CHOICE + "return y",
    "returned on one way": "if x.sum() > c:\n    return x * 2\nreturn x",
    "bound first": "y = x\nif x.sum() > c:\n    y = x * 2\nreturn y",
    "a conditional expression": "return x * 2 if x.sum() > c else x",
    "one of two arguments": "return (x if x.sum() > c else z), x + z",
    "three ways": "if x.sum() > 5:\n    y = x * 2\nelif x.sum() > c:\n    y = x\nelse:\n    y = z\nreturn y, y is None",
    "read afterwards": CHOICE + "z2 = y / y.max()\nreturn z2, y[1:] - y[:-1], y",
    "in containers": CHOICE + "return [y, y], {'y': y}, (y, x)",
    "chosen twice": CHOICE + "if x.max() > c:\n    w = y + 1\nelse:\n    w = y\nreturn w, y",
    "an array made before": INNER + "return y, w, y + w",
    "two names exchanged": "if x.sum() > c:\n    a, b = x, z\nelse:\n    a, b = z, x\nreturn a, b, a - b",
    "inside a tuple": "if x.sum() > c:\n    r = (x * 2, 1.0)\nelse:\n    r = (x, 1.0)\nreturn r, r[0] + 1",
    "written before": "x += 1\n" + CHOICE + "return y",
    "of a closure": CHOICE + "g = lambda: y\nreturn g()",
    "in a short loop": "y = x\nfor i in range(3):\n    if y.sum() > c:\n        y = y / 2\nreturn y",
}
SPLIT = {
    "written": CHOICE + "y[0] = 7\nreturn y",
    "written through a view": CHOICE + "v = y[1:]\nv += 1\nreturn y, v",
    "the argument is written": CHOICE + "x[0] = 7\nreturn y, y.sum()",
    "written in place": CHOICE + "y += 1\nreturn y",
    "out=": CHOICE + "np.exp(y, out=y)\nreturn y",
    "a view leaves": CHOICE + "return y[1:], y.reshape(-1, 1), y.T, y.sum()",
    "asked for identity": CHOICE + "return y is x, y + 1",
    "the other one is written": INNER + "w += 1\nreturn y, w",
    "a view on one way": "if x.sum() > c:\n    y = x * 2\nelse:\n    y = x[:]\nreturn y",
    "written on one way": "if x.sum() > c:\n    y = x * 2\nelse:\n    x += 1\n    y = x\nreturn y",
    "written through a list": CHOICE + "log.append(y)\nlog[-1][0] = 5\nreturn x",
    "stored on both ways": "if x.sum() > c:\n    o.y = x * 2\nelse:\n    o.y = x\nreturn o.y is x",
    "a break follows": CHOICE + "jm.graph_break()\ny[0] = 3\nreturn y, x",
}


TO_THE_END = {n: body for n, body in SPLIT.items() if n not in ("a break follows", "written through a view")}


def program(body: str) -> str:
    return BEFORE + "\n".join(f"    {line}" for line in body.split("\n"))


def in_callee(body: str) -> str:
    """The same where the function that is compiled goes on afterwards, in a way that the callee cannot take along."""
    caller = "def f(x, c=0.0):\n    try:\n        r = g(x, c)\n    finally:\n        pass\n    return r"
    return program(body).replace("def f", "def g") + "\n" + caller


@pytest.mark.parametrize("body", CAPTURED.values(), ids=CAPTURED)
def test_the_right_object_without_a_break(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0


@pytest.mark.parametrize("body", SPLIT.values(), ids=SPLIT)
def test_what_a_copy_would_show_differently_is_a_break(body: str) -> None:
    same_everywhere(in_callee(body), CALLS)
    assert explained(in_callee(body), "f(x)").break_count == 1


@pytest.mark.parametrize("body", TO_THE_END.values(), ids=TO_THE_END)
def test_a_callee_takes_along_what_follows_its_call(body: str) -> None:
    text = program(body).replace("def f", "def g") + "\ndef f(x, c=0.0):\n    r = g(x, c)\n    return r, x"
    same_everywhere(text, CALLS)
    assert explained(text, "f(x)").break_count == 0


@pytest.mark.parametrize("body", TO_THE_END.values(), ids=TO_THE_END)
def test_ways_to_the_end_of_the_function_share_no_array(body: str) -> None:
    same_everywhere(program(body), CALLS)
    assert explained(program(body), "f(x)").break_count == 0
