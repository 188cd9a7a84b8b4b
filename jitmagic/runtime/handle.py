"""``f.jit``: counts, records and verbs of one compiled function.

The verbs that show something give views; those are made by ``VIEWS``, which the public face (``jitmagic.api``) fills,
because reports stand above the runtime.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from jitmagic.errors import InternalError
from jitmagic.events import Event
from jitmagic.runtime.attributes import Hidden, hung
from jitmagic.runtime.checking import changed_outside
from jitmagic.runtime.comparison import Comparison, compare
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame
from jitmagic.runtime.record import FunctionRecord
from jitmagic.runtime.timing import Timing, time_call
from jitmagic.runtime.trampoline import Target, link_in, linked
from jitmagic.tracer.capture import Options

__all__ = ["VIEWS", "Handle", "frame_of", "handle_of"]

VIEWS: dict[str, Callable[..., Any]] = {}


class Handle(Hidden):
    """Everything about one compiled function; it owns the frame behind the function's trampoline."""

    __slots__ = ("_target", "frame", "token")

    def __init__(self, frame: CompiledFrame, token: str, target: Target | None = None) -> None:
        self.frame = frame
        self.token = token
        self._target = target or frame

    def serves(self, function: FunctionType) -> bool:
        """Whether calls of ``function`` come here; wrappers may have been given its attributes."""
        return frame_of(function) is self.frame

    # -- counts
    @property
    def plain(self) -> FunctionType:
        """The original function."""
        plain: FunctionType = self.frame.plain
        return plain

    @property
    def options(self) -> Options:
        """What was asked for at ``jm.compile``."""
        return self.frame.options

    @property
    def compiles(self) -> int:
        """Calls in which something was compiled."""
        return self.record.compiles

    @property
    def calls(self) -> int:
        """Calls so far, except those after the function got its own code back."""
        return self.frame.calls

    @property
    def hits(self) -> int:
        """Calls that were served by an entry that existed."""
        return self.frame.hits

    @property
    def entries(self) -> int:
        """Cache entries that exist; pieces after graph breaks are not counted."""
        return len(self.frame.entries)

    # -- records
    @property
    def record(self) -> FunctionRecord:
        """The events about this function, by kind."""
        return self.frame.record

    @property
    def events(self) -> list[Event]:
        """The same in one list, by kind."""
        record = self.record
        made, changed = (record.compiled, record.kernels), (record.breaks, record.recompiles)
        plain = (record.fallbacks, record.demotions, record.pending)
        return [event for kind in (*made, *changed, *plain) for event in kind]

    def all_entries(self) -> list[tuple[Entry, int]]:
        """Every entry with the line at which its piece starts (0: the function's beginning)."""
        found = [(entry, 0) for entry in self.frame.entries]
        for piece in self.frame.pieces.values():
            found += [(entry, piece.line) for entry in piece.entries]
        return found

    def split(self) -> str:
        """How the function was split at its graph breaks, as Python; empty without a break."""
        texts = (entry.capture.split for entry, _ in self.all_entries())
        return "\n\n\n".join(dict.fromkeys(text for text in texts if text))

    def compared(self, *args: Any, **kwargs: Any) -> Comparison:
        """What ``check`` shows, as a record."""
        written = changed_outside(self.frame, self.frame.entries)
        return compare(self._function(), self.plain, args, kwargs, written)

    def timed(self, *args: Any, **kwargs: Any) -> Timing:
        """What ``time`` shows, as a record."""
        return time_call(self._function(), self.plain, args, kwargs, self.record)

    def clear(self) -> None:
        """Drop the compiled entries and start counting again; the next call compiles."""
        self.record.forget()
        with self.frame.lock:
            self.frame.forget()
        function = self.record.function()
        if function is not None:
            self.frame.take_over(function)

    # -- views
    def breaks(self) -> Any:
        """Graph breaks, with place, reason and what avoids them."""
        return VIEWS["breaks"](self)

    def why(self) -> Any:
        """Why it was compiled again, newest first."""
        return VIEWS["why"](self)

    def guards(self) -> Any:
        """The conditions under which each entry is used."""
        return VIEWS["guards"](self)

    def graph(self) -> Any:
        """The captured graph of the newest entry."""
        return VIEWS["graph"](self)

    def source(self) -> Any:
        """The generated kernels beside the lines they come from."""
        return VIEWS["source"](self)

    def report(self) -> Any:
        """The card again, with the latest counts."""
        return VIEWS["report"](self)

    def check(self, *args: Any, **kwargs: Any) -> Any:
        """Run compiled and plain on copies of the arguments, and compare everything."""
        return VIEWS["check"](self, self.compared(*args, **kwargs))

    def time(self, *args: Any, **kwargs: Any) -> Any:
        """Time compiled and plain on copies of the arguments."""
        return VIEWS["time"](self, self.timed(*args, **kwargs))

    def explore(self) -> Any:
        """Guards, recompiles, cache and graph in one widget, which also tells whether a call would hit."""
        return VIEWS["explore"](self)

    def __repr__(self) -> str:
        counts = f"{self.calls} calls, {self.hits} hits, {self.compiles} compiles, {self.entries} entries"
        return f"<jit of {self.record.name}: {counts}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self.token, self.plain, self.options, self.frame.serve)

    def _function(self) -> Callable[..., Any]:
        return self.record.function() or self._target.run


def _revive(token: str, plain: FunctionType, options: Options, serve: Any) -> Handle:
    """The handle of a function that was pickled by value: find the trampoline that came with it."""
    target = linked(token)
    if target is None:
        raise InternalError("a compiled function was unpickled without its code; pickle the plain one: f.jit.plain")
    frame = CompiledFrame.of(plain, options, serve)
    target.run = lambda *values: frame.run(*values)
    target.plain = plain
    return Handle(frame, token, target)


def handle_of(function: Any) -> Handle | None:
    """The handle of a compiled function, or of the one that its decorators say they wrap (``functools.wraps``)."""
    with contextlib.suppress(ValueError):  # wrapped in a circle
        found = getattr(inspect.unwrap(function, stop=_has_handle), "jit", None)
        return found if isinstance(found, Handle) else None
    return None


def _has_handle(function: Any) -> bool:
    return isinstance(getattr(function, "jit", None), Handle)


def frame_of(function: FunctionType) -> CompiledFrame | None:
    """The frame behind a compiled function; None if calls of ``function`` run its own code."""
    handle = hung(function)
    if not isinstance(handle, Handle):
        return None
    link = link_in(function.__code__)
    return handle.frame if link is not None and link() is handle._target else None
