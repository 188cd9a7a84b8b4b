"""Takes a compile that has just happened, gives the events that tell it."""

from __future__ import annotations

import contextlib
import linecache
import re
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from jitmagic.config import current
from jitmagic.errors import Span
from jitmagic.events import BreakEvent, CompileEvent, KernelEvent, PendingEvent, RecompileEvent
from jitmagic.graph.printer import print_graph
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame
from jitmagic.runtime.marks import lines_of, own_places
from jitmagic.runtime.record import def_span
from jitmagic.runtime.tracebacks import is_our_file
from jitmagic.tracer.capture import Break, Options
from jitmagic.tracer.guards.explain import Failure
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import meant_code
from jitmagic.tracer.part_names import readable

__all__ = ["remedy", "tell_compile", "tell_pending", "tell_recompile"]

# What keeps a guard of this kind from changing, where the guard itself does not say.
_REMEDIES = {
    "ALIAS": "pass the same object in both places, or different ones, at every call",
    "NO_ALIASING": "pass different arrays, or copies",
    "ID_MATCH": "define it once and do not replace it",
    "FUNCTION_MATCH": "define the function once, in a cell of its own",
    "TYPE_MATCH": "pass values of one type",
    "CONSTANT_MATCH": "keep it at one value",
    "EQUALS_MATCH": "keep it at one value",
    "ERRSTATE": "call the function under one np.errstate",
    "DICT_KEYS": "keep the keys of the dict as they are",
    "LIST_LENGTH": "pass containers of one length, or one array",
}
_NO_REMEDY = "keep it as it is between calls"


def tell_compile(frame: CompiledFrame, entry: Entry, elapsed_ns: int) -> None:
    """One CompileEvent, then the kernels and the graph break of this piece."""
    record, capture, lowered = frame.record, entry.capture, entry.lowered
    kernels = record.new_kernels([kernel.name for kernel in lowered.kernels])
    record.emit(
        CompileEvent(
            record.name,
            record.owner,
            record.span,
            entry=entry.index,
            call=calls_so_far(frame),
            resume=frame.line,
            node_count=sum(1 for _ in capture.graph.calls()),
            kernel_count=lowered.kernel_count,
            extern_count=lowered.extern_count,
            elapsed_ns=elapsed_ns,
            guards=entry.records,
            effects=tuple(capture.effects),
            graph_text=print_graph(capture.graph),
            lines=_lines(entry, kernels, frame),
            backend=frame.options.backend,
            gradient=lowered.gradient,
            loop_count=lowered.count("loop"),
            flow_count=lowered.count("flow"),
        )
    )
    for kernel in (*lowered.kernels, *lowered.loops):
        record.emit(
            KernelEvent(
                record.name,
                record.owner,
                record.span,
                kernels.get(kernel.name, kernel.name),
                kernel.elapsed_ns,
                kernel.cached,
                kernel.source,
                entry.index,
                frame.line,
            )
        )
    for found in capture.breaks:
        tell_break(frame, found)


def tell_pending(frame: CompiledFrame) -> None:
    """The kernels of a call were left to the compile worker; told once for each time that they are waited for."""
    record = frame.record
    if not record.pending:
        record.emit(PendingEvent(record.name, record.owner, record.span))


def tell_break(frame: CompiledFrame, found: Break) -> None:
    """The BreakEvent of a graph break."""
    record = frame.record
    line = linecache.getline(found.span.filename, found.span.line).strip()
    record.emit(BreakEvent(record.name, record.owner, found.span, found.code, found.reason, found.hint, line))


def tell_recompile(frame: CompiledFrame, entry: Entry, failure: Failure, cost_ns: int, caller: Span | None) -> None:
    """Why the closest entry did not serve this call; ``entry`` is the new one."""
    record, guard = frame.record, failure.guard
    record.emit(
        RecompileEvent(
            record.name,
            record.owner,
            record.span,
            call=calls_so_far(frame),
            guard=readable(guard.text),
            source=readable(guard.source.text),
            then=readable(guard.then),
            now=failure.now,
            cost_ns=cost_ns,
            remedy=readable(_is_variable_now(failure, entry) or remedy(failure, frame.options)),
            caller=caller,
            read_at=None if guard.span is None or is_our_file(guard.span.filename) else guard.span,
            entry=entry.index,
            resume=frame.line,
        )
    )


def _is_variable_now(failure: Failure, entry: Entry) -> str:
    """What to say of a number that a new entry takes as an input, or that is 0 or 1 in it; else nothing."""
    old = failure.guard
    is_number = old.kind == "CONSTANT_MATCH" and type(old.constant) in (int, float, complex)
    if not is_number or failure.kind is not type(old.constant):
        return ""
    same = [held.guard for held in entry.guards if old.source in (held.guard.source, *held.guard.others)]
    if any(g.kind == "CONSTANT_MATCH" and type(g.constant) is int and g.constant in (0, 1) for g in same):
        return f"nothing to do: {old.source.text} as 0 or 1 is always compiled on its own"
    fixed = any(g.kind == "CONSTANT_MATCH" or (g.kind == "SIZE_RELATION" and " == " in g.about) for g in same)
    if fixed or not same:
        return ""
    return f"nothing to do: {old.source.text} is a variable from now on, one compile serves many values of it"


def remedy(failure: Failure, options: Options) -> str:
    """What to do about a guard that failed, for a function with these options."""
    guard = failure.guard
    if guard.form[:1] == ("sizes",):
        return _size_remedy(guard, failure.now, options)
    if guard.kind == "CONSTANT_MATCH" and failure.now != "gone" and failure.kind is not type(guard.constant):
        return f"values of each type are compiled on their own: keep {guard.source.text} at one type"
    return guard.remedy or _REMEDIES.get(guard.kind, _NO_REMEDY)


def _size_remedy(guard: Guard, now: str, options: Options) -> str:
    sizes = re.findall(r"\d+", now)
    if len(sizes) != len(guard.form[1]):
        return "pass arrays with one number of axes"
    if options.dynamic is False:
        return "without dynamic=False (--dynamic never), sizes that change become free"
    changed = [(then, size) for then, size in zip(guard.form[1], sizes, strict=True) if str(then) != size]
    if any(then in (0, 1) or size in ("0", "1") for then, size in changed):
        return "sizes 0 and 1 are compiled on their own: size 1 is stretched where arrays meet, size 0 computes nothing"
    if not current().automatic_dynamic_shapes and options.dynamic is None:
        return f"jm.mark_dynamic({guard.source.text}, axis), or jm.configure(automatic_dynamic_shapes=True)"
    return guard.remedy


def calls_so_far(frame: CompiledFrame) -> int:
    """The number of the present call of the function, from 1; the pieces of one call have its number."""
    whole = frame.whole()
    return frame.calls if whole is None else whole.calls


def _lines(entry: Entry, kernels: Mapping[str, str], frame: CompiledFrame) -> tuple[tuple[int, str], ...]:
    """Source line -> what became of it. ``kernels`` are the names of the entry's kernels within the function."""
    shown = _shown_code(frame)
    reached_from = entry.capture.reached_from if shown is frame.plain_code else {}
    own = own_places(entry.lowered.places, shown, reached_from)
    marks = dict(lines_of((place, kernels.get(mark, mark)) for place, mark in own))
    for found in entry.capture.breaks:
        marks[found.span.line] = "python"
    return tuple(sorted(marks.items()))


def _shown_code(frame: CompiledFrame) -> CodeType:
    """The code whose lines are shown: of a gradient that of the function that it holds, else the function's own."""
    span = frame.record.span
    held = _held_by(frame.plain)
    codes = (meant_code(value) for value in held if isinstance(value, FunctionType))
    own = frame.plain_code
    return own if def_span(own) == span else next((code for code in codes if def_span(code) == span), own)


def _held_by(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is not set yet
            yield cell.cell_contents
