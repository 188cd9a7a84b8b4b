"""The parts of the other stages that the magics drive, as one record, so that a test can hand in its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jitmagic.events import Event

__all__ = ["CardOptions", "Engine"]


@dataclass(frozen=True, slots=True)
class CardOptions:
    """How a card is to be drawn: ``report`` is auto, full or line; ``graph`` fold, open, widget, text or none."""

    report: str = "auto"
    graph: str = "fold"


@dataclass(frozen=True, slots=True)
class Engine:
    """``compile`` is ``jm.compile``; ``functions`` gives what is compiled and alive; ``report`` draws events."""

    compile: Callable[..., Any]
    functions: Callable[[], Iterable[Any]]
    report: Callable[[Sequence[Event], CardOptions], Any]
    backends: Callable[[], Iterable[str]]
    clear_all: Callable[[], object]
