"""Settings of an optimizer that change from step to step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Counts", "active", "is_on", "run_time", "scalar"]


def run_time(group: dict[str, Any], name: str) -> Any:
    """``group[name]``; in a compiled step an input of every call, so that another value costs no compile."""
    return group[name]


def is_on(group: dict[str, Any], name: str) -> bool:
    """Whether ``group[name]`` is not 0; in a compiled step that is all that is asked of the number."""
    return bool(group[name] != 0)


def scalar(value: Any, dtype: Any) -> Any:
    """A number as a NumPy scalar of ``dtype``: kernels take it as they take arrays."""
    if isinstance(value, np.generic):
        return value.astype(dtype)
    return np.asarray(value).astype(dtype)[()]


class Counts:
    """The steps of the parameters of one update, and the factors that follow from each.

    Parameters that begin together share one array ``step``: it is counted once, and its factors are computed once. One
    that sits out a step in which others go on gets a copy of its own.
    """

    def __init__(self, factors: Callable[[Any], tuple[Any, ...]]) -> None:
        self.factors = factors
        self.known: list[tuple[Any, tuple[Any, ...]]] = []
        self.begun: Any = None

    def begin(self) -> Any:
        """The step of a parameter that begins now."""
        if self.begun is None:
            self.begun = np.zeros(())
        return self.begun

    def count(self, step: Any, dtype: Any) -> list[Any]:
        """``step`` goes on, unless it has in this update; the factors as scalars of ``dtype``."""
        for known, found in self.known:
            if known is step:
                return [scalar(each, dtype) for each in found]
        counted = step[()] + 1
        step[...] = counted
        found = self.factors(counted)
        self.known.append((step, found))
        return [scalar(each, dtype) for each in found]


def active(optimizer: Any, group: dict[str, Any]) -> list[Any]:
    """The parameters that have a gradient. Those that sit out stop sharing their step with them."""
    found = [p for p in group["params"] if p.grad is not None]
    for p in group["params"]:
        if p.grad is None and p in optimizer.state:
            state = optimizer.state[p]
            if any(optimizer.state[q].get("step") is state["step"] for q in found if q in optimizer.state):
                state["step"] = np.array(state["step"])
    return found
