"""The parts of the other stages that the magics drive, as one record; a test hands in its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jitmagic.events import Event

__all__ = ["CardOptions", "Draw", "Engine"]


@dataclass(frozen=True, slots=True)
class CardOptions:
    """How a card is drawn. ``report``: auto, full, line; ``graph``: fold, open, widget, text, none.

    With ``quiet`` only what went otherwise than hoped is told.
    """

    report: str = "auto"
    graph: str = "fold"
    quiet: bool = False


class Draw(Protocol):
    """Makes the card of some events; ``labels`` names cells by their file names."""

    def __call__(self, events: Sequence[Event], options: CardOptions, labels: Mapping[str, str]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Engine:
    """``compile`` is ``jm.compile``, ``functions`` gives what is compiled and alive."""

    compile: Callable[..., Any]
    functions: Callable[[], Iterable[Any]]
    draw: Draw
    backends: Callable[[], Iterable[str]]
    reset: Callable[[], object]
    run_loop: Callable[[Any, dict[str, Any], str, bool], bool] | None = None  # a loop of the cell itself, as one kernel
