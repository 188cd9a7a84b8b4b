"""Takes an index, tells what it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["index_of", "kinds_of"]


def kinds_of(index: Any) -> set[str]:
    """What an index is made of: ``"basic"``, ``"mask"`` (no element twice), ``"array"``."""
    return {_kind(entry) for entry in (index if isinstance(index, tuple) else (index,))}


def _kind(entry: Any) -> str:
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return "basic"
    dtype = getattr(entry, "dtype", None)
    if dtype is not None:
        return "mask" if dtype.kind == "b" else "array" if entry.ndim else "basic"
    if isinstance(entry, list | tuple):
        return "mask" if np.asarray(entry).dtype.kind == "b" else "array"
    return "mask" if isinstance(entry, bool) else "basic"


def index_of(index: Any) -> Any:
    """``index`` such that basic entries alone give a view, never a scalar."""
    entries = index if isinstance(index, tuple) else (index,)
    return entries if any(e is Ellipsis for e in entries) else (*entries, Ellipsis)
