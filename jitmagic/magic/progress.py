"""Takes the compile events of a running cell, shows that it is compiling once that takes long.

Only in a notebook: a terminal would print every update below the one before. The last update is the card.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from jitmagic import config
from jitmagic.events import CompileEvent, Event, KernelEvent
from jitmagic.magic.shown import is_captured, show_replaceable

__all__ = ["Progress"]

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Note:
    """The line shown while compiling."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = f'<div style="opacity:.7"><code>{html.escape(self.text)}</code></div>'
        return {"text/html": shown, "text/plain": self.text}


@dataclass(slots=True)
class Progress:
    """Call only from the main thread."""

    shell: Any
    _spent_ns: dict[type[Event], int] = field(default_factory=dict)
    _kernels: int = 0
    _handle: Any = None

    def seen(self, event: Event) -> None:
        """Count one event, and show or update the line if it is time."""
        if not isinstance(event, CompileEvent | KernelEvent):
            return
        if isinstance(event, KernelEvent) and event.cached:
            return  # its time is what it took when it was compiled
        kind = type(event)
        self._spent_ns[kind] = self._spent_ns.get(kind, 0) + event.elapsed_ns
        self._kernels += isinstance(event, KernelEvent)
        if self.seconds >= config.current().progress_after and self._can_show():
            kernels = "1 kernel" if self._kernels == 1 else f"{self._kernels} kernels"
            self._show(f"compiling {event.function}: {kernels}, {self.seconds:.1f} s so far")

    @property
    def seconds(self) -> float:
        """Seconds spent compiling; the time of a function's kernels may be part of its own."""
        return max(self._spent_ns.values(), default=0) / _NANOSECONDS

    def _can_show(self) -> bool:
        in_notebook = getattr(self.shell, "kernel", None) is not None
        return in_notebook and not is_captured(self.shell)

    def _show(self, text: str) -> None:
        if self._handle is None:
            self._handle = show_replaceable(_Note(text))
        else:
            self._handle.update(_Note(text))

    def finish(self, card: Any = None) -> bool:
        """The cell has ended: put ``card`` in the place of the line; False if there is no such place."""
        handle, self._handle = self._handle, None
        self._spent_ns.clear()
        self._kernels = 0
        if handle is None:
            return False
        if card is None:
            handle.update({"text/plain": ""}, raw=True)
        else:
            handle.update(card)
        return True
