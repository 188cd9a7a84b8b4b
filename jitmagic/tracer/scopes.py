"""The variables of a comprehension: cells, so that functions made inside share them as Python's do."""

from __future__ import annotations

from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.functions import Cell

__all__ = ["Scope"]


class Scope:
    """Names of one comprehension while it runs."""

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.cells

    def store(self, name: str, value: VariableTracker) -> None:
        self.cells.setdefault(name, Cell(name)).content = value

    def load(self, name: str) -> VariableTracker | None:
        """The value, or None if the loop has not bound it yet."""
        return self.cells[name].content
