"""Takes a compiled function, gives a panel with the graph of each entry: a list of nodes beside a picture."""

from __future__ import annotations

import ipywidgets

from jitmagic.events import CompileEvent
from jitmagic.report.drawing import FOLD_LIMIT, ROLES, Box, Drawing
from jitmagic.report.entries import entry_name
from jitmagic.report.folded import graph_parts
from jitmagic.report.graphtext import read_graph
from jitmagic.report.parts import Headline, Mono, Paragraph, Part, Picture, Strong
from jitmagic.report.svg import to_svg
from jitmagic.report.view import View
from jitmagic.report.words import plural, short_name
from jitmagic.runtime.handle import Handle
from jitmagic_widgets.panel import Panel, Parts, offer, shown

__all__ = ["GraphPanel"]

_EMPTY = Drawing(())


class GraphPanel(Panel):
    """Pick a node in the list: it is outlined in the picture, and what it is stands below."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._compiled: list[CompileEvent] = []
        self._drawing = _EMPTY
        self.entry = ipywidgets.Dropdown(description="entry")
        self.node = ipywidgets.Select(rows=12, layout=ipywidgets.Layout(width="280px"))
        self.picture = ipywidgets.HTML(layout=ipywidgets.Layout(max_height="480px", overflow="auto"))
        self.about = ipywidgets.HTML()
        self.refresh()
        self.entry.observe(self._choose, "value")
        self.node.observe(self._draw, "value")
        column = ipywidgets.VBox([self.entry, self.node, self.about])
        super().__init__([ipywidgets.HBox([column, self.picture])])

    def refresh(self) -> None:
        """Show the graphs that were captured until now, the newest first."""
        self._compiled = [event for event in reversed(self._handle.record.compiled) if event.node_count]
        offer(self.entry, [entry_name(e.entry, e.resume) for e in self._compiled])
        self._choose()

    def written(self) -> View:
        return Parts(self._static_parts)

    def _choose(self, _: object = None) -> None:
        chosen = self.entry.value
        drawing = read_graph(self._compiled[chosen].graph_text) if chosen is not None else None
        self._drawing = (drawing or _EMPTY).fitting(FOLD_LIMIT)
        offer(self.node, [f"{box.label}  {box.sub}" for box in self._drawing.nodes])
        self._draw()

    def _draw(self, _: object = None) -> None:
        picked = self.node.value
        box = self._drawing.nodes[picked] if picked is not None else None
        self.about.value = shown(_about(box)) if box else shown(Paragraph(("no graph was captured yet",)))
        drawing = self._drawing
        self.picture.value = shown(
            Picture(lambda: to_svg(drawing, box.id if box else ""), f"graph with {drawing.describe()}")
        )

    def _static_parts(self) -> list[Part]:
        name = short_name(self._handle.record.name)
        count = plural(len(self._compiled), "graph")
        parts: list[Part] = [Headline(name, (count,), f"%jit graph {name}")]
        for event in self._compiled[:1]:
            drawing = read_graph(event.graph_text)
            parts += [Paragraph((Strong(entry_name(event.entry, event.resume)),))]
            parts += graph_parts(drawing) if drawing else []
        return parts


def _about(box: Box) -> Paragraph:
    where = f", {box.group}" if box.group else ""
    return Paragraph((Mono(box.label), f" {box.sub} ({ROLES[box.role]}{where})", f" {box.tooltip}"))
