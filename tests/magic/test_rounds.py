"""``while`` loops of a cell run in pieces, then as one kernel, and leave what the plain cell leaves."""

from __future__ import annotations

import ast
import traceback
from typing import Any

import numpy as np
import pytest

from jitmagic.magic import rounds
from jitmagic.runtime.once import run_once
from tests.loops.outcomes import seen

LOOPS = {
    "counting": "while k < n:\n    s += u[k % 30] * k\n    k += 1",
    "an else": "while k < n:\n    k += 3\nelse:\n    after = k * 2",
    "broken off": "while k < n:\n    k += 1\n    if k * k > 90000:\n        break\nelse:\n    k = 0",
    "continue": "while k < n:\n    k += 1\n    if k % 3 == 0:\n        continue\n    s += k",
    "nested": (
        "while k < n:\n    for i in range(4):\n        j = 0\n        while j < i:\n"
        "            g[i, j] += k\n            j += 1\n    k += 7"
    ),
    "a for with else": (
        "while k < n:\n    for i in range(30):\n        if u[i] > 0.99:\n            break\n"
        "    else:\n        s += 1\n    k += 1"
    ),
    "converging": "while abs(a * a - 2.0) > 1e-12 or k < n:\n    a = (a + 2.0 / a) / 2\n    k += 1",
    "new names": "while k < n:\n    last = u[k % 30]\n    k += 1",
    "no round": "while k > n:\n    k += 1\nelse:\n    after = 5",
}
FAILING = {
    "index": "while k < n:\n    u[k - 500] = k\n    k += 1",
    "division": "while True:\n    s += 1.0 / (400 - k)\n    k += 1",
    "the test": "while u[k]:\n    k += 1",
}


def _namespace() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {"n": 1000, "a": 0.5, "s": 0.0, "k": 0}
    return made | {"u": rng.random(30), "g": np.zeros((30, 7))}


def _left(namespace: dict[str, Any]) -> dict[str, Any]:
    return {k: seen(v) for k, v in namespace.items() if k != "__builtins__"}


def _outcome(run: Any, namespace: dict[str, Any]) -> Any:
    """The namespace afterwards, and the exception with its line."""
    try:
        run()
    except Exception as error:
        (line,) = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "<cell>"]
        return _left(namespace), type(error), str(error), line
    return _left(namespace)


def _in_pieces(text: str, namespace: dict[str, Any], rest: Any) -> None:
    (loop,) = ast.parse(text).body
    assert rounds.may_be_kernel(loop)
    assert isinstance(loop, ast.While)
    done = rounds.in_pieces(loop, lambda tree: compile(tree, "<cell>", "exec"), namespace, lambda: rest(loop), {})  # type: ignore[call-overload]  # a tree
    if not done:
        exec(compile(text, "<cell>", "exec"), namespace)


@pytest.mark.parametrize("text", [*LOOPS.values(), *FAILING.values()], ids=[*LOOPS, *FAILING])
@pytest.mark.parametrize("how", ["pieces", "kernel", "refused"])
def test_the_namespace_holds_what_the_plain_cell_leaves(text: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the loop ends in a piece, in a kernel, or is given back; errors have the line that they have plainly."""
    plain, compiled = _namespace(), _namespace()
    wanted = _outcome(lambda: exec(compile(text, "<cell>", "exec"), plain), plain)
    monkeypatch.setattr(rounds, "PLAIN_S", 1e9 if how == "pieces" else 0.0)
    ran: list[bool] = []

    def rest(loop: Any) -> bool:
        ran.append(how == "kernel" and run_once(loop, compiled, "<cell>"))
        return ran[-1]

    array = compiled["u"]
    assert _outcome(lambda: _in_pieces(text, compiled, rest), compiled) == wanted
    assert compiled["u"] is array
    if how == "kernel" and text in LOOPS.values():
        assert ran in ([], [True])


def test_long_loops_become_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some plain rounds."""
    monkeypatch.setattr(rounds, "PLAIN_S", 0.0)
    kernels = []
    for text in LOOPS.values():
        namespace = _namespace()

        def rest(loop: Any, namespace: dict[str, Any] = namespace) -> bool:
            kernels.append(run_once(loop, namespace, "<cell>"))
            return kernels[-1]

        _in_pieces(text, namespace, rest)
    assert len(kernels) >= 6
    assert all(kernels)


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(3):\n    s = i",
        "while k < 3:\n    print(k)\n    k += 1",
        "while k < 3:\n    import os\n    k += 1",
        "while await_me():\n    f = lambda: k",
    ],
)
def test_other_statements_run_as_they_are(text: str) -> None:
    """Nothing is put between the user and a loop that no kernel can hold."""
    assert not rounds.may_be_kernel(ast.parse(text).body[0])
