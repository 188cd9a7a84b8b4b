"""Ctrl-C in a loop of a cell: the namespace and the arrays are those of one moment between two statements."""

from __future__ import annotations

import ast
import copy
import itertools
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import LoopStopped
from jitmagic.runtime.once import run_once
from tests.loops.outcomes import seen

DELAYS_S = (1.0, 4.0, 16.0)  # the first that is longer than the compile will do
SMALL = 3

CELLS = {
    "numbers and an array": """
for t in range(n):
    for i in range(len(u)):
        u[i] = u[i] * 0.5 + t
        s = s + i
        last = u[i]
""",
    "an int that becomes a float": """
for t in range(n):
    for i in range(len(u)):
        k = k + u[i] if t > 0 else k + 1
""",
    "a number of NumPy, a truth value": """
for t in range(n):
    for i in range(len(u)):
        w = w * f32 + f32
        is_even = i % 2 == 0
""",
    "two arrays": """
for t in range(n):
    for i in range(len(u)):
        u[i] = t
        v[i] = t
        s += 1
""",
    "a slice before": """
for t in range(n):
    v[1:] = u[1:] + t
    for i in range(len(u)):
        u[i] = v[i] * 0.25
        s = s + 1
""",
    "a round that goes on early": """
for t in range(n):
    for i in range(len(u)):
        if i % 3 == 0:
            continue
        u[i] = t
        s ^= i
""",
    "a sum of a row": """
for t in range(n):
    for i in range(len(g)):
        u[i] = g[i].sum() + t
        s += 1
""",
    "downwards": """
for t in range(n):
    for i in range(len(u) - 1, -1, -1):
        u[i] = t + i
        s += 2
""",
    "over an array": """
for t in range(n):
    for i, x in enumerate(v):
        u[i] = x * t
        s += 1
""",
}


def given() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    numbers = {"n": 10**9, "s": 0, "k": 0, "w": np.float32(1.5), "f32": np.float32(0.25)}
    return {"u": rng.random(999), "v": rng.random(999), "g": rng.random((999, 5)), "np": np, **numbers}


def loop_of(text: str) -> Any:
    (loop,) = ast.parse(text.strip()).body
    return loop


def stopped(text: str, **changed: Any) -> tuple[dict[str, Any], LoopStopped]:
    """The namespace after Ctrl-C, and what was raised; the kernel has been compiled before."""
    run_once(loop_of(text), {**given(), **copy.deepcopy(changed), "n": SMALL}, "<cell>")
    for delay_s in DELAYS_S:
        namespace = given() | changed
        timer = threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            run_once(loop_of(text), namespace, "<cell>")
        except LoopStopped as error:
            return namespace, error
        except KeyboardInterrupt:  # before the loop began; a finalizer may even have swallowed it
            pass
        finally:
            timer.cancel()
            timer.join()
    pytest.fail("the loop never began")


def moments(text: str, after: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What plain Python has in round ``t``: before the inner loop, where its round ``i`` begins, and after that."""
    for make in (_none, _before, _through):
        namespace = given() | {"n": after["t"]}
        assert run_once(loop_of(text), namespace, "<cell>")
        namespace |= {"n": 10**9, "t": after["t"], "_part": make(after["i"])}
        for statement in loop_of(text).body:
            if isinstance(statement, ast.For):
                statement.iter = ast.Call(ast.Name("_part", ast.Load()), [statement.iter], [])
            exec(compile(ast.fix_missing_locations(ast.Module([statement], [])), "<cell>", "exec"), namespace)
        yield namespace | ({"i": after["i"]} if make is _before else {})


Part = Callable[[Iterable[Any]], Iterator[Any]]


def _none(last: int) -> Part:
    return lambda values: iter(())


def _before(last: int) -> Part:
    return lambda values: itertools.takewhile(lambda value: value != last, values)


def _through(last: int) -> Part:
    def part(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            yield value
            if (value[0] if isinstance(value, tuple) else value) == last:
                return

    return part


def left(namespace: dict[str, Any]) -> dict[str, Any]:
    return {k: seen(v) for k, v in namespace.items() if k != "np" and not k.startswith("_")}


@pytest.mark.parametrize("text", CELLS.values(), ids=CELLS.keys())
def test_variables_and_arrays_are_those_of_one_moment(text: str) -> None:
    """Of the round that the variables tell of; the arrays are the objects that they were."""
    own = given()
    namespace, error = stopped(text, u=own["u"], v=own["v"])
    assert type(error.error) is KeyboardInterrupt
    assert text.strip().splitlines()[error.line - 1].lstrip().startswith("for i")
    assert namespace["t"] > 0
    assert namespace["u"] is own["u"]
    assert left(namespace) in [left(each) for each in moments(text, namespace)]


WHILE = """
while k < n:
    u[k % 999] = s % 1013
    s = (s * 31 + k) % 65537
    k += 1
"""


def test_a_while_loop_goes_on_from_where_it_was_stopped() -> None:
    """Run again on what Ctrl-C left, it ends as if it had never been stopped."""
    namespace, error = stopped(WHILE)
    assert error.line == 1
    assert 0 < namespace["k"] < namespace["n"]
    end = namespace["k"] + 100_000
    whole = given() | {"n": end}
    namespace["n"] = end
    assert run_once(loop_of(WHILE), whole, "<cell>")
    exec(WHILE, namespace)
    assert left(namespace) == left(whole)


def test_an_int_that_would_become_a_float_later_is_an_int() -> None:
    """A variable has the type that it has in this round."""
    text = "for t in range(n):\n    for i in range(999):\n        k = k + 0.5 if t > 500_000_000 else k + 1"
    namespace, _ = stopped(text)
    assert type(namespace["k"]) is int
    assert namespace["k"] in (999 * namespace["t"], 999 * namespace["t"] + namespace["i"] + 1)


def test_a_name_without_a_value_stays_without_one() -> None:
    """Before the first round that gives it one."""
    text = """
for t in range(n):
    for i in range(999):
        if t < 0:
            late = 1
        u[i] = t
        s += 1
"""
    namespace, _ = stopped(text)
    assert "late" not in namespace
    assert namespace["s"] in (999 * namespace["t"], 999 * namespace["t"] + namespace["i"] + 1)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError, None])
def test_the_users_own_handler_decides(raised: type[BaseException] | None) -> None:
    """What it raises is raised; if it raises nothing, the loop goes on to its end."""
    seen_signals = []

    def handle(number: int, frame: Any) -> None:
        seen_signals.append(number)
        if raised is not None:
            raise raised("enough")

    before = signal.signal(signal.SIGINT, handle)
    try:
        text = "for t in range(n):\n    s = (s * 3 + t) % 1009\n    u[t % 999] = s"
        if raised is not None:
            namespace, error = stopped(text)
            assert type(error.error) is raised
            assert error.error.args == ("enough",)
            assert 0 < namespace["t"] < namespace["n"]
            assert namespace["u"][namespace["t"] % 999] == namespace["s"]
        else:
            namespace = given() | {"n": 10**8}
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            assert not run_once(loop_of(text), namespace, "<cell>")
            timer.join()
            assert left(namespace) == left(given() | {"n": 10**8})
    finally:
        signal.signal(signal.SIGINT, before)
    assert set(seen_signals) == {signal.SIGINT}
