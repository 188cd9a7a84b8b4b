"""What a loop node calls: the loop as plain Python, or the compiled form that a backend has put in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.graph.region import Region

__all__ = ["RegionCall"]


class RegionCall:
    """``call(*operands)`` runs the loop on real arrays and numbers and gives the tuple of its results."""

    def __init__(self, region: Region, plain: Callable[..., tuple[Any, ...]]) -> None:
        self.region = region
        self.plain = plain
        self.compiled: Callable[..., tuple[Any, ...]] | None = None
        self.__name__ = "loop"

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        return (self.compiled or self.plain)(*operands)
