"""Takes the story of one function, gives the sections of its card that start folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from jitmagic.events import CompileEvent, GuardRecord
from jitmagic.report.drawing import FOLD_LIMIT, ROLES, Drawing
from jitmagic.report.entries import entry_name, graphs, listed
from jitmagic.report.exports import to_text
from jitmagic.report.guardwords import GUARD_KINDS, SESSION_KINDS, statement
from jitmagic.report.parts import (
    Code,
    Details,
    Inline,
    Legend,
    Mono,
    Note,
    Paragraph,
    Part,
    Picture,
    Strong,
    Table,
    Term,
)
from jitmagic.report.story import Story
from jitmagic.report.svg import FILLS, to_svg
from jitmagic.report.terms import Setting
from jitmagic.report.words import duration, plural, short_code

__all__ = [
    "distinct_guards",
    "effect_sections",
    "graph_parts",
    "graph_sections",
    "guard_sections",
    "guard_table",
    "kernel_origin",
    "kernel_sections",
]

_SHOWN_GRAPHS = 6  # different graphs of a function's entries and pieces
_SHOWN_KERNELS = 12  # kernels whose source is kept in the notebook file
_SHOWN_GUARDS = 40  # guards of an entry that a card lists: a model has thousands
_TEXT_GUARDS = 8  # guards of an entry that the text form lists


def guard_sections(story: Story, setting: Setting) -> list[Part]:
    """The guards of every entry seen; the text form lists the first few."""
    guarded = [c for c in story.compiles if c.guards]
    if not guarded:
        return []
    text: list[str] = []
    body: list[Part] = []
    for event in guarded:
        name = entry_name(event.entry, event.resume)
        shown = _few_guards(event.guards, story.function)
        text.append(f"guards of {name} ({len(event.guards)}): {shown}")
        body += [Paragraph((Strong(name),)), guard_table(event.guards[:_SHOWN_GUARDS])]
        rest = len(event.guards) - _SHOWN_GUARDS
        if rest > 0:
            body.append(Paragraph((f"{rest} more: ", Mono(f"%jit guards {story.function}"), " lists them all")))
    text += setting.define_in_text("guard")
    body += [*setting.define("guard"), *setting.define_kinds(g for event in guarded for g in event.guards)]
    total = sum(len(c.guards) for c in guarded)
    return [Details((f"Guards ({total})",), body, text=tuple(text))]


def _few_guards(guards: Sequence[GuardRecord], function: str) -> str:
    said = [statement(g) for g in guards]
    few = list(dict.fromkeys(said))[:_TEXT_GUARDS]
    rest = sum(each not in few for each in said)
    shown = "; ".join(few)
    return shown + (f"; {rest} more (%jit guards {function})" if rest > 0 else "")


def guard_table(guards: Sequence[GuardRecord], outcomes: Sequence[str] = ()) -> Table:
    """Condition, where its value comes from if that is not plain, kind, outcome; columns that would be empty are
    left out.
    """
    return _guard_table(guards, {"last check": outcomes})


def distinct_guards(guards: Sequence[GuardRecord]) -> Table:
    """The same where pieces after a break may ask for what was asked before: each guard once, and how often."""
    said: dict[tuple[str, str], list[GuardRecord]] = {}
    for guard in guards:
        said.setdefault((statement(guard), guard.kind), []).append(guard)
    times = [str(len(alike)) if len(alike) > 1 else "" for alike in said.values()]
    return _guard_table([alike[0] for alike in said.values()], {"times": times})


def _guard_table(guards: Sequence[GuardRecord], more: Mapping[str, Sequence[str]]) -> Table:
    columns: dict[str, list[Inline]] = {
        "guard": [Mono(statement(g)) for g in guards],
        "read from": [_origin(g) for g in guards],
        "kind": [Term(g.kind, GUARD_KINDS.get(g.kind, "")) for g in guards],
        "category": [g.category for g in guards],
        **{head: [*cells] for head, cells in more.items()},
    }
    if all(g.category == "local" for g in guards):
        del columns["category"]
    filled = {head: cells for head, cells in columns.items() if any(cells)}
    return Table(tuple(filled), tuple(zip(*filled.values(), strict=True)))


def _origin(guard: GuardRecord) -> str:
    """What the guard reads, where its own words do not say it."""
    source = short_code(guard.source)
    is_plain = guard.kind in SESSION_KINDS or source in statement(guard)
    places = ["" if is_plain else source, f"line {guard.span.line}" if guard.span else ""]
    return ", ".join(filter(None, places))


def effect_sections(story: Story, setting: Setting) -> list[Part]:
    """What the function changes besides its result."""
    effects = [e for piece in story.pieces for e in piece.effects]
    if not effects:
        return []
    rows = [(Mono(e.text), f"line {e.span.line}" if e.span else "") for e in effects]
    text = f"side effects ({len(effects)}): {'; '.join(e.text for e in effects)}"
    text_lines = (text, *setting.define_in_text("side effect"))
    body: list[Part] = [Table(("effect", "where"), tuple(rows)), *setting.define("side effect")]
    return [Details((f"Side effects ({len(effects)})",), body, text=text_lines)]


def graph_sections(story: Story, setting: Setting) -> list[Part]:
    """The graphs of each piece: picture, text, or nothing, as asked. Entries with the same operations share one."""
    if setting.graph == "none":
        return []
    parts: list[Part] = []
    found = graphs(story)
    for piece, entries in found[:_SHOWN_GRAPHS]:
        drawing = setting.draw(piece)
        body = graph_parts(drawing, setting.graph) if drawing else _graph_code(piece)
        if not body:
            continue
        if len(entries) > 1:
            told = f"drawn for {entry_name(piece.entry, 0)}; the others differ in dtypes, sizes or places only"
            body = [*body, Note((told,))]
        part = f" from line {piece.resume}" if piece.resume else ""
        whose = f" of {listed(entries)}" if piece.entry or story.entry_count > 1 else ""
        count = plural(piece.node_count, "operation")
        text = f"graph{whose}{part}: {count}  (%jit graph {story.function})"
        is_open = setting.graph in ("open", "text")
        parts.append(Details((f"Graph{whose}{part} ({count})",), body, open=is_open, text=(text,)))
    rest = len(found) - _SHOWN_GRAPHS
    return [*parts, Note((f"{plural(rest, 'more graph')} of older entries",))] if rest > 0 else parts


def _graph_code(piece: CompileEvent) -> list[Part]:
    return [Code(piece.graph_text)] if piece.graph_text else []


def graph_parts(drawing: Drawing, style: str = "fold", limit: int = FOLD_LIMIT) -> list[Part]:
    """Picture with legend and note, or the text form if ``style`` is ``"text"``."""
    if style == "text":
        return [Code(to_text(drawing))]
    shown = drawing.fitting(limit)
    legend = Legend(tuple((*FILLS[r], ROLES[r]) for r in shown.roles))
    note: list[Part] = [Note((shown.note,))] if shown.note else []
    return [Picture(partial(to_svg, shown), f"graph with {shown.describe()}"), legend, *note]


def kernel_origin(cached: bool, elapsed_ns: int) -> str:
    """`` compiled in 61 ms``; empty where the backend keeps no time of its own for a kernel."""
    came = "taken from the store" if cached else "compiled"
    return f" {came} in {duration(elapsed_ns)}" if elapsed_ns else ""


def kernel_sections(story: Story, setting: Setting) -> list[Part]:
    """The generated program text of each kernel, and how it came to be."""
    latest = {(k.kernel, k.source): k for k in story.kernels if k.source}  # each piece has a k0
    body: list[Part] = []
    for kernel in list(latest.values())[:_SHOWN_KERNELS]:
        is_told = story.entry_count > 1 and kernel.entry >= 0
        whose = f" of {entry_name(kernel.entry, kernel.resume)}," if is_told else ""
        body.append(Paragraph((Mono(kernel.kernel), whose, kernel_origin(kernel.cached, kernel.elapsed_ns))))
        body.append(Code(kernel.source))
    body += setting.define_statuses(kernel.source for kernel in latest.values())
    rest = len(latest) - _SHOWN_KERNELS
    if rest > 0:
        body.append(Note((f"{rest} more: %jit source {story.function}",)))
    if not body:
        return []
    text = f"kernel source: {plural(len(latest), 'kernel')}  (%jit source {story.function})"
    return [Details((f"Kernel source ({plural(len(latest), 'kernel')})",), body, text=(text,))]
