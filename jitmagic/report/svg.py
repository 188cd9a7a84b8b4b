"""Takes a drawing, gives it as SVG text: presentation attributes only, no CSS, no script, no ids.

Pastel boxes with dark text and mid-grey arrows on a transparent ground read on white and on black.
Arrow heads are plain triangles: markers would need ids, which clash when two pictures share a
page.
"""

from __future__ import annotations

from html import escape

from jitmagic.report.drawing import Box, Drawing
from jitmagic.report.layout import Placement, Point, place
from jitmagic.report.words import clean, columns, shorten

__all__ = ["FILLS", "to_svg"]

FILLS = {  # role: (fill, rim)
    "input": ("#d7e8fa", "#3f7fbf"),
    "constant": ("#ececec", "#8a8a8a"),
    "op": ("#e3f1dd", "#5c9a4a"),
    "reduction": ("#fdecc8", "#c28a1e"),
    "extern": ("#d3efec", "#2f8f86"),
    "break": ("#f9d3d0", "#c4362b"),
    "output": ("#e8def5", "#7d55b5"),
}

_EDGE = "#8a8f98"
_MARKED = "#d81b60"
_FONT = "ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace"
_MARGIN = 8.0
_LABEL_LIMIT, _SUB_LIMIT = 32, 44  # characters; the full text stands in the tooltip
_LABEL_PX, _SUB_PX = 7.4, 5.9  # width of a character at 12 and 9.5 px


def to_svg(drawing: Drawing, marked: str = "") -> str:
    """The drawing as one SVG document; equal drawings give equal text. The box ``marked`` is outlined."""
    faces = {box.id: _face(box) for box in drawing.nodes}
    sizes = {box.id: _size(*faces[box.id]) for box in drawing.nodes}
    placed = place(sizes, drawing.edges)
    width, height = placed.width + 2 * _MARGIN, placed.height + 2 * _MARGIN
    boxes = "".join(
        _box(box, faces[box.id], placed.centres[box.id], sizes[box.id], box.id == marked) for box in drawing.nodes
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONT}">'
        f'<g transform="translate({_MARGIN:.0f} {_MARGIN:.0f})">{_arrows(placed)}{boxes}</g></svg>'
    )


def _face(box: Box) -> tuple[str, str]:
    """The two lines of a box. A break says so in words, not by colour alone."""
    extra = ["graph break"] if box.role == "break" and box.label != "graph break" else []
    sub = " · ".join(s for s in (*extra, box.sub, box.group) if s)
    return shorten(clean(box.label), _LABEL_LIMIT), shorten(clean(sub), _SUB_LIMIT)


def _size(label: str, sub: str) -> tuple[float, float]:
    width = max(columns(label) * _LABEL_PX, columns(sub) * _SUB_PX) + 18
    return width, 36.0 if sub else 26.0


def _box(box: Box, face: tuple[str, str], centre: Point, size: tuple[float, float], is_marked: bool) -> str:
    (label, sub), (x, y), (width, height) = face, centre, size
    fill, rim = FILLS[box.role]
    stroke = f'stroke="{_MARKED}" stroke-width="3.5"' if is_marked else f'stroke="{rim}" stroke-width="1.3"'
    title = clean(box.tooltip) or ": ".join(s for s in (clean(box.label), sub) if s)
    parts = [
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}" rx="6" fill="{fill}" {stroke}/>',
        _text(label, x, y - 2 if sub else y + 4, 12, "#16191d", ' font-weight="600"'),
    ]
    if sub:
        parts.append(_text(sub, x, y + 11, 9.5, "#444b54", ""))
    return "".join(parts) + "</g>"


def _text(text: str, x: float, y: float, size: float, fill: str, extra: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{size}"{extra}'
        f' fill="{fill}">{escape(text)}</text>'
    )


def _arrows(placed: Placement) -> str:
    lines = "".join(_line(points) for points in placed.routes.values())
    heads = "".join(_head(points) for points in placed.routes.values())
    if not lines:
        return ""
    return f'<path d="{lines}" fill="none" stroke="{_EDGE}" stroke-width="1.2"/><path d="{heads}" fill="{_EDGE}"/>'


def _line(points: tuple[Point, ...]) -> str:
    """Straight inside a layer, one cubic from layer to layer."""
    (x, y) = points[0]
    path = [f"M{x:.1f} {y:.1f}"]
    for index, (px, py) in enumerate(points[1:], start=1):
        if index % 2:
            path.append("" if (px, py) == (x, y) else f"L{px:.1f} {py:.1f}")
        else:
            middle = (y + py) / 2
            path.append(f"C{x:.1f} {middle:.1f} {px:.1f} {middle:.1f} {px:.1f} {py:.1f}")
        x, y = px, py
    return "".join(path)


def _head(points: tuple[Point, ...]) -> str:
    (x, y), (_, start_y) = points[-1], points[0]
    back = -6.5 if start_y < y else 6.5
    return f"M{x:.1f} {y:.1f}L{x - 3.5:.1f} {y + back:.1f}L{x + 3.5:.1f} {y + back:.1f}Z"
