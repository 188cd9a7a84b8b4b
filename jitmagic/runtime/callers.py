"""Gives the place in the user's program from which the present call of a compiled function came."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from jitmagic.errors import Span
from jitmagic.runtime.tracebacks import is_ours
from jitmagic.runtime.trampoline import link_in

__all__ = ["caller_span", "is_trampoline"]


def is_trampoline(code: CodeType) -> bool:
    """Whether this code was made by ``make_trampoline``."""
    return link_in(code) is not None


def caller_span() -> Span | None:
    """The line that called the innermost compiled function; None if no line of the user's did.

    A call that a magic makes (``%jit time f(x)``) came from the cell that holds the magic.
    """
    frame: FrameType | None = sys._getframe(1)
    by_magic = False
    while frame is not None and not _is_users(frame, by_magic):
        by_magic = by_magic or _is_front_end(frame)
        frame = frame.f_back
    return None if frame is None else Span(frame.f_code.co_filename, frame.f_lineno)


def _is_users(frame: FrameType, by_magic: bool) -> bool:
    """Behind a magic stand IPython and what runs it; of those frames only a cell is the user's."""
    if is_ours(frame.f_code) or is_trampoline(frame.f_code) or _is_front_end(frame):
        return False
    return not by_magic or "get_ipython" in frame.f_globals


def _is_front_end(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "IPython"
