"""Takes the story of one function, gives its card: counts first, then what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from jitmagic.events import BreakEvent, CompileEvent
from jitmagic.report.entries import entry_name, entry_sections
from jitmagic.report.folded import effect_sections, graph_sections, guard_sections, kernel_sections
from jitmagic.report.gradient import gradient_sections
from jitmagic.report.parts import (
    Details,
    Headline,
    Inline,
    Mono,
    Note,
    Paragraph,
    Part,
    SourceLine,
    SourceTable,
    Strong,
)
from jitmagic.report.story import Cause, Story, distinct_breaks, fold_recompiles
from jitmagic.report.terms import Setting
from jitmagic.report.words import duration, failure, plural, ratio, short_code

__all__ = [
    "break_section",
    "full_sections",
    "headline",
    "line_of",
    "recompile_section",
    "source_table",
]

_KERNEL_BACKEND = "numba"
_NOTHING_TO_DO = "nothing to do"  # how a hint begins that is no advice
_LONG_SOURCE = 40  # lines above which the source listing is folded
_SHOWN_CALLERS = 3
_SHOWN_SECTIONS = 12  # breaks, or causes of recompiles, that a card tells one by one


# --- the first line ------------------------------------------------------------------------------


def headline(story: Story, more: str = "") -> Headline:
    """``smooth: 2 kernels, 1 graph break, 7 guards, compiled in 0.84 s, 1 recompile``."""
    counts: list[Inline] = []
    if story.entry_count > 1:
        counts.append(plural(story.entry_count, "entry", "entries"))
    if story.compiles:
        counts += _compile_counts(story)
    elif story.breaks:
        counts.append(_break_count(story))
    elif story.pending:
        counts.append("being compiled in the background, plain Python runs until then (jm.wait() waits)")
    if story.recompiles:
        counts.append(Strong(plural(len(story.recompiles), "recompile")))
    if any(not e.raises for e in story.fallbacks):
        counts.append(Strong("runs as plain Python", "bad"))
    if raising := {e.raises.partition(":")[0]: None for e in story.fallbacks if e.raises}:
        counts.append(f"raised {', '.join(raising)}")
    if story.demotions:
        counts.append(Strong("plain Python was faster", "bad"))
    if not counts:
        counts.append(plural(len(story.kernels), "kernel"))
    return Headline(story.function, tuple(counts), more)


def _compile_counts(story: Story) -> list[Inline]:
    externs = sum(c.extern_count for c in story.compiles)
    counts = _work_counts(story.compiles)
    if externs:
        counts.append(plural(externs, "NumPy call"))
    counts.append(_break_count(story))
    counts.append(plural(sum(len(c.guards) for c in story.compiles), "guard"))
    counts.append(f"compiled in {duration(sum(c.elapsed_ns for c in story.compiles))}")
    return counts


def _work_counts(compiles: Sequence[CompileEvent]) -> list[Inline]:
    """Kernels and loops; for a backend that makes none, its operations."""
    backend = compiles[-1].backend
    kernels = sum(c.kernel_count for c in compiles)
    others = [
        (sum(c.loop_count for c in compiles), "compiled loop", ""),
        (sum(c.flow_count for c in compiles), "loop or branch by data", "loops or branches by data"),
    ]
    if not kernels and backend != _KERNEL_BACKEND:
        return [f"{plural(sum(c.node_count for c in compiles), 'operation')} on backend {backend}"]
    told: list[Inline] = [plural(count, one, many) for count, one, many in others if count]
    return [plural(kernels, "kernel"), *told] if kernels or not told else told


def _break_count(story: Story) -> Inline:
    found = len(distinct_breaks(story.breaks))
    return Strong(plural(found, "graph break"), "bad") if found else "0 breaks"


_SHOWN_MARKS = {"extern": "NumPy"}  # marks whose own name is no word of a user's
_TERMS = {"loop": "loop", "flow": "flow", "extern": "NumPy", "python": "plain Python"}  # of marks


# --- the user's lines ----------------------------------------------------------------------------


def source_section(story: Story, setting: Setting) -> list[Part]:
    """The function's own lines with marks, and what the marks mean."""
    if story.definition is None:
        return []
    marks = story.marks
    table = source_table(setting.sources.block(story.definition), marks)
    if not table.lines:
        return []
    notes = setting.define(*_mark_terms(marks.values()))
    if story.entry_count > 1 and any(marks.values()):
        newest = entry_name(max(c.entry for c in story.pieces), 0)
        notes.append(Note((f"The marks are those of {newest}, the newest.",)))
    if len(table.lines) <= _LONG_SOURCE:
        return [table, *notes]
    return [Details((f"Source ({len(table.lines)} lines)",), [table]), *notes]


def source_table(block: Iterable[tuple[int, str]], marks: dict[int, str]) -> SourceTable:
    """Numbered lines with their marks; an indentation common to all is removed."""
    lines = list(block)
    indent = min((len(t) - len(t.lstrip()) for _, t in lines if t.strip()), default=0)
    return SourceTable(tuple(SourceLine(n, t[indent:], _shown(marks.get(n, ""))) for n, t in lines))


def _shown(marks: str) -> str:
    return ", ".join(_SHOWN_MARKS.get(mark, mark) for mark in marks.split(", "))


def _mark_terms(marks: Iterable[str]) -> list[str]:
    present = {mark for joined in marks for mark in joined.split(", ")}
    terms = ["kernel"] if any(m.startswith("k") for m in present) else []
    return terms + [term for mark, term in _TERMS.items() if mark in present]


# --- breaks, recompiles, fallbacks, demotions ----------------------------------------------------


def break_sections(story: Story, setting: Setting) -> list[Part]:
    """One open section for each distinct break."""
    found = distinct_breaks(story.breaks)
    shown = [break_section(e, count, setting) for e, count in found[:_SHOWN_SECTIONS]]
    return [*shown, *_rest(len(found), f"%jit breaks {story.function}")]


def break_section(event: BreakEvent, count: int, setting: Setting) -> Details:
    """Where, what stopped the capture, the line with the place underlined, what to try."""
    times = f" x {count}" if count > 1 else ""
    excerpt = setting.sources.excerpt(event.span, event.source_line)
    body: list[Part] = [excerpt] if excerpt else []
    body += _advice(event.hint)
    body += setting.define("graph break")
    where = setting.sources.place(event.span)
    title = Strong(f"graph break ({event.code}){times}", "bad")
    return Details((title, f" at {where}: {event.reason}"), body, open=True)


def _advice(hint: str) -> list[Part]:
    if hint.startswith(_NOTHING_TO_DO):
        return [Paragraph((hint,))]
    return [Paragraph((Strong("try:"), f" {hint}"))] if hint else []


def recompile_sections(story: Story, setting: Setting) -> list[Part]:
    """One open section for each cause."""
    causes = fold_recompiles(story.recompiles)
    shown = [recompile_section(cause, setting) for cause in causes[:_SHOWN_SECTIONS]]
    return [*shown, *_rest(len(causes), f"%jit why {story.function}")]


def _rest(count: int, verb: str) -> list[Part]:
    """What a card leaves out, and where it can be seen."""
    left_out = count - _SHOWN_SECTIONS
    return [Note((f"{left_out} more: {verb}",))] if left_out > 0 else []


def recompile_section(cause: Cause, setting: Setting) -> Details:
    """Which guard failed, then and now, where the call stood, what it cost, what to do."""
    times = f" x {cause.count}" if cause.count > 1 else ""
    which = ("call " if cause.count == 1 else "calls ") + _few([str(c) for c in cause.calls], 6)
    places = [setting.sources.place(s) for s in cause.callers]
    where = f" ({_few(places, _SHOWN_CALLERS)})" if places else ""
    summary: tuple[Inline, ...] = (
        Strong(f"recompiled{times}"),
        f" at {which}{where}: ",
        Mono(short_code(cause.guard)),
        " was ",
        Mono(cause.then),
        ", is ",
        Mono(cause.now),
        f"  (+{duration(cause.cost_ns)})",
    )
    origin = short_code(cause.source) if cause.source not in cause.guard else ""
    body: list[Part] = [Paragraph(("from: ", origin))] if origin else []
    if cause.read_at is not None:
        body.append(Paragraph(("read at: ", setting.sources.place(cause.read_at))))
    return Details(summary, [*body, *_advice(cause.remedy), *setting.define("recompile")], open=True)


def _few(words: Sequence[str], limit: int) -> str:
    rest = len(words) - limit
    return ", ".join(words[:limit]) + (f" and {rest} more" if rest > 0 else "")


def fallback_sections(story: Story, setting: Setting) -> list[Part]:
    """Why the function, or a call of it, runs plainly."""
    parts: list[Part] = []
    alike = Counter(story.fallbacks)
    for event, count in list(alike.items())[:_SHOWN_SECTIONS]:
        times = f" x {count}" if count > 1 else ""
        if event.raises:
            title: tuple[Inline, ...] = (Strong(f"this call raises{times}"), f" {event.raises}")
            body = _advice(event.hint)
        else:
            where = setting.sources.place(event.span)
            title = (Strong(f"runs as plain Python{times}", "bad"), f" at {where}: {event.reason}")
            body = [*_advice(event.hint), *setting.define("plain Python")]
        parts.append(Details(title, body, open=True))
    return [*parts, *_rest(len(alike), f"%jit breaks {story.function}")]


def demotion_sections(story: Story, setting: Setting) -> list[Part]:
    """Compiled code that lost, with both times."""
    parts: list[Part] = []
    for e in story.demotions:
        title = (
            Strong(f"entry {e.entry} not used any more", "bad"),
            f": compiled {duration(e.compiled_ns)}, plain Python {duration(e.plain_ns)} a call",
        )
        why = f"Plain Python is used here: it was {ratio(e.compiled_ns, e.plain_ns)} as fast."
        body = [Paragraph((why,)), *setting.define("entry", "plain Python")]
        parts.append(Details(title, body, open=True))
    return parts


_SECTIONS: dict[str, Callable[[Story, Setting], list[Part]]] = {
    "source": source_section,
    "graph breaks": break_sections,
    "recompiles": recompile_sections,
    "fallbacks": fallback_sections,
    "demotions": demotion_sections,
    "entries": entry_sections,
    "guards": guard_sections,
    "side effects": effect_sections,
    "graph": graph_sections,
    "gradient": gradient_sections,
    "kernel source": kernel_sections,
}


def full_sections(story: Story, setting: Setting) -> list[Part]:
    """Headline and all sections that have something to say; one that fails says so."""
    if story.plain:
        return [line_of(story)]
    parts: list[Part] = [headline(story)]
    for name, section in _SECTIONS.items():
        try:
            parts += section(story, setting)
        except Exception as error:  # a section that cannot be drawn must not cost the others
            parts.append(Note((failure(name, error),)))
    return parts


def line_of(story: Story) -> Headline:
    """The one line for a function that needs no attention; a loop of the cell has no name to ask by."""
    if story.plain:
        return Headline(story.function, (story.plain[0].reason,), story.plain[0].hint)
    return headline(story, more="" if story.owner < 0 else f"%jit {story.function} for more")
