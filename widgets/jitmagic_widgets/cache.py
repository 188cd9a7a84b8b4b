"""Takes a compiled function, gives a panel with its entries: hits, kernels, sizes and times, and what each became."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets

from jitmagic.report.entries import entry_name
from jitmagic.report.folded import kernel_origin
from jitmagic.report.parts import Code, Details, Headline, Inline, Mono, Note, Paragraph, Part, Strong, Table
from jitmagic.report.view import View
from jitmagic.report.words import duration, plural, short_name
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.handle import Handle
from jitmagic_widgets.panel import Panel, Parts, offer, shown

__all__ = ["CacheBrowser"]

_HEADS = (
    "entry",
    "state",
    "hits",
    "guards",
    "kernels",
    "NumPy calls",
    "kernel text",
    "compiled in",
    "a call compiled",
    "a call plain",
)
_NUMBERS = frozenset(_HEADS[2:])
_MEASURED = 2  # the last columns: times of calls, known only where compiled and plain were compared


class CacheBrowser(Panel):
    """The entries in one table; picking one shows its guards in short, its lines and its kernels."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._entries: list[tuple[Entry, int]] = []
        self.table = ipywidgets.HTML()
        self.picker = ipywidgets.Dropdown(description="entry", layout=ipywidgets.Layout(width="320px"))
        self.details = ipywidgets.HTML()
        self.clear = ipywidgets.Button(description="Drop all entries", button_style="warning")
        self.clear.on_click(self._cleared)
        self.refresh()
        self.picker.observe(self._draw, "value")
        super().__init__([self.table, ipywidgets.HBox([self.picker, self.clear]), self.details])

    def refresh(self) -> None:
        """Show the entries that exist now."""
        self._entries = sorted(self._handle.all_entries(), key=lambda found: (found[1], found[0].index))
        offer(self.picker, [entry_name(entry.index, line) for entry, line in self._entries])
        self.table.value = shown(*self._summary())
        self._draw()

    def written(self) -> View:
        return Parts(self._summary)

    def _cleared(self, _: object) -> None:
        self._handle.clear()
        self.refresh()

    def _draw(self, _: object = None) -> None:
        index = self.picker.value
        found = self._entries[index : index + 1] if index is not None else []
        self.details.value = shown(*(part for entry, line in found for part in _entry_parts(entry, line)))

    def _summary(self) -> Sequence[Part]:
        handle = self._handle
        counts = (
            plural(len(self._entries), "entry", "entries"),
            plural(handle.calls, "call"),
            plural(handle.hits, "hit"),
            f"{duration(handle.record.compile_ns)} compiling",
        )
        head = Headline(short_name(handle.record.name), counts)
        if not self._entries:
            return [head, Paragraph(("nothing is compiled: call it once, then press Refresh",))]
        rows = [self._row(entry, line) for entry, line in self._entries]
        wide = len(_HEADS) if any(row[-1] or row[-2] for row in rows) else len(_HEADS) - _MEASURED
        return [head, Table(_HEADS[:wide], tuple(row[:wide] for row in rows), _NUMBERS)]

    def _row(self, entry: Entry, line: int) -> tuple[Inline, ...]:
        lowered, trial = entry.lowered, entry.trial
        return (
            entry_name(entry.index, line),
            _state(entry),
            str(entry.hit_count),
            str(len(entry.guards)),
            str(lowered.kernel_count),
            str(lowered.extern_count),
            _size(sum(len(kernel.source.encode()) for kernel in lowered.kernels)),
            duration(self._compile_ns(entry, line)),
            duration(trial.compiled_ns) if trial and trial.compiled else "",
            duration(trial.plain_ns) if trial and trial.plain else "",
        )

    def _compile_ns(self, entry: Entry, line: int) -> int:
        events = self._handle.record.compiled
        return next((e.elapsed_ns for e in reversed(events) if (e.entry, e.resume) == (entry.index, line)), 0)


def _state(entry: Entry) -> Inline:
    if entry.is_plain:
        return "plain Python"
    if entry.is_demoted:
        return Strong("slower than plain: not used", "bad")
    return "not usable any more" if entry.is_dead else Strong("in use", "good")


def _size(count_bytes: int) -> str:
    return f"{count_bytes} B" if count_bytes < 1000 else f"{count_bytes / 1000:.1f} kB"


def _entry_parts(entry: Entry, line: int) -> list[Part]:
    parts: list[Part] = [Paragraph((Strong(entry_name(entry.index, line)), f": {_lines_of(entry)}"))]
    if entry.guards:
        guards = "; ".join(dict.fromkeys(f"{h.guard.text}: {h.guard.then}" for h in entry.guards))
        parts.append(Details((f"Relies on ({plural(len(entry.guards), 'guard')})",), [Paragraph((Mono(guards),))]))
    for kernel in (*entry.lowered.kernels, *entry.lowered.loops):
        title = (Mono(kernel.name), kernel_origin(kernel.cached, kernel.elapsed_ns))
        parts.append(Details(title, [Code(kernel.source)]))
    if entry.lowered.host:
        parts.append(Details(("The Python that calls the kernels",), [Code(entry.lowered.host)]))
    return parts if len(parts) > 1 else [*parts, Note(("no kernels",))]


def _lines_of(entry: Entry) -> str:
    """``line 3: k0; line 4: extern``."""
    return "; ".join(f"line {line}: {mark}" for line, mark in entry.lowered.lines) or "no lines are marked"
