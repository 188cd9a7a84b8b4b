"""A compiled function with two entries and a recompile; one with a graph break."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

scale = 2.0  # a global that the functions below rely on


def smooth(z: Any, k: Any = 2.0) -> Any:
    return (z[1:] + z[:-1]) / k * scale


def stamped(z: Any, log: Any) -> Any:
    half = z / 2
    log.append(id(half))  # the log is a user's class: its method cannot be looked into
    return np.sqrt(half)


class Log:
    """What ``append`` does is the user's business."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def append(self, number: int) -> None:
        exec("self.kept.append(number)")


@pytest.fixture
def compiled() -> Any:
    """``smooth``, called with float64 twice and then with float32: two entries, one hit, one recompile."""
    function = jm.compile(smooth, backend="eager")
    for kind in ("f8", "f8", "f4"):
        function(np.arange(6, dtype=kind))
    return function


@pytest.fixture
def broken() -> SimpleNamespace:
    """``stamped`` after one call, and its log."""
    function, log = jm.compile(stamped, backend="eager"), Log()
    function(np.arange(6.0), log)
    return SimpleNamespace(function=function, log=log)


@pytest.fixture
def fresh() -> Any:
    """A compiled function that was never called."""
    return jm.compile(smooth, backend="eager")
