"""Takes the story of a function with several entries, gives what tells them apart: why each was made, its counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from jitmagic.events import CompileEvent, RecompileEvent
from jitmagic.report.parts import Details, Inline, Mono, Part, Table
from jitmagic.report.story import Story
from jitmagic.report.terms import Setting
from jitmagic.report.words import duration, plural

__all__ = ["because", "entry_name", "entry_sections", "graphs", "listed"]

_COUNTS: dict[
    str, Callable[[CompileEvent], int]
] = {  # column -> what stands in it; columns without any count are left out
    "operations": lambda c: c.node_count,
    "kernels": lambda c: c.kernel_count,
    "compiled loops": lambda c: c.loop_count,
    "by data": lambda c: c.flow_count,
    "NumPy calls": lambda c: c.extern_count,
    "guards": lambda c: len(c.guards),
}


def entry_name(entry: int, resume: int) -> str:
    """``entry 0``, or ``entry 0 from line 7`` for the part after a graph break."""
    return f"entry {entry} from line {resume}" if resume else f"entry {entry}"


def because(cause: RecompileEvent | None) -> str:
    """The guard that did not hold; empty for the first entry."""
    return f"{cause.guard} was {cause.then}, is {cause.now}" if cause else ""


def listed(entries: Sequence[int]) -> str:
    """``entry 2``, ``entries 0, 1, 2``."""
    return f"entr{'y' if len(entries) == 1 else 'ies'} {', '.join(map(str, entries))}"


def entry_sections(story: Story, setting: Setting) -> list[Part]:
    """A row for each entry, where there are several."""
    if story.entry_count < 2:
        return []
    counts = {head: [count(c) for c in story.compiles] for head, count in _COUNTS.items()}
    shown = {head: column for head, column in counts.items() if any(column)}
    rows: list[tuple[Inline, ...]] = []
    text: list[str] = []
    for i, event in enumerate(story.compiles):
        why = because(story.cause(event)) or ("the first call" if event.entry == 0 else "")
        name, own = entry_name(event.entry, event.resume), [column[i] for column in shown.values()]
        rows.append((name, str(event.call), Mono(why), *map(str, own), duration(event.elapsed_ns)))
        text.append(f"{name}, for call {event.call}: {_said(shown, own)}{f'; {why}' if why else ''}")
    heads = ("entry", "for call", "because", *shown, "compiled in")
    table = Table(heads, tuple(rows), right=frozenset({"for call", *shown, "compiled in"}))
    text += setting.define_in_text("entry")
    return [Details((f"Entries ({len(rows)})",), [table, *setting.define("entry")], text=tuple(text))]


def _said(heads: Iterable[str], counts: Iterable[int]) -> str:
    return ", ".join(plural(count, head.removesuffix("s")) for head, count in zip(heads, counts, strict=True) if count)


def graphs(story: Story) -> list[tuple[CompileEvent, list[int]]]:
    """The different graphs of each piece, newest first: the newest compile with it, and all entries that have it."""
    found: dict[tuple[int, str], tuple[CompileEvent, list[int]]] = {}
    for event in reversed(story.compiles):
        found.setdefault((event.resume, _operations(event.graph_text)), (event, []))[1].insert(0, event.entry)
    return sorted(found.values(), key=lambda each: each[0].resume)


def _operations(graph_text: str) -> str:
    """The printed graph without dtypes, sizes and places: what is equal is drawn once."""
    return "\n".join(re.split(r"\s{2,}", line.strip())[0] for line in graph_text.splitlines())
