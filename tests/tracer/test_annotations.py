"""Annotations of functions and classes that a call defines: evaluated with the definition, in Python's order, and kept
by the functions that leave the call.
"""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, load, same_everywhere

HEAD = """
import typing, functools
from dataclasses import dataclass, field
x = np.ones(3)
seen = []
def t(v): seen.append(v); return v
"""
PROGRAMS = {
    "undefined": ("    def g(v: nothing_here): return v\n    return g(y)", "f(x)"),
    "undefined result": ("    def g(v) -> nothing_here: return v\n    return g(y)", "f(x)"),
    "undefined in a form": ("    def g(v: list[nothing_here] | None): return v\n    return g(y)", "f(x)"),
    "undefined, caught": (
        "    try:\n        def g(v: nothing_here): return v\n    except NameError as e: return y, str(e)",
        "f(x)",
    ),
    "undefined in a class": ("    class P:\n        a: nothing_here = 3\n    return y", "f(x)"),
    "local variable": ("    a: nothing_here = 3\n    y.k: nothing_here\n    return y * a", "f(x)"),
    "order": (
        "    def g(v: t('v'), /, w: t('w') = t('d'), *a: t('a'), k: t('k') = t('kd'), **b: t('b'))"
        " -> t('r'): return v\n    return g(y)",
        "f(x)",
    ),
    "order in a class": ("    class P:\n        a: t('a') = t(1)\n        b: t('b')\n    return y * P.a", "f(x)"),
    "kept": (
        "    def g(v: int, w: 'text' = 2, *, k: np.ndarray = y) -> float: return v\n    return g",
        "f(x).__annotations__",
    ),
    "forms kept": (
        "    def g(v: list[int] | None, w: typing.Callable[[int], float])"
        " -> dict[str, np.ndarray]: return v\n    return g",
        "repr(f(x).__annotations__)",
    ),
    "of a class": ("    class P:\n        a: int = 3\n    return y, P.__annotations__", "f(x)"),
    "dataclass": (
        "    @dataclass\n    class P:\n        a: int\n        w: list[float] = field(default_factory=list)\n"
        "        k: typing.ClassVar[int] = 4\n    p = P(2)\n    return y * p.a + p.k, p.w",
        "f(x)",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_annotations_are_evaluated_as_in_plain_python(name: str) -> None:
    end, call = PROGRAMS[name]
    same_everywhere(HEAD + "def f(x):\n    y = x * 2\n" + end + "\n", [call, call])


@pytest.mark.parametrize(
    "text", ["int", "list[int] | None", "'text'", "np.ndarray", "typing.Optional[np.ndarray]", "np.ndarray | float"]
)
def test_usual_annotations_do_not_break_the_graph(text: str) -> None:
    program = f"{HEAD}def f(x):\n    def g(v: {text}) -> {text}: return v + 1\n    return g(x) * 2\n"
    found = explained(program, "f(x)")
    assert (found.graph_count, found.break_count) == (1, 0)


def test_annotations_that_the_module_keeps_as_text_are_not_evaluated() -> None:
    program = "from __future__ import annotations\nx = np.ones(3)\ndef f(x):\n    def g(v: nothing_here): return v\n"
    assert load(program + "    return g\n")["f"](1).__annotations__ == {"v": "nothing_here"}
    same_everywhere(program + "    return g(x * 2), g\n", ["f(x)[0]", "f(x)[1].__annotations__"])
