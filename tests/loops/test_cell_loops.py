"""Loops written straight into a cell run as one kernel and leave in the namespace what plain Python leaves."""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np
import pytest

from jitmagic.events import subscribe
from jitmagic.runtime.once import estimated_seconds, run_once
from tests.loops.outcomes import seen

CELLS = {
    "recurrence": "for t in range(1, n):\n    u[t] = a * u[t - 1] + t",
    "double loop": "for i in range(n):\n    for j in range(m):\n        g[i, j] = i * m + j\n        s += g[i, j]",
    "a name that is new": "for i in range(n):\n    last = u[i] * 2",
    "while": "while k < n:\n    u[k] = k\n    k += 1",
    "over an array": "for v in u:\n    s += v",
    "complex numbers": "while abs(z) < 2 and k < n:\n    z = z * z + 0.3j\n    k += 1",
    "complex numbers of NumPy": "for i in range(n):\n    w = w * 1j + u[i]",
    "numbers of NumPy": "for i in range(n):\n    w = w + u[i]",
}
REFUSED = {
    "prints": "for i in range(n):\n    print(i)",
    "an error": "for i in range(n + 1):\n    u[i] = i",
    "no round": "for i in range(0):\n    u[i] = i",
    "a list": "for i in range(n):\n    found.append(u[i])",
}


def _namespace() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {"n": 30, "m": 7, "a": 0.5, "s": 0, "k": 0, "z": 0j, "w": np.float64(1.5), "found": []}
    return made | {"u": rng.random(30), "g": np.zeros((30, 7)), "np": np}


def _left(namespace: dict[str, Any]) -> dict[str, Any]:
    return {k: seen(v) for k, v in namespace.items() if k not in ("np", "__builtins__")}


@pytest.mark.parametrize("text", CELLS.values(), ids=CELLS.keys())
def test_the_namespace_holds_what_the_plain_cell_leaves(text: str) -> None:
    """Loop variables, numbers with their types, and arrays that are the same objects as before."""
    plain, compiled = _namespace(), _namespace()
    exec(text, plain)
    array = compiled["u"]
    (loop,) = ast.parse(text).body
    assert run_once(loop, compiled, "<cell>")  # type: ignore[arg-type]  # a loop
    assert _left(compiled) == _left(plain)
    assert compiled["u"] is array


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_loop_that_cannot_be_one_kernel_has_not_begun(text: str) -> None:
    """Then the cell runs it as it is."""
    namespace = _namespace()
    before = copy.deepcopy({k: v for k, v in namespace.items() if k != "np"})
    (loop,) = ast.parse(text).body
    assert not run_once(loop, namespace, "<cell>")  # type: ignore[arg-type]  # a loop
    assert _left(namespace) == {k: seen(v) for k, v in before.items()}


@pytest.mark.parametrize(
    ("text", "is_long"),
    [
        ("for i in range(10**9):\n    s += i", True),
        ("for i in range(n):\n    for j in range(len(u)):\n        s += 1", False),
        ("for i in range(n):\n    for j in range(u.shape[0] * 10**7):\n        s += 1", True),
        ("for i in range(unknown):\n    s += 1", False),
        ("for i in range(u.fill(0)):\n    s += 1", False),
        ("for x in found:\n    s += 1", False),
        ("while s < 10**9:\n    s += 1", False),
    ],
)
def test_only_loops_that_are_surely_long_are_compiled(text: str, is_long: bool) -> None:
    """Nothing of the user's is run to find out."""
    namespace = _namespace()
    (loop,) = ast.parse(text).body
    assert (estimated_seconds(loop, namespace) > 0.5) == is_long  # type: ignore[arg-type]  # a loop
    assert namespace["u"].any()


def test_a_loop_that_became_a_kernel_is_told_of() -> None:
    """With its place, and how long the compile took; what is refused says nothing."""
    told: list[Any] = []
    stop = subscribe(told.append)
    try:
        for text in (CELLS["recurrence"], REFUSED["prints"]):
            (loop,) = ast.parse(text).body
            run_once(loop, _namespace(), "<cell>")  # type: ignore[arg-type]  # a loop
    finally:
        stop()
    (event,) = told
    assert (event.function, event.span.filename, event.span.line) == ("the loop on line 1", "<cell>", 1)
    assert (event.kernel_count, event.loop_count) == (0, 1)
    assert event.elapsed_ns > 0
    assert "loop(" in event.graph_text
