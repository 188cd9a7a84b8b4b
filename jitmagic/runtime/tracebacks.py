"""Takes an exception on its way to the user, leaves in its traceback only the frames of plain Python."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType, TracebackType

from jitmagic.errors import InternalError
from jitmagic.runtime.wholes import is_part, whole_entry, whole_frame
from jitmagic.tracer.frame import whole_of

__all__ = ["GENERATED", "entries_of", "hide_ours", "is_our_file", "is_ours"]

GENERATED = "<jitmagic "  # the file names of all generated code begin so
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(code: CodeType) -> bool:
    """Whether a frame belongs to jitmagic and not to the user's program."""
    return is_our_file(code.co_filename)


def is_our_file(filename: str) -> bool:
    return filename.startswith((GENERATED, _PACKAGE))


def hide_ours() -> None:
    """Make the traceback of the exception being handled that of plain Python; a trampoline calls this.

    Its own entry, the first, goes, and so do those of jitmagic; pieces of a function become one entry of the whole.
    The same holds for the exceptions that this one came of. A fault of ours keeps them all.
    """
    error = sys.exception()
    first = error.__traceback__ if error is not None else None
    if error is None or first is None or isinstance(error, InternalError):
        return
    call = _Call(first)
    _put(error, _plain(first.tb_next, call))
    for each in _behind(error, {id(error)}):
        if not isinstance(each, InternalError) and any(is_part(entry) for entry in entries_of(each.__traceback__)):
            _put(each, _plain(each.__traceback__, call))


def _put(error: BaseException, first: TracebackType | None) -> None:
    """Set the traceback also where the exception's class refuses that attributes are set."""
    BaseException.with_traceback(error, first)


class _Call:
    """The call of a trampoline: every exception that passed through it has the same frame there, as in plain Python."""

    def __init__(self, entry: TracebackType) -> None:
        self._frame = entry.tb_frame
        self._whole: FrameType | None = None

    def frame_for(self, parts: Sequence[TracebackType]) -> FrameType:
        """The frame for these pieces, which are of the function called here or of another one."""
        if _place(whole_of(parts[-1].tb_frame.f_code)) != _place(self._frame.f_code):
            return whole_frame(parts, {})
        if self._whole is None:
            self._whole = whole_frame(parts, self._frame.f_locals)
        return self._whole


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_filename, code.co_firstlineno


def _plain(first: TracebackType | None, call: _Call) -> TracebackType | None:
    """The entries that are not ours; those of pieces in a row are one call of a loop or block inside the other."""
    kept = [entry for entry in entries_of(first) if not is_ours(entry.tb_frame.f_code)]
    following: TracebackType | None = None  # nothing is kept of a refused break
    for whole, group in itertools.groupby(reversed(kept), _whole):
        if whole is None:
            for entry in group:
                entry.tb_next = following
                following = entry
        else:
            parts = [*group][::-1]
            following = whole_entry(parts[-1], call.frame_for(parts), following)
    return following


def _whole(entry: TracebackType) -> CodeType | None:
    return whole_of(entry.tb_frame.f_code) if is_part(entry) else None


def _behind(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The exceptions that ``error`` came of or holds, each once."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (error.__cause__, error.__context__, *inner):
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            yield from _behind(each, seen)


def entries_of(first: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback, from the outermost on."""
    found = []
    while first is not None:
        found.append(first)
        first = first.tb_next
    return found
