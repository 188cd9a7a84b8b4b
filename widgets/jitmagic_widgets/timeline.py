"""Takes a compiled function, gives a panel with its compiles in order, each with what made it necessary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ipywidgets

from jitmagic.errors import Span
from jitmagic.events import CompileEvent, RecompileEvent
from jitmagic.magic.source import cell_names
from jitmagic.report.entries import entry_name
from jitmagic.report.parts import Details, Headline, Inline, Mono, Paragraph, Part, Strong, Table
from jitmagic.report.sources import Sources
from jitmagic.report.view import View
from jitmagic.report.words import duration, plural, short_name
from jitmagic.runtime.handle import Handle
from jitmagic.runtime.record import FunctionRecord
from jitmagic_widgets.panel import Panel, Parts, offer, shown

__all__ = ["Moment", "RecompileTimeline", "moments"]

_FIRST = "first call of this piece"
_LISTED = 12


@dataclass(frozen=True, slots=True)
class Moment:
    """One compile; ``cause`` is None for the first. ``compiled`` is None where plain Python was the result."""

    compiled: CompileEvent | None
    cause: RecompileEvent | None

    @property
    def call(self) -> int:
        event = self.compiled or self.cause
        return event.call if event else 0

    @property
    def name(self) -> str:
        return entry_name(self.compiled.entry, self.compiled.resume) if self.compiled else "plain Python"

    @property
    def cost_ns(self) -> int:
        if self.compiled:
            return self.compiled.elapsed_ns
        return self.cause.cost_ns if self.cause else 0

    @property
    def summary(self) -> str:
        why = f"{self.cause.guard}: {self.cause.then} -> {self.cause.now}" if self.cause else _FIRST
        return f"call {self.call}, {self.name}, {duration(self.cost_ns)}: {why}"


def moments(record: FunctionRecord) -> list[Moment]:
    """Every compile with its cause: both are told with the same duration."""
    causes = {event.cost_ns: event for event in record.recompiles}
    found = [Moment(event, causes.pop(event.elapsed_ns, None)) for event in record.compiled]
    return [*found, *(Moment(None, cause) for cause in causes.values())]


class RecompileTimeline(Panel):
    """The compiles from first to last; picking one shows then and now, the calling line and the remedy."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._moments: list[Moment] = []
        self.picker = ipywidgets.Select(rows=6, layout=ipywidgets.Layout(width="100%"))
        self.details = ipywidgets.HTML()
        self.refresh()
        self.picker.observe(self._draw, "value")
        super().__init__([self.picker, self.details])

    def refresh(self) -> None:
        """Read the records again; the newest compile is picked."""
        self._moments = moments(self._handle.record)
        self.picker.rows = max(2, min(_LISTED, len(self._moments)))
        offer(self.picker, [moment.summary for moment in self._moments], newest=True)
        self._draw()

    def written(self) -> View:
        return Parts(self._static_parts)

    def _draw(self, _: object = None) -> None:
        index = self.picker.value
        self.details.value = shown(*(_nothing() if index is None else self._parts(self._moments[index])))

    def _parts(self, moment: Moment) -> Sequence[Part]:
        title = Paragraph((Strong(moment.name), f" at call {moment.call}, compiled in {duration(moment.cost_ns)}"))
        if moment.cause is None:
            return [title, Paragraph((_FIRST,))]
        return [title, *_cause_parts(moment.cause)]

    def _static_parts(self) -> list[Part]:
        record = self._handle.record
        name = short_name(record.name)
        count = plural(len(self._moments), "compile")
        parts: list[Part] = [Headline(name, (count, f"{duration(record.compile_ns)} in all"))]
        if not self._moments:
            return [*parts, *_nothing()]
        for moment in self._moments:
            body = _cause_parts(moment.cause) if moment.cause else []
            parts.append(Details((moment.summary,), body, True) if body else Paragraph((moment.summary,)))
        return parts


def _nothing() -> list[Part]:
    return [Paragraph(("nothing was compiled yet",))]


def _cause_parts(cause: RecompileEvent) -> list[Part]:
    rows: list[tuple[Inline, ...]] = [(Mono(cause.guard), Mono(cause.then), Mono(cause.now))]
    parts: list[Part] = [Table(("guard that failed", "then", "now"), tuple(rows))]
    if cause.caller:
        parts += _caller_parts(cause.caller)
    return [*parts, Paragraph((Strong("try:"), f" {cause.remedy}"))]


def _caller_parts(caller: Span) -> list[Part]:
    """Where the call stood, with its line."""
    sources = Sources(cell_names([caller.filename]))
    excerpt = sources.excerpt(caller)
    return [Paragraph((f"called from {sources.place(caller)}",)), *([excerpt] if excerpt else [])]
