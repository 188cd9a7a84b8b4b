"""Takes events in the order they happened, gives one story for each compiled function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jitmagic.errors import Span
from jitmagic.events import (
    BreakEvent,
    CompileEvent,
    DemotionEvent,
    Event,
    FallbackEvent,
    KernelEvent,
    PendingEvent,
    PlainEvent,
    RecompileEvent,
)
from jitmagic.report.words import short_name

__all__ = ["Cause", "Story", "distinct_breaks", "fold_recompiles", "gather"]

_FEW = 3  # recompiles of one guard that are still listed one by one
_SHOWN_VALUES = 4


@dataclass(slots=True)
class Story:
    """Everything that happened to one function; pieces after a graph break belong to it."""

    function: str
    owner: int
    compiles: list[CompileEvent] = field(default_factory=list)
    recompiles: list[RecompileEvent] = field(default_factory=list)
    breaks: list[BreakEvent] = field(default_factory=list)
    fallbacks: list[FallbackEvent] = field(default_factory=list)
    demotions: list[DemotionEvent] = field(default_factory=list)
    kernels: list[KernelEvent] = field(default_factory=list)
    plain: list[PlainEvent] = field(default_factory=list)
    pending: list[PendingEvent] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """File one event; kinds that no report shows are left out."""
        shelf = _SHELVES.get(type(event))
        if shelf:
            getattr(self, shelf).append(event)

    @property
    def needs_attention(self) -> bool:
        """Whether there is something to learn: a break, a recompile, plain or demoted code."""
        return bool(self.breaks or self.recompiles or self.fallbacks or self.demotions)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled because the function touches no array."""
        told = self.needs_attention or self.plain or self.pending
        return not told and not any(c.node_count for c in self.compiles)

    @property
    def pieces(self) -> list[CompileEvent]:
        """The latest compile of the function and of each of its resumed parts, in source order."""
        latest = {c.resume: c for c in self.compiles}
        return [latest[line] for line in sorted(latest)]

    @property
    def entry_count(self) -> int:
        """Entries of the function, or of the part of it that has most."""
        return max(Counter(c.resume for c in self.compiles).values(), default=0)

    def cause(self, compiled: CompileEvent) -> RecompileEvent | None:
        """What the entry was made for: the guard of an earlier one that did not hold."""
        made = (compiled.entry, compiled.resume)
        return next((r for r in self.recompiles if (r.entry, r.resume) == made), None)

    @property
    def definition(self) -> Span | None:
        """Where the function's ``def`` stands, if a compile of the whole function was seen."""
        return next((c.span for c in self.compiles if c.resume == 0), None)

    @property
    def marks(self) -> dict[int, str]:
        """What became of each line."""
        marks = {line: mark for piece in self.pieces for line, mark in piece.lines}
        own = self.definition.filename if self.definition else None
        marks.update({b.span.line: "break" for b in self.breaks if b.span.filename == own})
        return marks


_SHELVES: dict[type[Event], str] = {
    CompileEvent: "compiles",
    RecompileEvent: "recompiles",
    BreakEvent: "breaks",
    FallbackEvent: "fallbacks",
    DemotionEvent: "demotions",
    KernelEvent: "kernels",
    PlainEvent: "plain",
    PendingEvent: "pending",
}


def gather(events: Iterable[Event]) -> list[Story]:
    """One story for each owner, in the order in which they first appear."""
    stories: dict[int, Story] = {}
    for event in events:
        if event.owner not in stories:
            stories[event.owner] = Story(short_name(event.function), event.owner)
        stories[event.owner].add(event)
    return list(stories.values())


def distinct_breaks(breaks: Iterable[BreakEvent]) -> list[tuple[BreakEvent, int]]:
    """Breaks with how often each happened; the same reason at the same place is one break."""
    counts: dict[tuple[object, ...], tuple[BreakEvent, int]] = {}
    for event in breaks:
        key = (event.span, event.code, event.reason)
        counts[key] = (event, counts.get(key, (event, 0))[1] + 1)
    return list(counts.values())


@dataclass(frozen=True, slots=True)
class Cause:
    """Recompiles with one cause: which guard failed, what it expected, what came, and what it cost
    in all.
    """

    guard: str
    source: str
    then: str
    now: str
    remedy: str
    count: int
    cost_ns: int
    calls: tuple[int, ...]
    callers: tuple[Span, ...]
    read_at: Span | None = None


def fold_recompiles(events: Sequence[RecompileEvent]) -> list[Cause]:
    """Identical causes become one with a count; one guard that kept changing becomes one with its
    values.
    """
    by_guard: dict[tuple[str, str, str], list[RecompileEvent]] = {}
    for event in events:
        by_guard.setdefault((event.guard, event.source, event.remedy), []).append(event)
    causes = []
    for alike in by_guard.values():
        same: dict[tuple[str, str], list[RecompileEvent]] = {}
        for event in alike:
            same.setdefault((event.then, event.now), []).append(event)
        groups = list(same.values()) if len(same) <= _FEW else [alike]
        causes += [_cause(group) for group in groups]
    return sorted(causes, key=lambda cause: cause.calls)


def _cause(group: Sequence[RecompileEvent]) -> Cause:
    first = group[0]
    callers = dict.fromkeys(e.caller for e in group if e.caller)
    values = list(dict.fromkeys(e.now for e in group))
    return Cause(
        guard=first.guard,
        source=first.source,
        then=first.then,
        now=_listed(values),
        remedy=first.remedy,
        count=len(group),
        cost_ns=sum(e.cost_ns for e in group),
        calls=tuple(e.call for e in group),
        callers=tuple(callers),
        read_at=first.read_at,
    )


def _listed(values: Sequence[str]) -> str:
    if len(values) <= _SHOWN_VALUES:
        return ", ".join(values)
    return f"{', '.join(values[: _SHOWN_VALUES - 1])}, ... {values[-1]} ({len(values)} values)"
