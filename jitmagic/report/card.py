"""Takes the events of a cell, gives the card below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from jitmagic.errors import UserError
from jitmagic.events import CompileEvent, Event, RecompileEvent
from jitmagic.report.drawing import Drawing
from jitmagic.report.graphtext import read_graph
from jitmagic.report.parts import Paragraph, Part, Rule
from jitmagic.report.sections import full_sections, line_of
from jitmagic.report.sources import Sources, SourceText
from jitmagic.report.story import Story, gather
from jitmagic.report.terms import Setting
from jitmagic.report.view import View

__all__ = ["GRAPHS", "KINDS", "Report"]

KINDS = ("auto", "full", "line", "none")
GRAPHS = ("fold", "open", "widget", "text", "none")


def _draw_printed(event: CompileEvent) -> Drawing | None:
    return read_graph(event.graph_text)


class Report(View):
    """The card: a line for each function that needs no attention, sections where something is to learn.

    ``kind``: ``auto`` (the above), ``full`` (sections for all), ``line`` (a line for each), ``none``. ``graph``: a
    ``fold`` or ``open`` section with the picture, ``text``, ``none`` (``widget`` is drawn as ``fold`` here). ``quiet``
    leaves out functions that need no attention. ``sources`` gives the text of cells by file name, or their name
    alone (``Cell In[4]``); the rest is looked up in ``linecache``. ``draw`` gives the drawing of a compile; by default
    the printed graph is read. ``absent`` is said where there is nothing to show.

    Raises UserError for an unknown kind or graph.
    """

    def __init__(
        self,
        events: Iterable[Event],
        *,
        sources: Mapping[str, SourceText | str] | None = None,
        kind: str = "auto",
        graph: str = "fold",
        quiet: bool = False,
        draw: Callable[[CompileEvent], Drawing | None] = _draw_printed,
        absent: str = "",
    ) -> None:
        _check("report", kind, KINDS)
        _check("graph", graph, GRAPHS)
        self.events = tuple(events)
        self.kind = kind
        self.graph = graph
        self._draw = draw
        self._absent = absent
        self._sources = Sources(sources)
        told = sorted((s for s in gather(self.events) if not s.is_empty), key=lambda s: bool(s.plain))
        self._stories = [s for s in told if s.needs_attention] if quiet else told
        self._take_sources()

    def _take_sources(self) -> None:
        """Read the source now: a cell that runs again later replaces its lines."""
        for event in self.events:
            self._sources.text(event.span.filename)
            if isinstance(event, RecompileEvent) and event.caller:
                self._sources.text(event.caller.filename)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions that the card speaks of."""
        return tuple(s.function for s in self._stories)

    @property
    def is_worth_showing(self) -> bool:
        """Whether there is anything to show."""
        return self.kind != "none" and bool(self._stories)

    def parts(self) -> Sequence[Part]:
        """In the order of the events: what needs attention in full, the others in a line."""
        if not self.is_worth_showing:
            return [Paragraph((self._absent,))] if self._absent else []
        setting = Setting(self._sources, self.graph, self._draw)
        parts: list[Part] = []
        for before, story in zip([None, *self._stories], self._stories, strict=False):
            # Lines may follow each other; sections stand apart from what is above and below.
            if before and (self._in_full(before) or self._in_full(story)):
                parts.append(Rule())
            parts += full_sections(story, setting) if self._in_full(story) else [line_of(story)]
        return parts

    def _in_full(self, story: Story) -> bool:
        return self.kind == "full" or (self.kind == "auto" and story.needs_attention)

    @property
    def html(self) -> str:
        """The HTML form; empty if there is nothing to show."""
        return super().html if self.is_worth_showing or self._absent else ""


def _check(option: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UserError(f"--{option} {value}: not one of {', '.join(allowed)}")
