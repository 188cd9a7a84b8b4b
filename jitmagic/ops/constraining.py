"""Takes a size and the bounds that somebody promised for it, gives the row that checks them while a graph runs."""

from __future__ import annotations

import operator
from typing import Any

from jitmagic.graph.meta import PyMeta
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.registry import op

__all__ = ["constrain"]


def constrain(size: Any, low: int = 0, high: int | None = None, name: str = "a size") -> int:
    """``size`` itself, an int, if ``low <= size`` and ``size <= high``; ``name`` is what the message calls it.

    Raises ValueError for a size outside. The check stays in a captured graph, also where the size is known there.
    """
    known = operator.index(size)
    if known < low or (high is not None and known > high):
        bounds = f"at least {low}" if high is None else f"{low}" if low == high else f"{low} to {high}"
        raise ValueError(f"{name} is {known}, but it has to be {bounds}")
    return known


def _rule(call: Arguments) -> Inferred:
    return Inferred(PyMeta(int))


op("constrain", constrain, meta=_rule, signature="size, low=0, high=None, name='a size'", effects=True, raises=True)
