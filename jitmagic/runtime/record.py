"""What is remembered of one compiled function: its name and place, its counts, and the events about it."""

from __future__ import annotations

import itertools
import linecache
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from jitmagic import events
from jitmagic.errors import Span
from jitmagic.events import (
    BreakEvent,
    CompileEvent,
    DemotionEvent,
    Event,
    FallbackEvent,
    KernelEvent,
    PendingEvent,
    RecompileEvent,
)
from jitmagic.runtime.comparison import Comparison

__all__ = ["FunctionRecord", "def_span"]

_owners = itertools.count(1)
_EVENTS_KEPT = 1000  # of each kind; a notebook that runs for days must not grow


def def_span(code: CodeType) -> Span:
    """The ``def`` line of a function (``co_firstlineno`` is that of its first decorator)."""
    first = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)[first - 1 : first + 50]
    for offset, line in enumerate(lines):
        if line.lstrip().startswith(("def ", "async def ", "class ")):
            return Span(code.co_filename, first + offset)
    return Span(code.co_filename, first)


class _PerThread(threading.local):
    call: object | None = None
    depth: int = 0  # calls of the function that this thread is in, as far as they may call it again
    missed: int = 0  # those of them that no entry matched


@dataclass(slots=True)
class FunctionRecord:
    """Shared by the frame of a function and the frames of its resume functions.

    ``compiles`` are calls in which something was compiled: all pieces of one call count once. ``function`` is a weak
    reference to the compiled function.
    """

    name: str
    span: Span
    function: Callable[[], FunctionType | None]
    owner: int = field(default_factory=lambda: next(_owners))
    compiles: int = 0
    compile_ns: int = 0
    compiled: list[CompileEvent] = field(default_factory=list)
    recompiles: list[RecompileEvent] = field(default_factory=list)
    breaks: list[BreakEvent] = field(default_factory=list)
    fallbacks: list[FallbackEvent] = field(default_factory=list)
    kernels: list[KernelEvent] = field(default_factory=list)
    demotions: list[DemotionEvent] = field(default_factory=list)
    pending: list[PendingEvent] = field(default_factory=list)  # until the kernels are there
    checks: list[Comparison] = field(default_factory=list)
    listener: Callable[[Event], None] = events.emit
    local: _PerThread = field(default_factory=_PerThread, repr=False)
    _last_call: object | None = None
    _kernels_made: int = 0

    def new_kernels(self, names: Sequence[str]) -> dict[str, str]:
        """Each entry counts its kernels from ``k0``; here is what they are called within the function."""
        first = self._kernels_made
        self._kernels_made += len(names)
        return {name: f"k{first + number}" for number, name in enumerate(names)}

    def count_compile(self, elapsed_ns: int) -> None:
        """Something was compiled in the call that this thread is in."""
        self.compile_ns += elapsed_ns
        call = self.local.call
        if call is None or call is not self._last_call:
            self.compiles += 1
            self._last_call = call

    def emit(self, event: Event) -> None:
        """Keep the event, and hand it to whoever listens."""
        kept = _lists(self)[type(event)]
        if isinstance(event, BreakEvent) and event in kept:
            return  # another entry of this frame breaks at the same place
        if len(kept) >= _EVENTS_KEPT:
            del kept[0]
        kept.append(event)
        self.listener(event)

    def fall_back(self, reason: str, hint: str = "", span: Span | None = None, raises: str = "") -> None:
        """Tell, once for each reason, that plain Python runs."""
        event = FallbackEvent(self.name, self.owner, span or self.span, reason, hint, raises)
        if event not in self.fallbacks:
            self.emit(event)

    def forget(self) -> None:
        """Start counting again."""
        self.compiles = self.compile_ns = self._kernels_made = 0
        self.checks.clear()
        for kept in _lists(self).values():
            kept.clear()


def _lists(record: FunctionRecord) -> dict[type[Event], list[Any]]:
    return {
        CompileEvent: record.compiled,
        RecompileEvent: record.recompiles,
        BreakEvent: record.breaks,
        FallbackEvent: record.fallbacks,
        KernelEvent: record.kernels,
        DemotionEvent: record.demotions,
        PendingEvent: record.pending,
    }
