"""What an entry keeps alive: library objects strongly, the user's own objects weakly."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import pytest

from jitmagic.tracer.guards import LocalSource
from jitmagic.tracer.guards.holding import hold
from jitmagic.tracer.guards.kinds import array_guard, constant_guard, identity_guard, type_guard

X = LocalSource("x")


@pytest.mark.parametrize("value", [np, np.sin, np.sum, len, math, math.sqrt])
def test_library_objects_are_held_strongly(value: Any) -> None:
    held = hold(identity_guard(X, value))
    assert held.guard.constant is value
    assert not held.is_dead


def test_the_users_objects_are_held_weakly_and_their_death_is_told() -> None:
    class Model:
        pass

    told = []
    for value in (Model(), Model, lambda: 1):
        dead: list[Any] = []
        held = hold(identity_guard(X, value), dead.append)
        assert isinstance(held.guard.constant, weakref.ref)
        assert held.guard.constant() is value
        told.append((held, dead))
    held, dead = told[0]
    assert held.is_dead
    assert len(dead) == 1


def test_a_class_guard_on_a_class_of_the_notebook_is_weak() -> None:
    local = type("Local", (), {"__module__": "__main__"})
    assert isinstance(hold(type_guard(X, local)).guard.constant, weakref.ref)
    assert hold(type_guard(X, float)).guard.constant is float


def test_equal_tests_have_equal_keys_between_entries() -> None:
    def keys(value: Any) -> list[Any]:
        return [hold(g).key for g in array_guard(X, value, value.shape)]

    assert keys(np.zeros(3)) == keys(np.ones(3))
    assert keys(np.zeros(3)) != keys(np.zeros(4))
    assert hold(constant_guard(X, 1000)).key == hold(constant_guard(X, int("1000"))).key
    assert hold(constant_guard(X, 0.0)).key != hold(constant_guard(X, -0.0)).key
    assert hold(constant_guard(X, 1)).key != hold(constant_guard(X, True)).key
