"""Takes an exception on its way to the user, leaves in its traceback only the frames of plain Python."""

from __future__ import annotations

import os
from types import CodeType, TracebackType

from jitmagic.errors import InternalError

__all__ = ["GENERATED", "as_plain", "is_ours"]

GENERATED = "<jitmagic "  # the file names of all generated code begin so
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(code: CodeType) -> bool:
    """Whether a frame belongs to jitmagic and not to the user's program."""
    return code.co_filename.startswith((GENERATED, _PACKAGE))


def as_plain(error: BaseException) -> None:
    """Drop the first entry (the trampoline) and those of jitmagic; a fault of ours keeps them all."""
    first = error.__traceback__
    if first is None or isinstance(error, InternalError):
        return
    kept = [entry for entry in _entries(first.tb_next) if not is_ours(entry.tb_frame.f_code)]
    for entry, following in zip(kept, [*kept[1:], None], strict=False):  # nothing is kept of a refused break
        entry.tb_next = following
    error.__traceback__ = kept[0] if kept else None


def _entries(first: TracebackType | None) -> list[TracebackType]:
    found = []
    while first is not None:
        found.append(first)
        first = first.tb_next
    return found
