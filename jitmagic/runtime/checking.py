"""Takes a new entry and the values of its first call, compares it with plain Python on copies (``check=True``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.backends.base import Bail
from jitmagic.runtime.comparison import Comparison, compare, written_outside
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame, Values, call_plain

__all__ = ["changed_outside", "check_entry"]


def changed_outside(frame: CompiledFrame, entries: Sequence[Entry]) -> str:
    """What the function changes besides its arguments, as far as its code and its entries tell; empty if nothing."""
    parameters = frame.form.layout.names
    for entry in entries:
        for effect in entry.capture.effects:
            if effect.text != "calls print":
                return effect.text
        written = {node for call in entry.capture.graph.calls() for node in call.written()}
        for place in entry.capture.graph.placeholders:
            root = re.split(r"\W", place.source, maxsplit=1)[0]
            if place.node in written and root not in parameters:
                return f"writes into {place.source}"
    return written_outside(frame.plain)


def check_entry(
    frame: CompiledFrame, entry: Entry, values: Values, follow: Callable[[CompiledFrame, Any], Any]
) -> Comparison:
    """Compare, keep the outcome in the record, and leave an entry that differs to plain Python.

    ``follow`` goes on after the graph breaks of the entry.
    """

    def compiled(*values: Any) -> Any:
        try:
            return follow(frame, entry.program(*values))
        except Bail:
            pass
        return plain(*values)

    def plain(*values: Any) -> Any:
        return call_plain(frame.plain, frame.form.layout, values)

    found = compare(compiled, plain, values, {}, changed_outside(frame, [entry]))
    frame.record.checks.append(found)
    if found.differences:
        first = found.differences[0]
        frame.demote(entry)
        frame.record.fall_back(
            f"--check found a difference: {first.what} is {first.plain} in plain Python, {first.compiled} compiled",
            "please report this; calls like this one run as plain Python",
        )
    return found
