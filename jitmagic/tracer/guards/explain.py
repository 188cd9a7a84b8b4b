"""Takes the guards of an entry and the values of a call, gives the first guard that does not hold, then and now.

This form evaluates guard by guard and is used on a miss; it agrees with the generated check of ``codegen``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, NoneType
from typing import Any

from jitmagic.tracer.guards.guard import NOTHING, Guard
from jitmagic.tracer.guards.holding import Held
from jitmagic.tracer.guards.naming import value_text
from jitmagic.tracer.guards.source import LocalSource, Source

__all__ = ["Failure", "Names", "evaluate", "first_failure", "outcomes"]

Names = Mapping[str, Any]  # G, B, C, K0, K1, ... and the names that tests may use


@dataclass(frozen=True, slots=True)
class Failure:
    """The guard at ``position`` does not hold: ``now`` is the present value as text, ``kind`` its class."""

    position: int
    guard: Guard
    now: str
    kind: type = NoneType


class _Missing(Exception):
    """The source leads nowhere any more."""


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    return compile(text, "<jitmagic guard>", "eval")


def evaluate(source: Source, arguments: Mapping[str, Any], names: Names) -> Any:
    """The value that ``source`` has in this call. Raises LookupError if it leads nowhere."""
    try:
        return _read(source, arguments, names, {})
    except _Missing as missing:
        raise LookupError(source.text) from missing


def first_failure(guards: Sequence[Held], arguments: Mapping[str, Any], names: Names) -> Failure | None:
    """The first guard that does not hold, or None; never raises."""
    known: dict[Source, Any] = {}
    for position, held in enumerate(guards):
        failure = _failure(position, held.guard, arguments, names, known)
        if failure is not None:
            return failure
    return None


def outcomes(guards: Iterable[Held], arguments: Mapping[str, Any], names: Names) -> tuple[str, ...]:
    """A word for each guard: ``held``, ``failed``, or ``not reached`` after the first that failed."""
    held = list(guards)
    failure = first_failure(held, arguments, names)
    if failure is None:
        return ("held",) * len(held)
    after = len(held) - failure.position - 1
    return ("held",) * failure.position + ("failed",) + ("not reached",) * after


def _failure(
    position: int, guard: Guard, arguments: Mapping[str, Any], names: Names, known: dict[Source, Any]
) -> Failure | None:
    try:
        values = [_read(s, arguments, names, known) for s in (guard.source, *guard.others)]
    except _Missing:
        return Failure(position, guard, "gone")
    scope = {"v" if i == 0 else f"v{i}": value for i, value in enumerate(values)}
    if guard.constant is not NOTHING:
        scope["k"] = guard.constant
    slots = {name: name for name in (*scope, "k")}
    try:
        if eval(_compiled(guard.test.format(**slots)), {**names, **scope}):
            return None
    except Exception:  # a test that cannot be evaluated does not hold (row G16)
        return Failure(position, guard, value_text(values[0]), type(values[0]))
    try:
        now = eval(_compiled(guard.now.format(**slots)), {**names, **scope})
    except Exception:  # the same for its description
        now = values[0]
    text = now if type(now) is str and guard.now != "{v}" else value_text(now)
    return Failure(position, guard, f"another {text}" if text == guard.then else text, type(values[0]))


def _read(source: Source, arguments: Mapping[str, Any], names: Names, known: dict[Source, Any]) -> Any:
    if source in known:
        return known[source]
    try:
        if isinstance(source, LocalSource):
            value = arguments[source.name]
        else:
            base = None if source.base is None else _read(source.base, arguments, names, known)
            value = eval(_compiled(source.code("base")), {**names, "base": base})
    except _Missing:
        raise
    except Exception as error:  # whatever keeps a source from being read: it is gone (row G16)
        raise _Missing from error
    known[source] = value
    return value
