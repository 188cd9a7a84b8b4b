"""Lists and deques of the caller, whose length counts only once something but appending is done with them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from jitmagic.tracer.guards import ItemSource, Source
from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.guards.contents import maxlen_guard
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.deques import DequeTracker
from jitmagic.tracer.variables.given_numbers import GivenNumbers
from jitmagic.tracer.variables.sequences import ListTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder

__all__ = ["wrap_deque", "wrap_list"]


def wrap_list(builder: Builder, value: list[Any], source: Source) -> VariableTracker:
    """The tracker of a list of the caller (row B33)."""
    known = builder.output.known(value, source)
    if known is not None:
        return known
    tracker = ListTracker((), source)
    tracker.given = GivenNumbers(builder, value, source)
    return _growing(builder, value, tracker, source)


def wrap_deque(builder: Builder, value: deque[Any], source: Source) -> VariableTracker:
    """The tracker of a deque of the caller (row B34)."""
    known = builder.output.known(value, source)
    if known is not None:
        return known
    builder.output.guards.add(maxlen_guard(source, value.maxlen))
    return _growing(builder, value, DequeTracker((), value.maxlen, source), source)


def _growing(builder: Builder, value: Any, tracker: ListTracker, source: Source) -> VariableTracker:
    """How long it is, and what is in it, is guarded when something asks for ``items``."""
    guards, its_type = builder.output.guards, guard.type_guard(source, type(value))

    def read() -> list[VariableTracker]:
        guards.strengthen(its_type, guard.length_guard(source, type(value), len(value)))
        return [builder.lazy(v, ItemSource(source, i)) for i, v in enumerate(value)]

    guards.add(its_type)
    tracker.unread = read
    builder.output.track(value, tracker)
    return tracker
