"""Takes a compiled function, gives a panel with the guards of each entry as a tree, and "would this call hit?"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets

from jitmagic.events import RecompileEvent
from jitmagic.report.entries import entry_name
from jitmagic.report.parts import Details, Headline, Inline, Mono, Note, Paragraph, Part, Strong, Table
from jitmagic.report.view import View
from jitmagic.report.words import plural, short_name
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.handle import Handle
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.part_names import readable
from jitmagic_widgets.arguments import ArgumentError, ArgumentFields
from jitmagic_widgets.foresight import Foresight, bound, foresee
from jitmagic_widgets.panel import Panel, Parts, offer, shown
from jitmagic_widgets.tree import Outcome, matching, tree_parts

__all__ = ["GuardInspector"]

_HELD, _NOT_REACHED = Outcome("held", "good"), Outcome("not reached")
_HOW = "Choose variables or type expressions. Only guards are checked: the function does not run, nothing is compiled."


class GuardInspector(Panel):
    """Pick an entry, filter its guards, and ask which entry a call with given arguments would hit.

    ``namespace`` holds the variables that may be chosen; by default the notebook's.
    """

    def __init__(self, handle: Handle, namespace: Mapping[str, Any] | None = None) -> None:
        self._handle = handle
        self._entries: list[tuple[Entry, int]] = []
        self._foresight: Foresight | None = None
        self.picker = ipywidgets.Dropdown(description="entry", layout=ipywidgets.Layout(width="320px"))
        self.filter = ipywidgets.Text(description="filter", placeholder="dtype, np, SIZE ...")
        self.tree = ipywidgets.HTML()
        self.arguments = ArgumentFields(handle.frame.plain, namespace)
        self.button = ipywidgets.Button(description="Would this call hit?", button_style="primary")
        self.verdict = ipywidgets.HTML(shown(Note((_HOW,))))
        self.refresh()
        self.picker.observe(self._draw, "value")
        self.filter.observe(self._draw, "value")
        self.arguments.observe(self._edited)
        self.button.on_click(self._asked)
        fields = ipywidgets.VBox(list(self.arguments.fields.values()))
        super().__init__([ipywidgets.HBox([self.picker, self.filter]), self.tree, fields, self.button, self.verdict])

    # -- what can be done with it
    def refresh(self) -> None:
        """Show the entries that exist now."""
        self._entries = sorted(self._handle.all_entries(), key=lambda found: (found[1], found[0].index))
        self._foresight = None
        self.arguments.offer()
        offer(self.picker, [_label(entry, line) for entry, line in self._entries])
        self._draw()

    def check(self, *args: Any, **kwargs: Any) -> Foresight:
        """What the call ``f(*args, **kwargs)`` would meet; the panel shows it. Nothing is run or compiled.

        Raises TypeError if the call does not fit the function's signature.
        """
        return self._show_foresight(bound(self._handle.frame.plain, args, kwargs))

    def written(self) -> View:
        return Parts(self._static_parts)

    # -- how it looks
    def _draw(self, _: object = None) -> None:
        self.tree.value = shown(*self._tree_parts())

    def _tree_parts(self) -> Sequence[Part]:
        picked = self.picker.value
        if picked is None or picked >= len(self._entries):
            return [Paragraph(("not compiled yet: call it once, then press Refresh",))]
        entry, line = self._entries[picked]
        guards = [held.guard for held in entry.guards]
        chosen = matching(guards, self.filter.value)
        count = (
            f"{len(chosen)} of {plural(len(guards), 'guard')}" if self.filter.value else plural(len(guards), "guard")
        )
        title = Paragraph((Strong(entry_name(entry.index, line)), f": {count}"))
        return [title, *tree_parts(guards, self._outcomes(entry, line), self.filter.value)]

    def _outcomes(self, entry: Entry, line: int) -> list[Outcome]:
        guards = [held.guard for held in entry.guards]
        known = {id(e) for e, _ in self._foresight.failures} if self._foresight else set()
        if self._foresight is None or id(entry) not in known:
            return [self._recorded(entry, line, guard) for guard in guards]
        failure = self._foresight.failure_of(entry)
        if failure is None:
            return [_HELD] * len(guards)
        after = len(guards) - failure.position - 1
        failed = Outcome(f"would fail: is {failure.now}", "bad")
        return [*[_HELD] * failure.position, failed, *[_NOT_REACHED] * after]

    def _recorded(self, entry: Entry, line: int, guard: Guard) -> Outcome:
        """What is known from the calls that were made since the entry exists."""
        record = self._handle.record
        since = next((e.call for e in reversed(record.compiled) if (e.entry, e.resume) == (entry.index, line)), 0)
        failed = next((e for e in reversed(record.recompiles) if e.call > since and _is_about(e, guard)), None)
        if failed is not None:
            return Outcome(f"call {failed.call} came with {failed.now}", "bad")
        return Outcome("held") if entry.hit_count else Outcome("not asked yet")

    # -- would this call hit?
    def _edited(self, _: object) -> None:
        if not self.arguments.is_untouched:
            self._ask()

    def _asked(self, _: object) -> None:
        self.arguments.offer()
        self._ask()

    def _ask(self) -> None:
        try:
            self._show_foresight(self.arguments.values())
        except ArgumentError as error:
            self.verdict.value = shown(Paragraph((Strong("not checked", "bad"), f": {error}")))
        except Exception as error:  # a panel that raises would say nothing at all in the notebook
            self.verdict.value = shown(Paragraph((Strong("not checked", "bad"), f": {type(error).__name__}: {error}")))

    def _show_foresight(self, values: Mapping[str, Any]) -> Foresight:
        found = self._foresight = foresee(self._handle, values)
        self.verdict.value = shown(*_verdict_parts(found))
        self._draw()
        return found

    # -- without a kernel
    def _static_parts(self) -> list[Part]:
        name = short_name(self._handle.record.name)
        parts: list[Part] = [Headline(name, (plural(len(self._entries), "entry", "entries"),), "guards")]
        for entry, line in self._entries:
            guards = [held.guard for held in entry.guards]
            tree = tree_parts(guards, self._outcomes(entry, line))
            parts.append(
                Details((Strong(entry_name(entry.index, line)), f": {plural(len(guards), 'guard')}"), tree, True)
            )
        return [*parts, *(_verdict_parts(self._foresight) if self._foresight else [])]


def _label(entry: Entry, line: int) -> str:
    kind = " (plain Python)" if entry.is_plain or entry.is_demoted else ""
    return f"{entry_name(entry.index, line)}: {plural(entry.hit_count, 'hit')}{kind}"


def _is_about(event: RecompileEvent, guard: Guard) -> bool:
    known = tuple(readable(text) for text in (guard.text, guard.source.text, guard.then))
    return (event.guard, event.source, event.then) == known


def _verdict_parts(found: Foresight) -> list[Part]:
    tone = "good" if found.hit else "bad"
    rows: list[tuple[Inline, ...]] = []
    for entry, failure in sorted(found.failures, key=lambda pair: pair[0].index):
        if failure is None:
            rows.append((entry_name(entry.index, 0), Strong("all guards hold", "good"), "", ""))
        else:
            guard = failure.guard
            rows.append(
                (entry_name(entry.index, 0), Mono(readable(guard.text)), Mono(guard.then), Strong(failure.now, "bad"))
            )
    table = [Table(("entry", "first guard that fails", "then", "now"), tuple(rows))] if rows else []
    remedies = dict.fromkeys(f.guard.remedy for _, f in found.failures if f and f.guard.remedy)
    advice = [Paragraph((Strong("try:"), f" {'; '.join(remedies)}"))] if remedies and not found.hit else []
    return [Paragraph((Strong(found.verdict, tone),)), *table, *advice]
