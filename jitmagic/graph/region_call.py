"""What a loop node calls: the loop as plain Python, or the compiled form that a backend has put in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.region import Region

__all__ = ["RegionCall", "kind_of"]

_PYTHON = {"pyint": int, "pyfloat": float, "pybool": bool}


def kind_of(type_name: str) -> type:
    """The type of the numbers that a region calls ``pyint`` or ``float32``."""
    return _PYTHON.get(type_name) or np.dtype(type_name).type


class RegionCall:
    """``call(*operands)`` runs the loop on real arrays and numbers and gives the tuple of its results.

    Raises Unsupported if a result is not of the type that the graph goes on with; the function then runs plainly.
    """

    def __init__(self, region: Region, plain: Callable[..., tuple[Any, ...]]) -> None:
        self.region = region
        self.plain = plain
        self.compiled: Callable[..., tuple[Any, ...]] | None = None
        self._kinds = tuple(kind_of(v.type) for v in region.results)
        self.__name__ = "loop"

    @property
    def mark(self) -> str:
        """What a card calls its lines."""
        return "python" if self.compiled is None else "loop"

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """What runs the loop, without a call in between where there is a compiled form."""
        return getattr(self.compiled, "run", None) or self

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        if self.compiled is not None:
            return self.compiled(*operands)
        results = self.plain(*operands)
        if tuple(map(type, results)) != self._kinds:
            raise Unsupported("region", "a loop whose results are of another type this time")
        return results
