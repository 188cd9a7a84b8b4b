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
    """The line that called the innermost compiled function; None if only jitmagic is on the stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(frame.f_code) or is_trampoline(frame.f_code)):
        frame = frame.f_back
    return None if frame is None else Span(frame.f_code.co_filename, frame.f_lineno)
