"""The evaluated form names the first guard that fails, in words, and runs no code of the user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.tracer.guards import ClosureSource, GlobalSource, Guard, ItemSource, LocalSource
from jitmagic.tracer.guards.explain import evaluate, first_failure, outcomes
from jitmagic.tracer.guards.holding import Held, hold
from jitmagic.tracer.guards.kinds import (
    NAMES,
    alias_guard,
    array_guard,
    constant_guard,
    identity_guard,
    length_guard,
    no_alias_guard,
    type_guard,
)

X, Y = LocalSource("x"), LocalSource("y")
A = np.zeros((2, 3))


def held(*guards: Guard) -> list[Held]:
    return [hold(g) for g in guards]


@pytest.mark.parametrize(
    ("guards", "arguments", "expected"),
    [
        (array_guard(X, A, A.shape), {"x": A.astype("f4")}, ("x.dtype", "float64", "float32")),
        (array_guard(X, A, A.shape), {"x": A[:1]}, ("x.shape", "(2, 3)", "(1, 3)")),
        (array_guard(X, A, (None, 3)), {"x": A[:1]}, ("x.shape", "(any >= 2, 3)", "(1, 3)")),
        (array_guard(X, A, A.shape), {"x": A.T.copy().T}, ("memory order of x", "C", "F")),
        ([constant_guard(X, 2)], {"x": 3}, ("x", "2", "3")),
        ([constant_guard(X, "a")], {"x": 3.5}, ("x", "'a'", "3.5")),
        ([type_guard(X, int)], {"x": "a"}, ("type(x)", "int", "str")),
        ([length_guard(X, list, 2)], {"x": (1,)}, ("x", "a list of 2", "a tuple of 1")),
        ([constant_guard(ItemSource(X, "k"), 1)], {"x": {}}, ("x['k']", "1", "gone")),
        ([constant_guard(GlobalSource("n"), 1)], {"x": 1}, ("n", "1", "gone")),
        ([identity_guard(X, len)], {"x": np.sin}, ("x", "len", "sin")),
    ],
)
def test_a_failure_says_what_then_and_now(
    guards: list[Guard], arguments: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    failure = first_failure(held(*guards), arguments, {**NAMES, "G": {}})
    assert failure is not None
    assert (failure.guard.text, failure.guard.then, failure.now) == expected


def test_alias_reasons_name_both_inputs() -> None:
    """Row G13."""
    same = first_failure(held(no_alias_guard((X, Y))), {"x": A, "y": A}, NAMES)
    assert same is not None
    assert (same.guard.text, same.guard.then, same.now) == ("x is y", "False (two objects)", "True (the same object)")
    two = first_failure(held(alias_guard(X, Y)), {"x": A, "y": A.copy()}, NAMES)
    assert two is not None
    assert (two.guard.text, two.now) == ("x is y", "False (two objects)")


def test_the_first_failure_counts_and_later_guards_are_not_reached() -> None:
    guards = held(constant_guard(X, 1), constant_guard(Y, 2), type_guard(X, int))
    failure = first_failure(guards, {"x": 1, "y": 5}, NAMES)
    assert failure is not None
    assert failure.position == 1
    assert outcomes(guards, {"x": 1, "y": 5}, NAMES) == ("held", "failed", "not reached")
    assert outcomes(guards, {"x": 1, "y": 2}, NAMES) == ("held", "held", "held")


def test_describing_a_value_runs_no_code_of_the_user() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise AssertionError("repr was called")

        __str__ = __repr__

    failure = first_failure(held(constant_guard(X, 1)), {"x": Loud()}, NAMES)
    assert failure is not None
    assert failure.now == "Loud object"


def test_a_source_is_evaluated_from_its_roots() -> None:
    def outer() -> Any:
        k = {"n": [7]}
        return lambda: k

    names = {"C": outer().__closure__, "G": {"g": 5}}
    assert evaluate(ItemSource(ItemSource(ClosureSource(0, "k"), "n"), 0), {}, names) == 7
    assert evaluate(GlobalSource("g"), {}, names) == 5
    with pytest.raises(LookupError, match="missing"):
        evaluate(LocalSource("missing"), {}, names)
