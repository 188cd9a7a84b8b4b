"""What is known of the numbers in a list of the caller, before anything is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.tracer.guards import LengthSource, Source

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["GivenNumbers"]

FEW = 8  # numbers that are always looked at one by one
_PYTHON = {int: "pyint", float: "pyfloat", bool: "pybool"}
_INT64 = (-(2**63), 2**63 - 1)


@dataclass(frozen=True, slots=True)
class GivenNumbers:
    """``value`` is the list of this trace, found at ``source``."""

    builder: Builder
    value: list[Any]
    source: Source

    @property
    def is_long(self) -> bool:
        return len(self.value) > FEW

    @property
    def kind(self) -> str:
        """The region's name for the type of all its elements; empty if they are of several, or no numbers."""
        types = set(map(type, self.value))
        if len(types) != 1:
            return ""
        (found,) = types
        if found is int and not (_INT64[0] <= min(self.value) and max(self.value) <= _INT64[1]):
            return ""
        if found in _PYTHON:
            return _PYTHON[found]
        is_number = issubclass(found, np.number | np.bool_) and np.dtype(found).kind in "biuf"
        return np.dtype(found).name if is_number and np.dtype(found).type is found else ""

    @property
    def words(self) -> str:
        """What is in it, for people."""
        types = {t.__name__ for t in map(type, self.value)}
        return " and ".join(sorted(types)) or "no numbers"

    def length(self) -> VariableTracker:
        """A constant at first; a symbol for lists whose length changes, as for an argument that is an int."""
        return self.builder.integer(len(self.value), LengthSource(self.source))
