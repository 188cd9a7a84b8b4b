"""A table under construction: takes numbers and objects, gives a block of words and what must live as long as it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["NoForm", "Words"]


class NoForm(Exception):
    """This cannot be said in a table; generated Python does it."""


@dataclass(slots=True)
class Words:
    """``kept`` holds every object whose address stands among the words.

    ``is_busy``: something was written (a check or a step) at which other code may run.
    """

    words: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    is_busy: bool = False

    @property
    def place(self) -> int:
        """Where the next word goes, in bytes from the start."""
        return len(self.words) * 8

    def add(self, *values: int) -> int:
        """Append words; gives the place of the first."""
        place = self.place
        self.is_busy = self.is_busy or getattr(values[0], "is_busy", False)
        self.words += [int(value) for value in values]
        return place

    def keep(self, value: Any) -> int:
        """The address of an object that lives as long as the table."""
        self.kept.append(value)
        return id(value)

    def block(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The words in memory."""
        return np.array([_signed(word) for word in self.words], np.int64)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word
