"""Takes a compiled function and values for its parameters, gives what a call with them would meet.

Only guards are evaluated, and those run no code of the user's; the function is not called and nothing is compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from jitmagic.config import current
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame
from jitmagic.runtime.handle import Handle
from jitmagic.tracer.guards.explain import Failure

__all__ = ["Foresight", "bound", "foresee"]


@dataclass(frozen=True, slots=True)
class Foresight:
    """For each entry, newest first, the first guard that would fail; ``hit`` is the entry that would serve."""

    failures: tuple[tuple[Entry, Failure | None], ...]
    hit: Entry | None
    verdict: str

    def failure_of(self, entry: Entry) -> Failure | None:
        """The first guard of ``entry`` that would fail."""
        return next(failure for known, failure in self.failures if known is entry)


def bound(function: FunctionType, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The value of each parameter in the call, ``*args`` as a tuple and ``**kwargs`` as a dict.

    Raises TypeError if the call does not fit the signature.
    """
    # A bare twin: attributes such as __wrapped__ must not lead to the signature of something else.
    bare = FunctionType(function.__code__, function.__globals__, "f", function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    arguments = inspect.signature(bare).bind(*args, **kwargs)
    arguments.apply_defaults()
    return dict(arguments.arguments)


def foresee(handle: Handle, values: Mapping[str, Any]) -> Foresight:
    """What a call with these values, one for each parameter by name, would meet."""
    frame = handle.frame
    names = frame.guard_names(frame.plain.__closure__ or ())
    found = tuple((entry, entry.failure(values, names)) for entry in list(frame.entries))
    hit = next((entry for entry, failure in found if failure is None), None)
    return Foresight(found, hit, _verdict_hit(hit) if hit else _verdict_miss(frame))


def _verdict_hit(entry: Entry) -> str:
    if entry.is_plain:
        return (
            f"entry {entry.index} fits, and stands for plain Python: {entry.capture.plain_reason or 'no compiled form'}"
        )
    if entry.is_demoted:
        return f"entry {entry.index} fits, but plain Python was faster there and is used"
    return f"hit: entry {entry.index} would serve this call"


def _verdict_miss(frame: CompiledFrame) -> str:
    if frame.closed:
        return f"miss: plain Python would run, and nothing more is compiled: {frame.closed}"
    if len(frame.entries) >= current().entry_limit:
        return f"miss: plain Python would run, as {len(frame.entries)} entries are the limit"
    if not frame.entries:
        return "miss: nothing is compiled yet, the call would compile the first entry"
    return "miss: no entry fits, the call would compile a new one"
