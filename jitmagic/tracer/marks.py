"""Promises about sizes: which axes of which arrays the user marked as dynamic or static.

Arrays have no attributes of their own, so marks live in a side table that does not keep the array alive.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from jitmagic.errors import UserError

__all__ = ["cannot_be_dynamic", "dynamic_axes", "has_fixed_address", "mark", "static_axes", "strict_axes"]


@dataclass(slots=True)
class _Marks:
    strict: set[int] = field(default_factory=set)
    wished: set[int] = field(default_factory=set)
    static: set[int] = field(default_factory=set)
    address: bool = False


_table: dict[int, tuple[weakref.ref[Any], _Marks]] = {}
_NONE = _Marks()


def _of(array: Any) -> _Marks:
    entry = _table.get(id(array))
    return entry[1] if entry is not None and entry[0]() is array else _NONE


def mark(array: Any, kind: str, axis: int | None = None) -> None:
    """Note one promise: ``strict``, ``wished`` or ``static`` for an axis, or a fixed ``address``.

    Raises UserError for something that is no array, or for an axis that it does not have.
    """
    if not hasattr(array, "ndim"):
        raise UserError(f"only arrays can be marked, not {type(array).__name__}")
    key = id(array)
    if _of(array) is _NONE:
        _table[key] = (weakref.ref(array, lambda _: _table.pop(key, None)), _Marks())
    if axis is None:
        _of(array).address = True
        return
    if not -array.ndim <= axis < array.ndim:
        raise UserError(f"axis {axis} cannot be marked: the array has {array.ndim} axes")
    getattr(_of(array), kind).add(axis % array.ndim)


def strict_axes(array: Any) -> set[int]:
    """Axes marked with ``jm.mark_dynamic``."""
    return _of(array).strict


def dynamic_axes(array: Any) -> set[int]:
    """Axes to start as symbols, strictly or by wish."""
    return _of(array).strict | _of(array).wished


def static_axes(array: Any) -> set[int]:
    """Axes that stay fixed; a dynamic mark on the same axis wins (B78)."""
    return _of(array).static - dynamic_axes(array)


def has_fixed_address(array: Any) -> bool:
    """Whether this very array was promised for every call."""
    return _of(array).address


def cannot_be_dynamic(name: str, axis: int, size: int) -> UserError:
    return UserError(
        f"axis {axis} of {name} was marked dynamic with jm.mark_dynamic, but its size is {size}: "
        "sizes 0 and 1 are special in NumPy. Mark it on a larger example, or use jm.maybe_mark_dynamic."
    )
