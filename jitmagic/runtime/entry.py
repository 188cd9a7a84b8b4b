"""Takes a capture and its lowered graph, gives a cache entry: held guards and a program to run when they hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.events import GuardRecord
from jitmagic.runtime.lowering import Lowered
from jitmagic.runtime.trial import Trial
from jitmagic.tracer.capture import Capture
from jitmagic.tracer.guards.codegen import reads_own
from jitmagic.tracer.guards.explain import Failure, first_failure
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.holding import Held, hold
from jitmagic.tracer.guards.source import ConstantSource
from jitmagic.tracer.part_names import readable

if TYPE_CHECKING:
    from jitmagic.runtime.native.steps import Plan

__all__ = ["Entry", "Grave", "guard_record"]


@dataclass(slots=True, eq=False)
class Entry:
    """One compiled form of a frame.

    ``program`` takes the frame's parameters by position (and the closure cells, in a resume function) and gives the
    result or a ``Tail``; ``go`` is what serves a call now: the program, a timed form of it, or the plain function.
    """

    index: int
    guards: list[Held]
    constants: list[Any]
    program: Callable[..., Any]
    capture: Capture
    lowered: Lowered
    go: Callable[..., Any] = field(init=False)
    bails: int = 0
    hits: list[int] = field(default_factory=lambda: [0])  # those that generated Python counts
    native_hits: np.ndarray[Any, np.dtype[np.int64]] = field(default_factory=lambda: np.zeros(1, np.int64))
    trial: Trial | None = None
    is_demoted: bool = False
    is_plain: bool = False  # calls that match run the plain function: there is no compiled form
    records: tuple[GuardRecord, ...] = ()
    checked: list[Held] = field(default_factory=list)  # the same guards as calls check them: some behind one stamp
    plan: Plan | None = None  # the program's native form, if it has one
    used: int = 0  # when it was last seen to be used, and its hits then: see ``runtime.memory``
    hits_seen: int = 0

    def __post_init__(self) -> None:
        self.go = self.program
        self.checked = self.guards
        self.records = tuple(guard_record(held.guard) for held in self.guards)

    @property
    def hit_count(self) -> int:
        """Calls that this entry served."""
        return self.hits[0] + int(self.native_hits[0])

    @property
    def goes_native(self) -> bool:
        """Whether ``plan`` may serve calls: nothing stands in place of the program or around it."""
        return self.plan is not None and self.go is self.program

    @property
    def has_tail(self) -> bool:
        return self.capture.continues and not self.is_plain

    @property
    def is_dead(self) -> bool:
        """True if an object that the guards ask for by identity is gone."""
        return any(held.is_dead for held in self.guards)

    def failure(self, arguments: Mapping[str, Any], names: Mapping[str, Any]) -> Failure | None:
        """The first guard that does not hold for these arguments."""
        own = {f"K{i}": value for i, value in enumerate(self.constants)}
        return first_failure(self.guards, arguments, {**names, **own})


_FIRST = sys.maxsize  # comes before every other reason


@dataclass(frozen=True, slots=True)
class Grave:
    """The guards of an entry that was dropped: they still explain the next compile.

    It went since an object died that it asked for, or (``is_evicted``) since the cache was full.
    """

    guards: list[Held]
    is_evicted: bool = False

    @classmethod
    def of(cls, entry: Entry, *, is_evicted: bool = False) -> Grave:
        """Without the guards that read what only the entry held."""
        return cls([held for held in entry.guards if not reads_own(held.guard)], is_evicted)

    def failure(self, arguments: Mapping[str, Any], names: Mapping[str, Any]) -> Failure | None:
        found = first_failure(self.guards, arguments, names)
        if found is None and self.is_evicted and self.guards:
            return Failure(_FIRST, _room_guard(), "dropped as the least used")
        return found


def _room_guard() -> Guard:
    """What failed for an entry that matches, but is no longer there."""
    return Guard(
        "CACHE_FULL",
        ConstantSource(0, "the compiled version"),
        "",
        "kept",
        about="the entry for this call",
        remedy="raise the limit on the memory of the cache: jm.configure(cache_memory_limit_bytes=...)",
    )


def hold_all(capture: Capture, on_death: Callable[[Any], None]) -> list[Held]:
    return [hold(guard, on_death) for guard in capture.guards]


def guard_record(guard: Guard) -> GuardRecord:
    """The guard as text."""
    return GuardRecord(
        expression=readable(guard.text),
        kind=guard.kind,
        source=readable(guard.source.text),
        expected=readable(guard.then),
        span=guard.span,
        category=guard.source.category,
    )
