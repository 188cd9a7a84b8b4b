"""Takes a frame's entries and its generated check, gives the builtin that serves its calls, or nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.runtime.dispatch import Exits, Form
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.native.buckets import choose_modes, hash_of, pins_of
from jitmagic.runtime.native.checks import Checks, Surroundings
from jitmagic.runtime.native.code import is_ready, make_builtin, write_head
from jitmagic.runtime.native.entry_text import Head, Mode, Record
from jitmagic.runtime.native.steps import Plan, make_plan, write_steps
from jitmagic.runtime.native.steps_text import MADE
from jitmagic.runtime.native.words import NoForm, Words
from jitmagic.tracer.capture import Capture

__all__ = ["NativeRun", "native_program", "native_run"]


@dataclass(slots=True)
class NativeRun:
    """``run`` serves calls; ``entries`` are those that it knows, by their records' places."""

    run: Callable[..., Any]
    words: Words
    memory: np.ndarray[Any, np.dtype[np.int64]]
    places: dict[int, int] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)

    def promote(self, entry: Entry) -> None:
        """Let ``entry.go`` serve the calls that match from now on."""
        place = self.places.get(entry.index)
        if place is not None:
            self.memory[place // 8 + Record.STEPS] = 0
            self.memory[place // 8 + Record.GO] = self.words.keep(entry.go)
            self.memory[place // 8 + Record.STEPS] = self.steps.get(entry.index, 0) if entry.goes_native else 0


def native_run(
    form: Form, entries: Sequence[Entry], names: Mapping[str, Any], slow: Callable[..., Any], exits: Exits
) -> NativeRun | None:
    """The native form of ``slow``, which takes what it does not match; None if no entry has such a form."""
    around = _around(form, names)
    if not entries or not is_ready() or len(around.parameters) >= MADE:
        return None
    return _Builder(form, around).build(entries, slow, exits)


def native_program(
    form: Form, names: Mapping[str, Any], capture: Capture, direct: Any, python: Callable[..., Any]
) -> tuple[Plan | None, Callable[..., Any]]:
    """The plan of a program, and a builtin that does what ``python`` does; None and ``python`` without native form.

    ``direct`` is the backend's function for the graph.
    """
    around = _around(form, names)
    if direct is None or not is_ready() or len(around.parameters) >= MADE:
        return None, python
    try:
        plan = make_plan(capture.program, direct, list(capture.guards), around.parameters)
        return plan, _Builder(form, around).program(plan, capture.constants, python)
    except NoForm:
        return None, python


def _around(form: Form, names: Mapping[str, Any]) -> Surroundings:
    return Surroundings(form.layout.names, names, None if form.takes_cells else tuple(names["C"]))


def _give_up(*values: Any) -> Any:
    raise Bail


@dataclass(slots=True)
class _Builder:
    form: Form
    around: Surroundings
    words: Words = field(default_factory=Words)
    steps: dict[int, int] = field(default_factory=dict)

    @property
    def arity(self) -> int:
        return len(self.around.parameters) + self.form.takes_cells

    def build(self, entries: Sequence[Entry], slow: Callable[..., Any], exits: Exits) -> NativeRun | None:
        pins = {e.index: pins_of((h.guard for h in e.guards), self.around.parameters) for e in entries}
        modes = choose_modes([pins[e.index] for e in entries])
        write_head(self.words, slow, self._bailed(exits), [*modes, *[0] * (self.arity - len(modes))])
        records = {entry.index: place for entry in entries if (place := self._record(entry))}
        if not records:
            return None
        self._link(records, {index: hash_of(pins[index], modes) for index in records}, any(modes))
        self.words.words[Head.BUSY] = int(self.words.is_busy or any(mode & Mode.INT for mode in modes))
        builtin = make_builtin("entry", (self.words.block(), self.words.kept))
        return NativeRun(builtin, self.words, builtin.__self__[0], records, self.steps)  # type: ignore[attr-defined]  # a builtin

    def _record(self, entry: Entry) -> int | None:
        """Write the record of ``entry``; None, and nothing written, if it has no native form."""
        start, kept = len(self.words.words), len(self.words.kept)
        place = self.words.add(0, self.words.keep(entry.native_hits), self.words.keep(entry.go), 0)
        self.words.words[start + Record.HITS] = entry.native_hits.ctypes.data
        checks = Checks(self.words, self.around, entry.constants)
        needed = entry.plan.needed if entry.plan is not None else []
        try:
            checks.write([held.guard for held in entry.checked], needed)
        except NoForm:
            del self.words.words[start:], self.words.kept[kept:]
            return None
        if entry.plan is not None and checks.used <= MADE:
            self.steps[entry.index] = write_steps(entry.plan, self.words, checks.load, checks.errstate)
            self.words.words[start + Record.STEPS] = self.steps[entry.index] if entry.goes_native else 0
        return place

    def program(self, entry_plan: Plan, constants: Sequence[Any], python: Callable[..., Any]) -> Callable[..., Any]:
        """A builtin that runs the steps of a plan without checking anything."""
        write_head(self.words, python, _give_up, [0] * self.arity)
        counter = np.zeros(1, np.int64)
        self.words.kept.append(counter)
        place = self.words.add(0, counter.ctypes.data, 0, 0)
        checks = Checks(self.words, self.around, constants)
        checks.write([], entry_plan.needed)
        if checks.used > MADE:
            raise NoForm("too many values are read")
        self.words.words[place // 8 + Record.STEPS] = write_steps(entry_plan, self.words, checks.load)
        self.words.words[Head.FIRST] = place
        self.words.words[Head.BUSY] = int(self.words.is_busy)
        return make_builtin("entry", (self.words.block(), self.words.kept))

    def _link(self, records: dict[int, int], hashes: dict[int, int], hashed: bool) -> None:
        """Chain the records: in one row, or in a row for each bucket; each row keeps the order of the entries."""
        count = 1
        if hashed and len(records) > 1:
            while count < 2 * len(records):
                count *= 2
        rows: dict[int, list[int]] = {}
        for index, place in records.items():
            rows.setdefault(hashes[index] & (count - 1), []).append(place)
        for row in rows.values():
            for place, following in itertools.pairwise(row):
                self.words.words[place // 8 + Record.NEXT] = following
        self.words.words[Head.FIRST] = rows.get(0, [0])[0]
        self.words.words[Head.MASK] = count - 1
        self.words.words[Head.BUCKETS] = self.words.add(*(rows.get(k, [0])[0] for k in range(count)))

    def _bailed(self, exits: Exits) -> Callable[..., Any]:
        bailed, cells, takes_cells = exits.bailed, self.around.cells, self.form.takes_cells

        def run_plain(*values: Any) -> Any:
            return bailed(values[:-1], values[-1]) if takes_cells else bailed(values, cells)

        return run_plain
