"""Takes something that can say its parts, gives what notebooks, terminals and files can show.

A view that fails never breaks the cell: HTML falls back to text, text to one line that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from jitmagic.report.html import render_html
from jitmagic.report.parts import Code, Note, Part
from jitmagic.report.text import render_text
from jitmagic.report.words import failure

__all__ = ["RecordsView", "View"]

Record = TypeVar("Record")


class View:
    """Base of everything shown. Subclasses give ``parts()``; an empty list shows nothing."""

    def parts(self) -> Sequence[Part]:
        """What is said, from top to bottom."""
        raise NotImplementedError

    @property
    def html(self) -> str:
        """The HTML form; the text form in it, with a line that says so, if it cannot be made."""
        try:
            return render_html(self.parts())
        except Exception as error:
            return render_html([Note((failure("HTML", error),)), Code(self.text)])

    @property
    def text(self) -> str:
        """The plain form for a terminal, without a line feed at the end."""
        try:
            return render_text(self.parts())
        except Exception as error:
            return failure("report", error)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Both forms; front ends choose. Empty if there is nothing to show."""
        text = self.text
        return {"text/html": self.html, "text/plain": text} if text else {}


class RecordsView(View, Generic[Record]):
    """A view of records that can also be counted, indexed and looped over."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = tuple(records)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]
