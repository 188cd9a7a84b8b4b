"""Takes parts, gives plain text for a terminal: ours in ASCII, the user's as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.report.parts import (
    Code,
    Details,
    Excerpt,
    Headline,
    Inline,
    Legend,
    Note,
    Paragraph,
    Part,
    Picture,
    Rule,
    SourceLine,
    SourceTable,
    Table,
)
from jitmagic.report.words import clean, columns

__all__ = ["render_text"]

_WIDTH, _SCREEN = 76, 80  # a section inside a section is indented by four
_MORE_COLUMN = 56  # where "(... for more)" starts, so that it lines up below each other
_BREAK_MARK = "!!"


def render_text(parts: Sequence[Part]) -> str:
    """All parts, one below the other, without a line feed at the end."""
    return "\n".join(_lines(parts))


def _lines(parts: Sequence[Part]) -> list[str]:
    return [line.rstrip() for part in parts for line in _RENDERERS[type(part)](part)]


def _plain(piece: Inline) -> str:
    return clean(piece if isinstance(piece, str) else piece.text)


def _sentence(pieces: Sequence[Inline]) -> str:
    return "".join(_plain(p) for p in pieces).replace("\n", " ")


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=hang, break_on_hyphens=False) or [""]


def _headline(part: Headline) -> list[str]:
    line = f"{_plain(part.name)}: {', '.join(_plain(c) for c in part.counts)}"
    whole = f"{line:<{_MORE_COLUMN}}  ({_plain(part.more)})" if part.more else line
    if columns(whole) <= _SCREEN:
        return [whole]
    return [*_wrapped(line), *([f"  ({_plain(part.more)})"] if part.more else [])]


def _empty_line(part: Rule) -> list[str]:
    return [""]


def _paragraph(part: Paragraph) -> list[str]:
    return _wrapped(_sentence(part.pieces))


def _note(part: Note) -> list[str]:
    return _wrapped(f"({_sentence(part.pieces)})", hang=" ")


def _source_table(part: SourceTable) -> list[str]:
    digits = max((len(str(x.number)) for x in part.lines), default=1)
    marks = [_mark(x) for x in part.lines]
    wide = max((len(m) for m in marks), default=0)
    return [
        f"  {x.number:>{digits}}  {mark:<{wide}}  {clean(x.text).rstrip()}"
        for x, mark in zip(part.lines, marks, strict=True)
    ]


def _mark(line: SourceLine) -> str:
    return _BREAK_MARK if line.mark == "break" else clean(line.mark)


def _excerpt(part: Excerpt) -> list[str]:
    text = clean(part.text).replace("\t", " ")
    before, inside = text[: part.start], text[part.start : part.stop]
    carets = " " * columns(before) + "^" * columns(inside)
    return ["  " + text, *(["  " + carets] if inside else [])]


def _table(part: Table) -> list[str]:
    grid = [[_sentence([c]) for c in row] for row in (part.heads, *part.rows)]
    widths = [max(columns(row[i]) for row in grid) for i in range(len(part.heads))]
    right = [head in part.right for head in part.heads]
    return ["  ".join(map(_padded, row, widths, right)) for row in grid]


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space


def _code(part: Code) -> list[str]:
    return ["  " + line for line in clean(part.text).splitlines()]


def _picture(part: Picture) -> list[str]:
    return _wrapped(f"[picture: {_plain(part.alt)}]")


def _no_lines(part: Legend) -> list[str]:
    return []


def _details(part: Details) -> list[str]:
    if not part.open:
        return [line for text in part.text for line in _wrapped(clean(text))]
    return [*_wrapped(_sentence(part.summary)), *("  " + line for line in _lines(part.body))]


_RENDERERS: dict[type, Callable[[Any], list[str]]] = {
    Headline: _headline,
    Paragraph: _paragraph,
    Note: _note,
    SourceTable: _source_table,
    Excerpt: _excerpt,
    Table: _table,
    Code: _code,
    Picture: _picture,
    Rule: _empty_line,
    Legend: _no_lines,
    Details: _details,
}
