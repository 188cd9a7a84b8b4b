"""One guard as data, and the ordered set of guards of an entry.

A guard has one description from which all three forms are made: ``test`` and ``now`` are Python expressions in
which ``{v}`` stands for the value of ``source`` and ``{k}`` for ``constant`` (an object that the entry holds).
Parents come before children: a guard on ``x`` precedes those on ``x[0]``, whose evaluation relies on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.errors import Span
from jitmagic.tracer.guards.source import Source

__all__ = ["NOTHING", "Guard", "GuardSet"]

NOTHING: Any = object()  # "this guard holds no constant"


@dataclass(frozen=True, slots=True)
class Guard:
    """``kind`` names the row of group G in the behaviours: ID_MATCH, TYPE_MATCH, ARRAY_MATCH, ...

    ``others`` are further sources that the test reads as ``{v1}``, ``{v2}``, ... (aliases, size relations).
    ``then`` is the expected value as text; ``now`` an expression for the present one; ``remedy`` says what
    keeps it from changing. ``form`` is the test as data, for the native entry (``runtime.native.checks`` lists the
    forms): its name and operands, besides ``constant``; it may be stricter than ``test``. Empty: only Python tests it.
    """

    kind: str
    source: Source
    test: str
    then: str
    now: str = "{v}"
    constant: Any = NOTHING
    others: tuple[Source, ...] = ()
    about: str = ""
    remedy: str = ""
    span: Span | None = field(default=None, compare=False)
    form: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """What a person reads: ``x.dtype == float64``."""
        return self.about or self.source.text

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.kind, self.source, self.test, id(self.constant), self.others)


@dataclass(slots=True)
class GuardSet:
    """Guards in the order in which the trace relied on them; equal guards are stored once.

    ``where`` gives the line that is being traced: a guard that is added there says so.
    """

    where: Callable[[], Span | None] | None = None
    _guards: dict[tuple[Any, ...], Guard] = field(default_factory=dict)

    def add(self, guard: Guard) -> None:
        if guard.key not in self._guards:
            span = guard.span or (self.where() if self.where is not None else None)
            self._guards[guard.key] = guard if span is guard.span else replace(guard, span=span)

    def strengthen(self, weaker: Guard, guard: Guard) -> None:
        """Put ``guard``, which implies ``weaker``, in its place."""
        self.add(guard)
        if weaker.key in self._guards:
            stronger = self._guards.pop(guard.key)
            kept = list(self._guards.values())
            self._guards = {g.key: g for g in (stronger if k.key == weaker.key else k for k in kept)}

    def __iter__(self) -> Iterator[Guard]:
        return iter(self._guards.values())

    def __len__(self) -> int:
        return len(self._guards)
