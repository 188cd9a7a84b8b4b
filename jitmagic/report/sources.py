"""Takes the cells' text, gives the lines and the names of places that a report quotes."""

from __future__ import annotations

import inspect
import linecache
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from jitmagic.errors import Span
from jitmagic.report.parts import Excerpt

__all__ = ["SourceText", "Sources"]


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file or cell: the name readers know (``Cell In[4]``) and its lines, line 1 first."""

    label: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, label: str, text: str) -> SourceText:
        """From the whole text."""
        return cls(label, tuple(text.splitlines()))


class Sources:
    """Source text by file name.

    What is not given is looked up once, in ``linecache``; a string in place of a text is the name alone.
    """

    def __init__(self, known: Mapping[str, SourceText | str] | None = None) -> None:
        self._known = {f: s if isinstance(s, SourceText) else _looked_up(f, s) for f, s in (known or {}).items()}

    def text(self, filename: str) -> SourceText:
        """The text of a file; without lines if it cannot be found."""
        if filename not in self._known:
            label = filename if filename.startswith("<") else PurePath(filename).name
            self._known[filename] = _looked_up(filename, label or filename)
        return self._known[filename]

    def place(self, span: Span) -> str:
        """``Cell In[4], line 6``."""
        return f"{self.text(span.filename).label}, line {span.line}"

    def line(self, span: Span) -> str:
        """The span's first line, or ``""``."""
        lines = self.text(span.filename).lines
        return lines[span.line - 1] if 0 < span.line <= len(lines) else ""

    def excerpt(self, span: Span, known_line: str = "") -> Excerpt | None:
        """The span's first line without its indentation, the span underlined; None if it is not
        known.

        ``known_line`` stands in where the file is gone.
        """
        line = self.line(span) or known_line
        body = line.strip()
        if not body:
            return None
        indent = len(line) - len(line.lstrip())
        # Columns count UTF-8 bytes; a line whose indentation was stripped before has lost the
        # reference.
        start, stop = (_characters(line, c) - indent for c in (span.column, span.end_column))
        if span.end_line > span.line:
            stop = len(body)
        if not 0 <= start < stop <= len(body):
            start, stop = 0, len(body)
        return Excerpt(body, start, stop)

    def block(self, span: Span) -> tuple[tuple[int, str], ...]:
        """Numbered lines of the function whose ``def`` the span names: to its end, or by
        indentation.
        """
        lines = self.text(span.filename).lines
        if not 0 < span.line <= len(lines):
            return ()
        last = span.end_line if span.end_line > span.line else span.line - 1 + _length(lines, span)
        return tuple((n, lines[n - 1]) for n in range(span.line, min(last, len(lines)) + 1))


def _looked_up(filename: str, label: str) -> SourceText:
    return SourceText(label, tuple(line.rstrip("\n") for line in linecache.getlines(filename)))


def _characters(line: str, column_bytes: int) -> int:
    return len(line.encode("utf-8", "surrogatepass")[:column_bytes].decode("utf-8", "replace"))


def _length(lines: tuple[str, ...], span: Span) -> int:
    """How many lines the function takes, as ``inspect`` finds it; 1 if it cannot."""
    try:
        block = inspect.getblock([line + "\n" for line in lines[span.line - 1 :]])
    except (SyntaxError, tokenize.TokenError):
        return 1
    while block and not block[-1].strip():
        block.pop()
    return max(1, len(block))
