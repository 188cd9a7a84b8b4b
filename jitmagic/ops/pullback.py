"""The node that hands the backward half of a computation to the caller: an object that is called with cotangents.

``pullback((y1, ...), (x1, ...))`` in a captured graph; in the pure joint graph it reads the gradients, and in the
forward half the values that were saved for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.errors import InternalError
from jitmagic.graph.graph import Graph
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.registry import parse_signature

__all__ = ["PULLBACK", "Backward", "RawPullback"]

Program = Callable[[list[Any]], Sequence[Any]]


def _never(*_: Any) -> Any:
    raise InternalError("a request for a pullback was run before it was expanded")


def _no_description(call: Arguments) -> Inferred:
    return Inferred(None)


PULLBACK = Op("pullback", _never, _no_description, signature=parse_signature("values, watched, /"))


@dataclass(frozen=True, slots=True, eq=False)
class RawPullback:
    """``raw(cotangents)`` gives the list of gradients; it may be called many times."""

    program: Program = field(repr=False)
    saved: tuple[Any, ...] = field(repr=False)

    def __call__(self, cotangents: Sequence[Any]) -> list[Any]:
        return list(self.program([*self.saved, *cotangents]))


@dataclass(slots=True, eq=False)
class Backward:
    """What the node calls in the forward half: it gathers the saved values. ``program`` is the compiled ``graph``."""

    graph: Graph
    copied: frozenset[int] = frozenset()  # saved values whose memory others may write later
    program: Program | None = None
    __name__: str = "pullback"

    def __call__(self, *saved: Any) -> RawPullback:
        if self.program is None:
            raise InternalError(f"the backward graph {self.graph.name!r} was not compiled")
        return RawPullback(self.program, tuple(v.copy() if i in self.copied else v for i, v in enumerate(saved)))

    @property
    def row(self) -> Op:
        """The operation of the node in the forward half."""
        return Op("pullback", self, _no_description)
