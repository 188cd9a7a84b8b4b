"""Takes operands of a node, gives a key that is equal for operands that are surely the same in every call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from jitmagic.graph.shapes import SymInt

__all__ = ["structural_key"]


def structural_key(value: Any) -> Hashable:
    """A key that tells 1 from 1.0 and True, 0.0 from -0.0, and other objects by identity."""
    if isinstance(value, tuple | list):
        return type(value), *map(structural_key, value)
    if isinstance(value, dict):
        return dict, *value, *map(structural_key, value.values())
    if isinstance(value, slice):
        return structural_key((slice, value.start, value.stop, value.step))
    if isinstance(value, SymInt):
        return "size", value.key
    if isinstance(value, bool | int | str | float | complex):
        return type(value), repr(value)
    return "object", id(value)
