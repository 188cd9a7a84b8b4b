"""Takes plain records, gives the views behind ``f.jit.<verb>()`` and ``%jit <verb>``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jitmagic.errors import Span
from jitmagic.events import BreakEvent, FallbackEvent, GuardRecord, KernelEvent, RecompileEvent
from jitmagic.report.entries import because, entry_name
from jitmagic.report.folded import guard_table
from jitmagic.report.graphview import GraphView
from jitmagic.report.measures import CheckRecord, CheckView, Difference, TimeRecord, TimeView
from jitmagic.report.parts import (
    Code,
    Details,
    Inline,
    Mono,
    Note,
    Paragraph,
    Part,
    Strong,
    Table,
)
from jitmagic.report.sections import break_section, fallback_sections, recompile_section, source_table
from jitmagic.report.sources import Sources, SourceText
from jitmagic.report.story import Story, distinct_breaks, fold_recompiles
from jitmagic.report.terms import Setting
from jitmagic.report.view import RecordsView
from jitmagic.report.words import duration, plural, short_name

__all__ = [
    "BreaksView",
    "CheckRecord",
    "CheckView",
    "Difference",
    "EntryGuards",
    "FunctionRow",
    "FunctionsTable",
    "GraphView",
    "GuardsView",
    "SourceView",
    "TimeRecord",
    "TimeView",
    "WhyView",
]

SourceMap = Mapping[str, SourceText | str]


# --- %jit ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One compiled function; ``where`` is a place in words, such as ``Cell In[4], line 2``."""

    function: str
    where: str
    entries: int
    calls: int
    hits: int
    recompiles: int
    breaks: int
    compile_ns: int


class FunctionsTable(RecordsView[FunctionRow]):
    """All compiled functions of the session, in the order given."""

    _HEADS = (
        "function",
        "where",
        "entries",
        "calls",
        "hits",
        "recompiles",
        "breaks",
        "compiling",
    )

    def parts(self) -> Sequence[Part]:
        if not self.records:
            return [Paragraph(("no compiled functions yet: put %%compile on top of a cell",))]
        rows = tuple(
            (
                Mono(short_name(r.function)),
                r.where,
                str(r.entries),
                str(r.calls),
                str(r.hits),
                str(r.recompiles),
                str(r.breaks),
                duration(r.compile_ns) if r.compile_ns else "-",
            )
            for r in self.records
        )
        return [Table(self._HEADS, rows, right=frozenset(self._HEADS[2:]))]


# --- guards --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntryGuards:
    """The guards of one entry. ``outcomes``, if given, has a word for each: ``held``, ``failed``,
    ``not reached``.
    """

    entry: int
    guards: tuple[GuardRecord, ...]
    resume: int = 0
    outcomes: tuple[str, ...] = ()
    cause: RecompileEvent | None = None  # what it was made for


class GuardsView(RecordsView[EntryGuards]):
    """The conditions under which each entry of a function may be used again."""

    def __init__(self, function: str, records: Sequence[EntryGuards], *, absent: str = "") -> None:
        super().__init__(records)
        self._absent = absent
        self.function = short_name(function)

    def parts(self) -> Sequence[Part]:
        if not self.records:
            return [Paragraph((self._absent or f"{self.function} has not been compiled yet: call it once",))]
        setting = Setting(Sources())
        parts: list[Part] = []
        for record in self.records:
            if not record.guards:
                continue
            title = f"{self.function}, {entry_name(record.entry, record.resume)}"
            count = plural(len(record.guards), "guard")
            count += f"; made because {because(record.cause)}" if record.cause else ""
            table = guard_table(record.guards, record.outcomes)
            parts.append(Details((Strong(title), f": {count}"), [table], open=True))
        kinds = setting.define_kinds(g for record in self.records for g in record.guards)
        return [*parts, *setting.define("guard", "entry"), *kinds]


# --- why, breaks ---------------------------------------------------------------------------------


class WhyView(RecordsView[RecompileEvent]):
    """Why a function was compiled again, newest first; ``entries_left`` until the limit."""

    def __init__(
        self,
        function: str,
        records: Sequence[RecompileEvent],
        *,
        sources: SourceMap | None = None,
        entries_left: int | None = None,
    ) -> None:
        super().__init__(records)
        self.function = short_name(function)
        self.entries_left = entries_left
        self._sources = Sources(sources)

    def parts(self) -> Sequence[Part]:
        if not self.records:
            return [Paragraph((f"{self.function} was never compiled again",))]
        setting = Setting(self._sources)
        causes = reversed(fold_recompiles(self.records))
        parts: list[Part] = [Paragraph((Strong(self.function),))]
        parts += [recompile_section(cause, setting) for cause in causes]
        if self.entries_left is not None:
            left = plural(self.entries_left, "more entry", "more entries")
            parts.append(Note((f"{left} until the limit",)))
        return parts


class BreaksView(RecordsView[BreakEvent]):
    """Graph breaks with line, reason and what avoids them; ``fallbacks`` are calls that ran as plain Python."""

    def __init__(
        self,
        records: Sequence[BreakEvent],
        *,
        function: str = "",
        fallbacks: Sequence[FallbackEvent] = (),
        sources: SourceMap | None = None,
    ) -> None:
        super().__init__(records)
        self._about = f"{short_name(function)}: " if function else ""
        self._fallbacks = tuple(fallbacks)
        self._sources = Sources(sources)

    def parts(self) -> Sequence[Part]:
        setting = Setting(self._sources)
        plain = fallback_sections(Story(self._about, 0, fallbacks=list(self._fallbacks)), setting)
        if not self.records:
            return [Paragraph((f"{self._about}no graph breaks",)), *plain]
        parts: list[Part] = []
        last = ""
        for event, count in distinct_breaks(self.records):
            name = short_name(event.function)
            if name != last:
                parts.append(Paragraph((Strong(name),)))
            parts.append(break_section(event, count, setting))
            last = name
        return [*parts, *plain]


# --- source --------------------------------------------------------------------------------------


class SourceView(RecordsView[KernelEvent]):
    """The user's lines with their marks, then the generated program of each kernel.

    ``definition`` is the function's ``def`` line, ``lines`` what became of each line.
    """

    def __init__(
        self,
        function: str,
        records: Sequence[KernelEvent],
        *,
        definition: Span | None = None,
        lines: Sequence[tuple[int, str]] = (),
        sources: SourceMap | None = None,
        absent: str = "",
    ) -> None:
        super().__init__(records)
        self.function = short_name(function)
        self._absent = absent
        self._block = Sources(sources).block(definition) if definition else ()
        self._marks = dict(lines)

    def parts(self) -> Sequence[Part]:
        parts: list[Part] = [Paragraph((Strong(self.function),))]
        if self._block:
            parts.append(source_table(self._block, self._marks))
        kernels = {k.kernel: k for k in self.records if k.source}
        if not kernels:
            return [*parts, Paragraph((self._absent or "no kernel has been generated: NumPy does all the work",))]
        for kernel in kernels.values():
            lines = [str(n) for n, mark in sorted(self._marks.items()) if kernel.kernel in mark.split(", ")]
            title: list[Inline] = [Mono(kernel.kernel)]
            title += [f", from line{'s' * (len(lines) > 1)} {', '.join(lines)}"] if lines else []
            parts.append(Details(tuple(title), [Code(kernel.source)], open=True))
        return [*parts, *Setting(Sources()).define_statuses(k.source for k in kernels.values())]
