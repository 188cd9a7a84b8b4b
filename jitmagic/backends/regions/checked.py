"""The indices that were found in range at the present place of a kernel: takes their text, gives the name of each.

    u[i + 1, j] + u[i + 1, k]                  i + 1 is looked at once

What is found holds in the block where it was found and in those inside of it, as long as no variable of it changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["Checked"]

_NAMES = re.compile(r"[^\W\d]\w*")
_CALL = re.compile(r"\w\(")  # reads memory, which changes


class Checked:
    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def find(self, text: str, size: str) -> str | None:
        return self._known.get((text, size))

    def add(self, text: str, size: str, name: str) -> None:
        """``name`` holds the index ``text`` of an axis of ``size`` elements, counted from the start."""
        if not _CALL.search(text):
            self._known[text, size] = name

    def forget(self, variables: Iterable[str]) -> None:
        """What mentions one of the variables: they have other values from here on."""
        changed = set(variables)
        self._known = {key: name for key, name in self._known.items() if changed.isdisjoint(_NAMES.findall(key[0]))}

    @contextmanager
    def block(self, variables: Iterable[str] = ()) -> Iterator[None]:
        """Inside stand lines that may not run, or run again, and that change ``variables``."""
        self.forget(variables)
        around = self._known
        self._known = dict(around)
        try:
            yield
        finally:
            self._known = around

    @contextmanager
    def function(self) -> Iterator[None]:
        """Inside stand the lines of another function."""
        around, self._known = self._known, {}
        try:
            yield
        finally:
            self._known = around
