"""Takes an exception on its way to the user, leaves in its traceback only the frames of plain Python."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, TracebackType
from typing import Any

from jitmagic.errors import InternalError
from jitmagic.runtime.wholes import is_part, whole_entry
from jitmagic.tracer.frame import whole_of

__all__ = ["GENERATED", "hide_ours", "is_ours"]

GENERATED = "<jitmagic "  # the file names of all generated code begin so
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(code: CodeType) -> bool:
    """Whether a frame belongs to jitmagic and not to the user's program."""
    return code.co_filename.startswith((GENERATED, _PACKAGE))


def hide_ours() -> None:
    """Make the traceback of the exception being handled that of plain Python; a trampoline calls this.

    Its own entry, the first, goes, and so do those of jitmagic; pieces of a function become one entry of the whole.
    The same holds for the exceptions that this one came of. A fault of ours keeps them all.
    """
    error = sys.exception()
    first = error.__traceback__ if error is not None else None
    if error is None or first is None or isinstance(error, InternalError):
        return
    arguments = _arguments(first)
    error.__traceback__ = _plain(first.tb_next, arguments)
    for each in _behind(error, {id(error)}):
        if not isinstance(each, InternalError) and any(is_part(entry) for entry in _entries(each.__traceback__)):
            each.__traceback__ = _plain(each.__traceback__, arguments)


_Arguments = tuple[tuple[str, int], Mapping[str, Any]]  # the place of a function's code, and what it was called with


def _arguments(call: TracebackType) -> _Arguments:
    if not any(is_part(entry) for entry in _entries(call.tb_next)):
        return ("", 0), {}
    return _place(call.tb_frame.f_code), call.tb_frame.f_locals


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_filename, code.co_firstlineno


def _plain(first: TracebackType | None, arguments: _Arguments) -> TracebackType | None:
    """The entries that are not ours; those of pieces in a row are one call of a loop or block inside the other."""
    kept = [entry for entry in _entries(first) if not is_ours(entry.tb_frame.f_code)]
    place, values = arguments
    following: TracebackType | None = None  # nothing is kept of a refused break
    for whole, group in itertools.groupby(reversed(kept), _whole):
        if whole is None:
            for entry in group:
                entry.tb_next = following
                following = entry
        else:
            known = values if _place(whole) == place else {}
            following = whole_entry([*group][::-1], known, following)
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


def _entries(first: TracebackType | None) -> list[TracebackType]:
    found = []
    while first is not None:
        found.append(first)
        first = first.tb_next
    return found
