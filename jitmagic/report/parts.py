"""Takes nothing, gives the vocabulary of a report: what a card says, before it is HTML or text.

Every text field may hold anything the user wrote; the renderers escape it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = [
    "Code",
    "Details",
    "Excerpt",
    "Headline",
    "Inline",
    "Legend",
    "Mono",
    "Note",
    "Paragraph",
    "Part",
    "Picture",
    "Rule",
    "SourceLine",
    "SourceTable",
    "Strong",
    "Table",
    "Term",
]


@dataclass(frozen=True, slots=True)
class Mono:
    """Code inside a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that carry the message; ``tone`` is ``""``, ``"bad"`` or ``"good"``."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of ours; ``meaning`` shows when the pointer rests on it. Say the meaning somewhere in the text as well."""

    text: str
    meaning: str


Inline = str | Mono | Strong | Term


@dataclass(frozen=True, slots=True)
class Headline:
    """``name: count, count, count    (more)``. ``more`` says where the rest can be seen."""

    name: str
    counts: tuple[Inline, ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or two."""

    pieces: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Small print, such as the meaning of a term."""

    pieces: tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's; ``mark`` is ``k0``, ``loop``, ``flow``, ``NumPy``, ``python``, ``break`` or empty."""

    number: int
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The user's own lines, each with what became of it."""

    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """One source line with the characters from ``start`` to ``stop`` underlined."""

    text: str
    start: int = 0
    stop: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under column heads; a column named in ``right`` holds numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]
    right: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Code:
    """A block of program text, printed as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document, drawn only where it is shown, and the words for those who do not see it."""

    draw: Callable[[], str]
    alt: str


@dataclass(frozen=True, slots=True)
class Legend:
    """Which colour stands for which role: (fill, rim, meaning) each. It has no text form."""

    entries: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line between what belongs to two functions."""


@dataclass(frozen=True, slots=True)
class Details:
    """A section that folds. Text has no folding: a closed section prints its ``text`` lines
    instead.
    """

    summary: tuple[Inline, ...]
    body: Sequence[Part]
    open: bool = False
    text: tuple[str, ...] = ()


Part = Headline | Paragraph | Note | SourceTable | Excerpt | Table | Code | Picture | Legend | Rule | Details
