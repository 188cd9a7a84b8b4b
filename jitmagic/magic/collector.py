"""Takes the events of every thread, gives a card under each cell: what compiled, what fell back."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.events import (
    BreakEvent,
    CompileEvent,
    DemotionEvent,
    Event,
    FallbackEvent,
    RecompileEvent,
    subscribe,
)
from jitmagic.magic.engine import CardOptions, Draw
from jitmagic.magic.options import CellOptions
from jitmagic.magic.progress import Progress
from jitmagic.magic.shown import show
from jitmagic.magic.source import cell_label

__all__ = ["Collector"]

_REMARKABLE = (BreakEvent, DemotionEvent, FallbackEvent, RecompileEvent)
_PENDING_LIMIT = 100_000  # events kept for the next card while nothing is displayed
_ROOM = 64
_DEFAULT = CellOptions()


@dataclass(slots=True)
class Collector:
    """Keeps events until the running cell ends; ``settings`` says what holds where a cell said nothing."""

    shell: Any
    draw: Draw
    settings: Callable[[], CardOptions]
    progress: Progress
    panels: Callable[[Iterable[int]], Iterable[Any]] = lambda owners: ()  # of the functions with these owners
    living: Callable[[], Iterable[tuple[int, str]]] = lambda: ()  # owner and file name of each compiled function
    _pending: deque[Event] = field(default_factory=lambda: deque(maxlen=_PENDING_LIMIT))
    _options: dict[str, CellOptions] = field(default_factory=dict)  # file name of a cell -> options
    _files: dict[int, str] = field(default_factory=dict)  # owner -> file name of its ``def``
    _outs: dict[str, str] = field(default_factory=dict)  # file name -> variable for the report
    _later: list[Callable[[], Any]] = field(default_factory=list)
    _room: int = _ROOM  # cells that are remembered before those without functions are looked for
    _stop: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Listen to the events of this process."""
        self._stop = subscribe(self._seen)

    def stop(self) -> None:
        """Listen no longer; what was pending is dropped."""
        self._stop()
        self._pending.clear()

    def defined(self, filename: str, options: CellOptions) -> None:
        """A cell with these options is about to run; they hold for its functions from now on."""
        if len(self._options) >= self._room:
            self._forget_dead()
        self._options[filename] = options
        if options.out:
            self._outs[filename] = options.out

    def _forget_dead(self) -> None:
        """Let go of cells whose functions are gone; what is pending may still speak of others."""
        files = dict(self.living()) | {event.owner: self._file_of(event) for event in list(self._pending)}
        self._files = {owner: file for owner, file in self._files.items() if owner in files}
        kept = {*files.values(), *self._files.values(), *self._outs}
        self._options = {file: options for file, options in self._options.items() if file in kept}
        self._room = max(_ROOM, 2 * len(self._options))

    def after_card(self, view: Callable[[], Any]) -> None:
        """Show what ``view`` gives below the card of the running cell."""
        self._later.append(view)

    def _seen(self, event: Event) -> None:
        self._pending.append(event)
        if _in_main_thread() and self._report_of(self._options_of(event)) != "none":
            self.progress.seen(event)

    def cell_ended(self, result: object = None) -> None:
        """Show what happened (``post_run_cell``). Never raises: a card that fails must not fail the cell."""
        if not _in_main_thread():
            return
        try:
            self._show()
        except Exception as error:
            print(  # noqa: T201 - the card itself failed, so it cannot tell
                f"jitmagic: the card could not be shown ({type(error).__name__}: {error}); results are not affected",
                file=sys.stderr,
            )

    def _show(self) -> None:
        events = self._take()
        later, self._later = self._later, []
        self._store_outs(events)
        cards: list[Any] = []
        panels: list[Any] = []
        for group in self._groups(events):
            if (card := self._card(*group)) is not None:
                cards.append(card)
                panels += self._panels(*group)
        if self.progress.finish(cards[0] if cards else None):
            cards = cards[1:]
        for shown in (*cards, *panels, *(view() for view in later)):
            show(shown)

    def _take(self) -> list[Event]:
        events = [self._pending.popleft() for _ in range(len(self._pending))]
        for event in events:
            if isinstance(event, CompileEvent):
                self._files.setdefault(event.owner, event.span.filename)
        return events

    def _store_outs(self, events: Sequence[Event]) -> None:
        outs, self._outs = self._outs, {}
        for filename, variable in outs.items():
            own = [event for event in events if self._file_of(event) == filename]
            self.shell.user_ns[variable] = self._drawn(self._options[filename], own)

    def _groups(self, events: Sequence[Event]) -> list[tuple[CellOptions, list[Event]]]:
        """The events by the options that hold for them, in the order of each first event."""
        groups: dict[CellOptions, list[Event]] = {}
        for event in events:
            options = self._options_of(event)
            if not options.quiet or isinstance(event, _REMARKABLE):
                groups.setdefault(options, []).append(event)
        return list(groups.items())

    def _card(self, options: CellOptions, events: Sequence[Event]) -> Any | None:
        """The card of these events, or None where none is wanted or there is nothing to say."""
        kind = self._report_of(options)
        if kind == "none":
            return None
        report = self._drawn(options, events)
        return report if kind != "auto" or report.is_worth_showing else None

    def _panels(self, options: CellOptions, events: Sequence[Event]) -> Iterable[Any]:
        """With ``--graph widget``, what can be clicked below the card."""
        graph = options.graph or self.settings().graph
        return self.panels({event.owner for event in events}) if graph == "widget" else ()

    def _options_of(self, event: Event) -> CellOptions:
        return self._options.get(self._file_of(event), _DEFAULT)

    def _file_of(self, event: Event) -> str:
        return self._files.get(event.owner, event.span.filename)

    def _report_of(self, options: CellOptions) -> str:
        """The kind of card; with the session's setting ``none`` nothing is shown at all."""
        general = self.settings().report
        return general if general == "none" else options.report or general

    def _drawn(self, options: CellOptions, events: Sequence[Event]) -> Any:
        general = self.settings()
        how = CardOptions(options.report or general.report, options.graph or general.graph, options.quiet)
        return self.draw(events, how, self._labels(events))

    def _labels(self, events: Iterable[Event]) -> dict[str, str]:
        """``Cell In[4]`` for the file name of each cell that the events speak of."""
        filenames = {event.span.filename for event in events}
        filenames |= {e.caller.filename for e in events if isinstance(e, RecompileEvent) and e.caller}
        labels = {filename: cell_label(self.shell, filename) for filename in filenames}
        return {filename: label for filename, label in labels.items() if label != filename}


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
