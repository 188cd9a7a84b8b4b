"""``super()`` reads the first argument without naming it: also in the pieces of a method that has a graph break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm


class Readings(np.ndarray[Any, Any]):
    @jm.compile
    def total(self) -> Any:
        return super().sum() + 0

    @jm.compile
    def first(self, key: Any) -> Any:
        y = np.sin(np.asarray(self)) * 2
        return super().__getitem__(key), y

    @jm.compile
    def shared(self) -> Any:
        again = lambda: self  # an inner function that shares the argument
        return super().sum() + len(again())


class Table(dict[str, Any]):
    @jm.compile
    def scaled(self, key: str) -> Any:
        return super().get(key) * np.ones(2)


class Names(set[int]):
    @jm.compile
    def joined(self, x: Any, other: Any) -> Any:
        z = np.cos(x)
        return z * 2, super().union(other), super().copy()


@pytest.mark.parametrize("call", range(3))
def test_methods_of_subclasses_of_builtins_find_their_base(call: int) -> None:
    x = np.arange(5.0 + call).view(Readings)
    assert x.total() == np.arange(5.0 + call).sum()
    assert x.first(1)[0] == 1.0
    assert x.shared() == np.arange(5.0 + call).sum() + 5 + call
    assert Table(a=3.0).scaled("a").tolist() == [3.0, 3.0]
    assert Names([1]).joined(np.ones(2), [2, 3])[1:] == ({1, 2, 3}, {1})
