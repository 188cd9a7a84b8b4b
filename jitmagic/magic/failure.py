"""Takes an exception of a cell, leaves in its traceback what the plain cell would have left there."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from jitmagic.runtime.tracebacks import entries_of

__all__ = ["out_of_coroutine", "show_as_plain"]

_OURS, _SHELL = "jitmagic.magic.", "IPython."


def show_as_plain(shell: Any) -> Callable[[], None]:
    """Let ``shell`` show, keep and debug exceptions without the frames of a magic; gives what undoes it.

    IPython has no hook between the end of a cell and the traceback, so its method is wrapped in this one object.
    """
    show = shell.showtraceback

    @functools.wraps(show)
    def showtraceback(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> Any:
        error = exc_tuple[1] if exc_tuple else sys.exception()
        if isinstance(error, BaseException):
            hide_magic(error)
        return show(exc_tuple, *args, **kwargs)

    def undo() -> None:
        if vars(shell).get("showtraceback") is showtraceback:
            del shell.showtraceback

    shell.showtraceback = showtraceback
    return undo


def hide_magic(error: BaseException) -> None:
    """Take out of the traceback the frames between IPython, which runs the cell, and the user's statement.

    They are ours, what IPython does to call a magic, and the line that stands in the cell for the magic, with what a
    magic above ``%%compile`` adds. Where the user called the magic from a function, that function stays. Ours also
    stay where nothing comes after them: that is a fault of ours, or a usage error.
    """
    entries = entries_of(error.__traceback__)
    ours = [i for i in range(len(entries) - 1) if _belongs(entries[i], _OURS)]
    statement = next((i + 1 for i in ours if not _belongs(entries[i + 1], _OURS, _SHELL)), 0)
    hidden = set(ours)
    if statement:
        hidden |= set(range(_start_of_magic(entries, statement), statement))
    kept = [entry for i, entry in enumerate(entries) if i not in hidden]
    for entry, following in itertools.pairwise(kept):
        entry.tb_next = following
    if hidden and kept[0] is not entries[0]:
        BaseException.with_traceback(error, kept[0])  # a class may refuse that attributes are set


def _start_of_magic(entries: Sequence[TracebackType], statement: int) -> int:
    """The first entry of those that led to the user's statement."""
    filename = entries[statement].tb_frame.f_code.co_filename
    for i, entry in enumerate(entries[:statement]):
        if entry.tb_frame.f_code.co_filename == filename:
            return i
    start = statement
    while start and _belongs(entries[start - 1], _OURS, _SHELL):
        start -= 1
    return start


def _belongs(entry: TracebackType, *packages: str) -> bool:
    return str(entry.tb_frame.f_globals.get("__name__", "")).startswith(packages)


def out_of_coroutine(shell: Any, error: BaseException) -> BaseException:
    """What a coroutine may raise for ``error``: the same, or a stand-in for StopIteration (PEP 479)."""
    if not isinstance(error, StopIteration):
        return error
    frames = entries_of(error.__traceback__)
    users = next((entry for entry in frames if not _belongs(entry, _OURS)), None)
    stand_in: type[Exception] = type(
        "StopIteration",
        (Exception,),
        {
            "__module__": "builtins",
            "__str__": lambda self: str(error),
            "_render_traceback_": lambda self: shell.InteractiveTB.structured_traceback(
                type(error), error, users, tb_offset=0
            ),
        },
    )
    made = stand_in(*error.args)
    made.__cause__, made.__suppress_context__ = error, True
    return made
