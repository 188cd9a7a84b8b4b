"""Typed records of everything that happens; every stage emits them, ``report`` only reads them.

Times are in nanoseconds. Records hold text, never the user's objects: nothing that is shown later
keeps an array alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jitmagic.errors import Span

__all__ = [
    "BreakEvent",
    "CompileEvent",
    "DemotionEvent",
    "EffectRecord",
    "Event",
    "FallbackEvent",
    "GuardRecord",
    "KernelEvent",
    "PendingEvent",
    "PlainEvent",
    "RecompileEvent",
    "emit",
    "subscribe",
]


@dataclass(frozen=True, slots=True)
class Event:
    """Base: which compiled function it is about.

    ``function`` is the qualified name, ``owner`` a number that is unique to one compiled function
    object (two functions with one name differ), ``span`` the ``def`` line or the place that is
    meant.
    """

    function: str
    owner: int
    span: Span


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """One guard as text: its Python expression, its kind, why it is there, the value it expects."""

    expression: str
    kind: str
    source: str
    expected: str
    span: Span | None = None
    category: str = "local"


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """One side effect replayed after the graph, as text: ``log.append(...)``, ``print``."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class SavedRecord:
    """A value that the forward computation keeps for the backward one; an argument takes no memory of its own."""

    name: str
    description: str
    size_bytes: int
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class GradientRecord:
    """The printed graphs of both directions, and what is kept between them."""

    forward: str
    backward: str
    saved: tuple[SavedRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class CompileEvent(Event):
    """One cache entry was built.

    ``entry`` counts from 0 within the function; ``resume`` is the line at which this piece starts
    when it is a resume function, else 0. ``graph_text`` is the printed graph; ``lines`` maps a
    source line to what became of it: "k0", "k1", "loop", "flow", "extern", "python", or some of them ("k0, extern").
    ``loop_count`` are loops of the user's that are machine code, ``flow_count`` loops and branches by the data.
    """

    entry: int
    call: int
    resume: int
    node_count: int
    kernel_count: int
    extern_count: int
    elapsed_ns: int
    guards: tuple[GuardRecord, ...] = ()
    effects: tuple[EffectRecord, ...] = ()
    graph_text: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    backend: str = "numba"
    gradient: GradientRecord | None = None
    loop_count: int = 0
    flow_count: int = 0


@dataclass(frozen=True, slots=True)
class RecompileEvent(Event):
    """A call matched no entry: the first failing guard of the closest entry, then and now.

    ``entry`` is the one that was made for it, or -1 if that is not known; ``resume`` as in ``CompileEvent``.
    ``caller`` is the line that made the call, ``read_at`` the one whose trace read what has changed.
    """

    call: int
    guard: str
    source: str
    then: str
    now: str
    cost_ns: int
    remedy: str
    caller: Span | None = None
    read_at: Span | None = None
    entry: int = -1
    resume: int = 0


@dataclass(frozen=True, slots=True)
class BreakEvent(Event):
    """A graph break at ``span``: catalogue code, what stopped the capture, and what avoids it."""

    code: str
    reason: str
    hint: str
    source_line: str = ""


@dataclass(frozen=True, slots=True)
class FallbackEvent(Event):
    """A function, or one call of it, runs as plain Python: ``reason`` why, ``hint`` what to try.

    ``raises`` is the first line of the error where that call raises one; nothing is wrong with the function then.
    """

    reason: str
    hint: str = ""
    raises: str = ""


@dataclass(frozen=True, slots=True)
class PlainEvent(Event):
    """Something of a cell that was never to be compiled, such as an async function: ``reason`` why, ``hint`` what else.

    ``owner`` is negative, and other for each.
    """

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class DemotionEvent(Event):
    """Compiled code was measured slower than plain code and is no longer used for one guard set."""

    entry: int
    compiled_ns: int
    plain_ns: int


@dataclass(frozen=True, slots=True)
class PendingEvent(Event):
    """Kernels of a function are compiled in the background: its calls run as plain Python until they are there."""


@dataclass(frozen=True, slots=True)
class KernelEvent(Event):
    """A kernel was compiled (``cached`` False) or taken from the store; ``source`` is its text.

    ``entry`` is the one that it belongs to, or -1 if that is not known; ``resume`` as in ``CompileEvent``.
    """

    kernel: str
    elapsed_ns: int
    cached: bool
    source: str = field(default="", repr=False)
    entry: int = -1
    resume: int = 0


_listeners: list[Callable[[Event], None]] = []
_lock = threading.Lock()


def emit(event: Event) -> None:
    """Hand one record to every listener, in the order of subscription."""
    for listener in tuple(_listeners):
        listener(event)


def subscribe(listener: Callable[[Event], None]) -> Callable[[], None]:
    """Register a listener, called from any thread; the returned callable removes it."""
    with _lock:
        _listeners.append(listener)

    def remove() -> None:
        with _lock:
            if listener in _listeners:
                _listeners.remove(listener)

    return remove


@contextmanager
def recording() -> Iterator[list[Event]]:
    """Collect the events emitted inside the ``with`` block, from every thread."""
    seen: list[Event] = []
    remove = subscribe(seen.append)
    try:
        yield seen
    finally:
        remove()
