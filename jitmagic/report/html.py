"""Takes parts, gives HTML that survives a saved notebook opened by strangers.

Semantic elements that read well with no CSS at all, inline ``style`` only; no style sheets,
scripts, ids or inline SVG, which untrusted viewers drop. Colours are translucent, so that they
suit light and dark pages.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from jitmagic.report.parts import (
    Code,
    Details,
    Excerpt,
    Headline,
    Inline,
    Legend,
    Mono,
    Note,
    Paragraph,
    Part,
    Picture,
    Rule,
    SourceLine,
    SourceTable,
    Table,
    Term,
)
from jitmagic.report.words import clean

__all__ = ["render_html"]

_BAD = "var(--jp-error-color1,var(--vscode-errorForeground,#c4362b))"
_GOOD = "var(--jp-success-color1,#3f8f3f)"
_TONES = {"": "", "bad": f"color:{_BAD}", "good": f"color:{_GOOD}"}

_CODE = "background:transparent;color:inherit;padding:0"
# Jupyter gives <pre> in outputs the font of the page.
_FONT = "font-family:var(--jp-code-font-family,Menlo,Consolas,'DejaVu Sans Mono',monospace)"
_PRE = f"margin:0;{_CODE};border:0;white-space:pre;text-align:left;line-height:1.35;{_FONT}"
_LINE = f"{_CODE};white-space:pre"
_CELL = "text-align:left;vertical-align:baseline;padding:1px 10px 1px 0"
_NUMBER = "text-align:right;vertical-align:baseline;padding:1px 10px 1px 0"
_TABLE = "margin:0 0 4px 0;border-collapse:collapse;border:0"
_RULE = "margin:6px 0;border:0;border-top:1px solid rgba(127,127,127,.3)"
_INDENT = "margin:2px 0 8px 18px"

# Mark: (rim, ground). Kernels take the hues in turn; all differ in lightness too, and every line
# names its mark.
_KERNEL_HUES = (
    ("#5c9a4a", "rgba(92,154,74,.14)"),
    ("#3f7fbf", "rgba(63,127,191,.14)"),
    ("#c28a1e", "rgba(194,138,30,.14)"),
    ("#7d55b5", "rgba(125,85,181,.14)"),
)
_MARK_HUES = {
    "": ("transparent", "transparent"),
    "python": ("#8a8a8a", "transparent"),
    "NumPy": ("#2f8f86", "rgba(47,143,134,.12)"),
    "loop": ("#5c9a4a", "rgba(92,154,74,.14)"),
    "flow": ("#7d8f4a", "rgba(125,143,74,.12)"),
    "break": ("#c4362b", "rgba(196,54,43,.18)"),
}


def render_html(parts: Sequence[Part]) -> str:
    """One ``<div>`` with all parts."""
    return f'<div class="jitmagic-report" style="text-align:left">{_all(parts)}</div>'


def _all(parts: Sequence[Part]) -> str:
    return "\n".join(_RENDERERS[type(part)](part) for part in parts)


def _safe(text: str) -> str:
    return escape(clean(text))


def _inline(piece: Inline) -> str:
    if isinstance(piece, str):
        return _safe(piece)
    if isinstance(piece, Mono):
        return f'<code style="{_CODE}">{_safe(piece.text)}</code>'
    if isinstance(piece, Term):
        return f'<abbr title="{_safe(piece.meaning)}" style="text-decoration:none">{_safe(piece.text)}</abbr>'
    return f'<b style="{_TONES[piece.tone]}">{_safe(piece.text)}</b>'


def _pieces(pieces: Sequence[Inline]) -> str:
    return "".join(_inline(p) for p in pieces)


def _headline(part: Headline) -> str:
    counts = ", ".join(_inline(c) for c in part.counts)
    more = f' <small style="opacity:.7">({_safe(part.more)})</small>' if part.more else ""
    name = f'<b><code style="{_CODE};overflow-wrap:anywhere">{_safe(part.name)}</code></b>'
    return f'<p style="margin:4px 0">{name}: {counts}{more}</p>'


def _rule(part: Rule) -> str:
    return f'<hr style="{_RULE}">'


def _paragraph(part: Paragraph) -> str:
    return f'<p style="margin:2px 0">{_pieces(part.pieces)}</p>'


def _note(part: Note) -> str:
    return f'<p style="margin:2px 0;opacity:.75"><small>{_pieces(part.pieces)}</small></p>'


def _source_table(part: SourceTable) -> str:
    return _scrolled(f'<table style="{_TABLE}">{"".join(_source_row(x) for x in part.lines)}</table>')


def _scrolled(table: str) -> str:
    """Long lines scroll in their place: the card keeps the width of the page."""
    return f'<div style="overflow-x:auto">{table}</div>'


def _source_row(line: SourceLine) -> str:
    rim, ground = _hues(line.mark)
    said = f"<b>{line.mark}</b>" if line.mark == "break" else _safe(line.mark)
    cell = "border:0;padding:0 8px"
    return (
        f'<tr style="background:{ground}">'
        f'<td style="{cell};text-align:right;border-left:4px solid {rim}">'
        f'<small style="opacity:.65">{line.number}</small></td>'
        f'<td style="{cell};text-align:left"><small>{said}</small></td>'
        f'<td style="{cell};text-align:left"><code style="{_LINE}">{_unbroken(line.text)}</code></td></tr>'
    )


def _unbroken(text: str) -> str:
    """Indentation that lasts without CSS; a <pre> in each row would stand far apart there."""
    return re.sub(r"^ +| {2,}", lambda run: "&nbsp;" * len(run.group()), _safe(text.expandtabs(4)))


def _hues(mark: str) -> tuple[str, str]:
    first = mark.partition(", ")[0]
    if first in _MARK_HUES:
        return _MARK_HUES[first]
    number = re.search(r"\d+", mark)
    return _KERNEL_HUES[int(number.group()[-9:]) % len(_KERNEL_HUES) if number else 0]


def _excerpt(part: Excerpt) -> str:
    before, inside, after = (
        _safe(s)
        for s in (
            part.text[: part.start],
            part.text[part.start : part.stop],
            part.text[part.stop :],
        )
    )
    line = f'<u style="text-decoration-color:{_BAD};text-decoration-thickness:2px">{inside}</u>'
    return f'<pre style="{_PRE};margin:2px 0;overflow-x:auto">{before}{line if inside else ""}{after}</pre>'


def _table(part: Table) -> str:
    styles = [_NUMBER if head in part.right else _CELL for head in part.heads]
    heads = "".join(f'<th style="{s}">{_safe(h)}</th>' for h, s in zip(part.heads, styles, strict=True))
    rows = "".join(
        '<tr style="background:transparent">'
        + "".join(f'<td style="{s}">{_inline(c)}</td>' for c, s in zip(row, styles, strict=True))
        + "</tr>"
        for row in part.rows
    )
    return _scrolled(f'<table style="{_TABLE}"><tr style="background:transparent">{heads}</tr>{rows}</table>')


def _code(part: Code) -> str:
    ground = "padding:4px 8px;background:rgba(127,127,127,.10);overflow-x:auto;margin:2px 0 6px 0"
    # A line feed right after <pre> is dropped by HTML; the extra one keeps the text as it is.
    return f'<pre style="{_PRE};{ground}">\n{_safe(part.text)}</pre>'


def _picture(part: Picture) -> str:
    data = base64.b64encode(part.draw().encode()).decode()
    return (
        f'<p style="margin:4px 0"><img alt="{_safe(part.alt)}" style="max-width:100%"'
        f' src="data:image/svg+xml;base64,{data}"></p>'
    )


def _legend(part: Legend) -> str:
    chips = " ".join(
        f'<span style="background:{fill};border:1px solid {rim};border-radius:3px;color:#16191d;'
        f'padding:0 5px">{_safe(meaning)}</span>'
        for fill, rim, meaning in part.entries
    )
    return f'<p style="margin:2px 0"><small>{chips}</small></p>'


def _details(part: Details) -> str:
    opened = " open" if part.open else ""
    return (
        f'<details{opened} style="margin:2px 0"><summary style="cursor:pointer">'
        f'{_pieces(part.summary)}</summary><div style="{_INDENT}">{_all(part.body)}</div></details>'
    )


_RENDERERS: dict[type, Callable[[Any], str]] = {
    Headline: _headline,
    Paragraph: _paragraph,
    Note: _note,
    SourceTable: _source_table,
    Excerpt: _excerpt,
    Table: _table,
    Code: _code,
    Picture: _picture,
    Rule: _rule,
    Legend: _legend,
    Details: _details,
}
