"""What the tables of calls share: the type of a handler, and the op row behind a function of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.ops import Form, Op, lookup
from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Handler", "row_of"]

Handler = Callable[..., VariableTracker]


def row_of(value: Any) -> tuple[Op, Form]:
    """The op of a function of NumPy and the way it is written."""
    found = lookup(value)
    if found is None:
        raise Unsupported("call", getattr(value, "__name__", str(value)))
    return found
