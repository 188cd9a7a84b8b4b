"""Takes the records of a compiled function, gives the views behind the verbs of ``f.jit``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from jitmagic import report
from jitmagic.config import current
from jitmagic.errors import Span, UserError
from jitmagic.events import Event, RecompileEvent
from jitmagic.magic.source import cell_names
from jitmagic.report.words import short_name
from jitmagic.runtime.comparison import Comparison
from jitmagic.runtime.handle import VIEWS, Handle
from jitmagic.runtime.timing import Timing

__all__ = ["install"]


def _sources(events: Iterable[Event]) -> dict[str, str]:
    """The names of the cells that the events speak of."""
    spans: list[Span] = []
    for event in events:
        spans.append(event.span)
        if isinstance(event, RecompileEvent) and event.caller:
            spans.append(event.caller)
    return cell_names(span.filename for span in spans)


def _absent(handle: Handle) -> str:
    """What a view says that has nothing to show: why there is nothing."""
    name, record, frame = short_name(handle.record.name), handle.record, handle.frame
    if record.fallbacks:
        return f"{name} runs as plain Python: {record.fallbacks[-1].reason}"
    if record.pending:
        return f"{name} is being compiled in the background: its calls run as plain Python until then (jm.wait() waits)"
    if frame.touchless:
        return f"{name} met no arrays: it runs as you wrote it"
    if record.compiled:
        return f"{name} leaves no array operation to compile"
    return f"{name} has not been compiled yet: call it once"


def _breaks(handle: Handle) -> report.BreaksView:
    found = handle.record.breaks
    fallbacks = handle.record.fallbacks
    return report.BreaksView(
        found, function=handle.record.name, fallbacks=fallbacks, sources=_sources([*found, *fallbacks])
    )


def _why(handle: Handle) -> report.WhyView:
    left = max(0, current().entry_limit - handle.entries)
    found = handle.record.recompiles
    return report.WhyView(handle.record.name, found, sources=_sources(found), entries_left=left)


def _guards(handle: Handle) -> report.GuardsView:
    causes = {(event.entry, event.resume): event for event in handle.record.recompiles}
    found = [
        report.EntryGuards(e.index, e.records, line, cause=causes.get((e.index, line)))
        for e, line in handle.all_entries()
        if not e.is_plain
    ]
    return report.GuardsView(handle.record.name, found, absent=_absent(handle))


def _graph(handle: Handle) -> report.GraphView:
    pieces = [piece for story in report.gather(handle.events) for piece in story.pieces if piece.node_count]
    return report.GraphView(report.read_pieces(pieces), title=short_name(handle.record.name), absent=_absent(handle))


def _source(handle: Handle) -> report.SourceView:
    record = handle.record
    marks = {line: mark for story in report.gather(handle.events) for line, mark in story.marks.items()}
    return report.SourceView(
        record.name,
        record.kernels,
        definition=record.span,
        lines=sorted(marks.items()),
        sources=cell_names([record.span.filename]),
        absent="" if record.compiled else _absent(handle),
    )


def _report(handle: Handle) -> report.Report:
    found = handle.events
    return report.Report(found, sources=_sources(found), kind="full", absent=_absent(handle))


def _check(handle: Handle, found: Comparison) -> report.CheckView:
    differences = tuple(report.Difference(d.what, d.plain, d.compiled) for d in found.differences)
    return report.CheckView(
        report.CheckRecord(handle.record.name, differences, found.compared, found.refused, found.raised)
    )


def _time(handle: Handle, found: Timing) -> report.TimeView:
    record = report.TimeRecord(
        handle.record.name,
        found.plain_ns,
        found.compiled_ns,
        compile_ns=found.compile_ns,
        repeats=found.repeats,
        now_ns=found.now_ns,
        is_demoted=found.is_demoted,
    )
    return report.TimeView(record)


def _explore(handle: Handle) -> Any:
    try:
        widgets = importlib.import_module("jitmagic_widgets")
    except ImportError as error:
        raise UserError(
            f"explore() needs widgets, and {error.name or error} cannot be imported; "
            "pip install ipywidgets, or use report()"
        ) from None
    return widgets.explore(handle)


_VERBS: dict[str, Callable[..., Any]] = {
    "breaks": _breaks,
    "why": _why,
    "guards": _guards,
    "graph": _graph,
    "source": _source,
    "report": _report,
    "check": _check,
    "time": _time,
    "explore": _explore,
}


def install() -> None:
    """Give the runtime its views."""
    VIEWS.update(_VERBS)
