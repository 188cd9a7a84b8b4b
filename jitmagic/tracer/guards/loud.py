"""The guard of programs that warn: their effects are replayed after the graph, where no warning may be an exception."""

from __future__ import annotations

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import Source

__all__ = ["quiet_guard"]


def quiet_guard(source: Source) -> Guard:
    """No filter makes an exception of a warning: what follows the warning is reached."""
    return Guard(
        "WARNINGS",
        source,
        "not is_loud()",
        "true",
        "'false' if is_loud() else 'true'",
        about="no warning is an exception",
        remedy="call the function under filters that show or ignore its warnings",
    )
