"""Functions that are differentiated by running them: new arrays take part, others do not, and nothing of it stays."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import zeros

import jitmagic as jm
from jitmagic.autograd import keeping as keeping_stage
from jitmagic.autograd import transforms
from jitmagic.autograd.transforms import value_and_grad, vjp

X = np.array([1.0, 2.0, 3.0])
TABLE = np.zeros(3)
KEPT: dict[str, Any] = {}
LIST: list[Any] = [None]


class Holder:
    buffer: Any

    def total(self, x):
        out = np.zeros(3)
        out[:] = x * x
        return np.sum(out)

    __call__ = total


def squares(x):
    out = zeros(3)
    out[1:] = x[1:] ** 2
    return out


def helper(x):
    return np.sum(squares(x))


def local_import(x):
    import numpy as other
    from numpy import ones

    out, more = other.zeros(3), ones(3)
    out[0] = x[0] ** 2
    more[1:] = x[:2] ** 2
    return np.sum(out) + np.sum(more)


def enclosed() -> Callable[[Any], Any]:
    made = np.zeros

    def inner(x):
        out = made(3)
        out += x**2
        return out

    def outer(x):
        def innermost(y):
            out = np.empty_like(np.arange(3.0))
            out[:] = inner(y)
            return out

        return np.sum(innermost(x))

    return outer


def recursive(x):
    if x.size == 1:
        out = np.zeros(1)
        out[0] = x[0] ** 2
        return out[0]
    return recursive(x[:1]) + recursive(x[1:])


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "of a global function": (helper, [0, 4, 6]),
    "imported inside": (local_import, [4, 4, 0]),
    "in closures": (enclosed(), [2, 4, 6]),
    "recursive": (recursive, [2, 4, 6]),
    "a method": (Holder().total, [2, 4, 6]),
    "a callable object": (Holder(), [2, 4, 6]),
    "a partial": (functools.partial(lambda n, x: np.sum(squares(x)) * n, 2.0), [0, 8, 12]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_new_arrays_take_part_wherever_they_are_made(name: str) -> None:
    function, expected = FUNCTIONS[name]
    _, gradient = value_and_grad(function)(X.copy())
    np.testing.assert_array_equal(gradient, expected)


def test_results_are_plain() -> None:
    def f(x):
        made, unused = np.zeros(3), np.ones(2)
        made[0] = x[0]
        return np.sum(made), {"made": made, "unused": unused, "list": [made[1:], x]}

    (_, aux), _ = value_and_grad(f, has_aux=True)(X.copy())
    parts = [aux["made"], aux["unused"], *aux["list"]]
    assert {type.__call__(type, part) for part in parts} == {np.ndarray}


def keeping(x):
    held = Holder.__new__(Holder)
    KEPT["square"], KEPT["deep"] = x * x, {"sum": [x.sum()]}
    KEPT["queue"] = collections.deque([x[0], 1])
    KEPT["set"] = {x[1], 1}
    KEPT["holder"], held.buffer = held, np.zeros(3)
    held.buffer[:] = KEPT["square"]
    KEPT["view"] = held.buffer[1:]
    LIST[0] = (x, x + 1)
    return np.sum(held.buffer) + KEPT["deep"]["sum"].pop() * 0 + LIST[0][1][0]


@pytest.mark.parametrize("way", ["value_and_grad", "vjp", "raises"])
def test_what_the_function_keeps_is_plain_afterwards(way: str) -> None:
    """In lists, dicts, queues, attributes and tuples; the program's own array is kept itself."""
    x = X.copy()
    if way == "value_and_grad":
        np.testing.assert_array_equal(value_and_grad(keeping)(x)[1], [3, 4, 6])
    elif way == "vjp":
        value, pullback = vjp(keeping, x)
        np.testing.assert_array_equal(pullback(np.ones_like(value))[0], [3, 4, 6])
    else:
        with pytest.raises(jm.GradientError):
            value_and_grad(lambda x: keeping(x) * x)(x)
    buffer = KEPT["holder"].buffer
    assert KEPT["set"] == {1, np.float64(2)}
    assert {type.__call__(type, one) for one in KEPT["set"]} == {int, np.float64}
    kept = [KEPT["square"], KEPT["queue"][0], buffer, KEPT["view"], *LIST[0]]
    assert [type.__call__(type, one) for one in kept] == [np.ndarray, np.float64] + [np.ndarray] * 4
    assert LIST[0][0] is x
    assert KEPT["view"].base is buffer
    np.testing.assert_array_equal(buffer, x * x)


def test_what_a_pullback_needs_stays() -> None:
    def f(x):
        y = x * 2
        return jm.checkpoint(lambda a, b: np.sum(a * a * b), y, x)

    value, pullback = vjp(f, X.copy())
    for _ in range(2):
        np.testing.assert_allclose(pullback(np.ones_like(value))[0], 12 * X**2)


def test_a_variable_around_the_function_is_plain_afterwards() -> None:
    last: Any = None

    def f(x):
        nonlocal last
        last = x * 3
        return np.sum(last * x)

    np.testing.assert_array_equal(vjp(f, X.copy())[1](1.0)[0], 6 * X)
    assert type.__call__(type, last) is np.ndarray


def of_a_table(x):
    view = np.asarray(TABLE)
    view[:] = x
    return np.sum(TABLE)


def of_what_was_there(x):
    TABLE[:] = x
    return np.sum(TABLE)


@pytest.mark.parametrize("function", [of_a_table, of_what_was_there])
def test_arrays_from_elsewhere_are_refused(function: Any) -> None:
    """The program may read them in ways that nobody sees: the gradient would be lost without a word."""
    with pytest.raises(jm.GradientError, match=r"np\.copy"):
        value_and_grad(function)(X.copy())


def counting(x):
    global COUNT
    COUNT = COUNT + 1
    return np.sum(x * x)


COUNT = 0


def test_global_names_that_are_assigned_arrive() -> None:
    before = COUNT
    value_and_grad(counting)(X.copy())
    assert before + 1 == COUNT


def test_the_function_sees_its_own_names() -> None:
    def f(x):
        assert isinstance(np.zeros(2), np.ndarray)
        assert __name__ == helper.__module__
        assert isinstance(helper, types.FunctionType)
        helper.mark = 3  # type: ignore[attr-defined]  # what hangs on a function is shared
        assert np.pi > 3
        return np.sum(x)

    value_and_grad(f)(X.copy())
    assert helper.__dict__.pop("mark") == 3


class Watcher:
    last: Any = None


def test_what_a_program_keeps_is_found_without_a_look_at_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through globals, closures, attributes and arguments; containers of unusual size are left to the heap."""
    monkeypatch.setattr(keeping_stage.gc, "get_referrers", lambda *ones: pytest.fail("the heap was looked at"))
    seen, watcher, long = [], Watcher(), list(range(keeping_stage.NEAR + 1))

    def f(x, given, more):
        seen.append(x.sum())
        watcher.last = x * 2
        given["first"] = {"deep": [x * 3]}
        more.append(np.float64(x[0]))
        LIST.append(x * 4)
        return (x * x).sum()

    given: dict[str, Any] = {}
    assert transforms.grad(f)(np.ones(3), given, long[:10]).tolist() == [2, 2, 2]
    kept = [seen[0], watcher.last, given["first"]["deep"][0], LIST.pop()]
    assert [type.__call__(type, one) for one in kept] == [np.float64, np.ndarray, np.ndarray, np.ndarray]
    monkeypatch.undo()
    transforms.grad(f)(np.ones(3), given, long)
    assert type.__call__(type, long[-1]) is np.float64
    LIST.pop()
