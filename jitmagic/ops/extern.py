"""Operations without a row."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.ops.record import Op

__all__ = ["extern"]


def extern(function: Any) -> Op:
    """The op for any NumPy function; a graph break while nothing is known of its result."""
    raise Unsupported("extern-unknown", getattr(function, "__name__", str(function)))
