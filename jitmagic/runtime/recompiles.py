"""Takes the recompiles of a function, gives one record for each different cause, with its count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jitmagic.errors import Span
from jitmagic.events import RecompileEvent

__all__ = ["Recompile", "fold"]


@dataclass(frozen=True, slots=True)
class Recompile:
    """Why a function was compiled again: ``guard`` expected ``then`` and found ``now``.

    ``call`` is the number of the first such call, ``cost_ns`` what all ``count`` of them cost, ``location`` the line
    that made the first one, ``read_at`` the line that had read what changed.
    """

    call: int
    guard: str
    source: str
    then: str
    now: str
    cost_ns: int
    location: Span | None
    remedy: str
    count: int = 1
    read_at: Span | None = None

    def __str__(self) -> str:
        where = f" ({self.location})" if self.location else ""
        times = f", {self.count} times" if self.count > 1 else ""
        cost = f"+{self.cost_ns / 1e9:.2f} s{times}"
        read = f" (read at {self.read_at})" if self.read_at else ""
        change = f"{self.guard}{read} was {self.then}, is {self.now}"
        return f"call {self.call}{where}: {change}  ({cost})\n  try: {self.remedy}"


def fold(events: Sequence[RecompileEvent]) -> list[Recompile]:
    """Identical causes become one record, in the order of their first occurrence."""
    found: dict[tuple[str, str, str, str], Recompile] = {}
    for event in events:
        key = (event.guard, event.source, event.then, event.now)
        known = found.get(key)
        if known is None:
            cost, remedy, read_at = event.cost_ns, event.remedy, event.read_at
            found[key] = Recompile(event.call, *key, cost, event.caller, remedy, read_at=read_at)
        else:
            found[key] = replace(known, count=known.count + 1, cost_ns=known.cost_ns + event.cost_ns)
    return list(found.values())
