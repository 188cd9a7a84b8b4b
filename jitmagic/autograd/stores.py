"""Takes a frame that called into C, tells whether it is storing an item (``a[i] = x``, ``a[i] += x``)."""

from __future__ import annotations

import dis
from types import FrameType

__all__ = ["is_store"]

_STORES = frozenset(dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap)


def is_store(frame: FrameType) -> bool:
    """Whether the instruction that the frame is at assigns to ``target[index]``."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] in _STORES
