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


def _breaks(handle: Handle) -> report.BreaksView:
    found = handle.record.breaks
    return report.BreaksView(found, sources=_sources(found))


def _why(handle: Handle) -> report.WhyView:
    left = max(0, current().entry_limit - handle.entries)
    found = handle.record.recompiles
    return report.WhyView(handle.record.name, found, sources=_sources(found), entries_left=left)


def _guards(handle: Handle) -> report.GuardsView:
    found = [report.EntryGuards(e.index, e.records, line) for e, line in handle.all_entries() if not e.is_plain]
    return report.GuardsView(handle.record.name, found)


def _graph(handle: Handle) -> report.GraphView:
    compiled = handle.record.compiled
    drawing = report.read_graph(compiled[-1].graph_text) if compiled else None
    return report.GraphView(drawing or report.Drawing(()), title=handle.record.name)


def _source(handle: Handle) -> report.SourceView:
    record = handle.record
    lines = dict(line for event in record.compiled for line in event.lines)
    return report.SourceView(
        record.name,
        record.kernels,
        definition=record.span,
        lines=sorted(lines.items()),
        sources=cell_names([record.span.filename]),
    )


def _report(handle: Handle) -> report.Report:
    found = handle.events
    return report.Report(found, sources=_sources(found), kind="full")


def _check(handle: Handle, found: Comparison) -> report.CheckView:
    differences = tuple(report.Difference(d.what, d.plain, d.compiled) for d in found.differences)
    return report.CheckView(report.CheckRecord(handle.record.name, differences, found.compared, found.refused))


def _time(handle: Handle, found: Timing) -> report.TimeView:
    record = report.TimeRecord(handle.record.name, found.plain_ns, found.compiled_ns, found.compile_ns, found.repeats)
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
