"""Takes the stack of the running thread, says whether a compile still has room on it.

A compiled call may stand there with several frames of ours, a plain one stands there with one. Where Python's
recursion limit comes near, or many of them have piled up in a recursion, calls are better served plainly.
"""

from __future__ import annotations

import sys
from types import FrameType

from jitmagic.runtime.tracebacks import is_ours

__all__ = ["has_room"]

_NEEDED = 250  # frames that the analysis of a usual function takes, with what it inlines
_SHARE = 20  # ours may be one frame in so many of those that the limit allows: plain programs get the rest


def has_room() -> bool:
    """Whether the frames of ours are few, and enough are left for a compile."""
    limit = sys.getrecursionlimit()
    depth = ours = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        depth += 1
        ours += is_ours(frame.f_code)
        frame = frame.f_back
    return ours * _SHARE < limit and depth + _NEEDED < limit
