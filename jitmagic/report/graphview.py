"""Takes a drawing, gives the view behind ``f.jit.graph()``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jitmagic.report.drawing import FOLD_LIMIT, Drawing
from jitmagic.report.exports import to_dot, to_mermaid, to_text
from jitmagic.report.folded import graph_parts
from jitmagic.report.parts import Paragraph, Part, Strong
from jitmagic.report.svg import to_svg
from jitmagic.report.view import View

__all__ = ["GraphView"]


class GraphView(View):
    """A drawing as picture or text; above ``limit`` boxes the picture folds, unless ``full``.

    ``absent`` is what an empty drawing says instead.
    """

    def __init__(
        self, drawing: Drawing, *, title: str = "", full: bool = False, limit: int = FOLD_LIMIT, absent: str = ""
    ) -> None:
        self._absent = absent
        self.drawing = drawing
        self.title = title
        self._limit = len(drawing.nodes) if full else limit

    def parts(self) -> Sequence[Part]:
        if not self.drawing.nodes and self._absent:
            return [Paragraph((self._absent,))]
        title: list[Part] = [Paragraph((Strong(self.title),))] if self.title else []
        return [*title, *graph_parts(self.drawing, limit=self._limit)]

    @property
    def text(self) -> str:
        """One line for each node, never folded."""
        return to_text(self.drawing) or self._absent

    def svg(self) -> str:
        """The picture as an SVG document."""
        return to_svg(self.drawing.fitting(self._limit))

    def mermaid(self) -> str:
        """Mermaid text of the whole graph."""
        return to_mermaid(self.drawing)

    def dot(self) -> str:
        """Graphviz text of the whole graph."""
        return to_dot(self.drawing)

    def save(self, path: str | Path) -> Path:
        """Write the form that the ending asks for: ``.svg``, ``.html``, ``.txt``, ``.mmd`` or
        ``.dot``.

        Raises ValueError for another ending.
        """
        target = Path(path)
        forms = {
            ".svg": self.svg,
            ".html": lambda: f"<!doctype html><meta charset=utf-8>{self.html}\n",
            ".txt": lambda: self.text + "\n",
            ".mmd": self.mermaid,
            ".dot": self.dot,
        }
        if target.suffix not in forms:
            known = ", ".join(forms)
            raise ValueError(f"cannot save a graph as {target.name!r}: end it in {known}")
        target.write_text(forms[target.suffix](), encoding="utf-8")
        return target
