"""Takes what a function was traced under, gives the check whether a later call may use it; keeps compiled forms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from jitmagic.aot.overlap import AliasGuard
from jitmagic.autograd.recorded import raw
from jitmagic.config import current
from jitmagic.own_builtins import OWN_BUILTINS
from jitmagic.tracer.capture import Capture
from jitmagic.tracer.guards.codegen import Candidate, select
from jitmagic.tracer.guards.explain import Failure, first_failure
from jitmagic.tracer.guards.holding import hold

__all__ = ["Checks", "Forms", "Overlap", "relying_on"]

_CHECK = """
def holds(args, kwargs):
    try:
        while True:
{select}
            break
    except Exception:
        pass
    return False
"""


class Checks:
    """The guards of one trace over ``args`` and ``kwargs``; ``names`` are what its program reads besides them."""

    def __init__(self, capture: Capture, names: Mapping[str, Any]) -> None:
        self._guards = [hold(guard) for guard in [*capture.guards, *capture.late_guards()]]
        self._names = {**names, **{f"K{i}": value for i, value in enumerate(capture.constants)}}
        chosen = Candidate(self._guards, capture.constants, ("return True",))
        selection = select([chosen], {"args": "args", "kwargs": "kwargs"})
        lines = "\n".join(" " * 12 + line for line in selection.lines)
        scope = {**names, **selection.names, "__builtins__": OWN_BUILTINS}
        exec(compile(_CHECK.format(select=lines), "<jitmagic check>", "exec", dont_inherit=True), scope)
        self.holds: Callable[[tuple[Any, ...], dict[str, Any]], bool] = scope["holds"]

    def failure(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Failure | None:
        """The first guard that does not hold for a call."""
        return first_failure(self._guards, {"args": args, "kwargs": kwargs}, self._names)


class Overlap(Exception):
    """The arguments share memory otherwise than those that a form was made for; nothing has happened yet."""


def relying_on(memory: AliasGuard, run: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """``run`` for inputs with these memory relations; others raise Overlap."""
    if not memory:
        return run

    def checked(inputs: list[Any]) -> list[Any]:
        if not memory.holds([raw(each) for each in inputs]):
            raise Overlap
        return run(inputs)

    return checked


class _Form(Protocol):
    @property
    def checks(self) -> Checks: ...
    @property
    def call(self) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]: ...


class Forms:
    """The compiled forms of one function by the form of the call, those used last at the end.

    Above ``jm.config.entry_limit`` the one that was not used for the longest time goes.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Hashable, int], _Form] = {}
        self._count = 0

    def call(self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any], build: Callable[[], _Form]) -> Any:
        """What the form for this call gives; ``build()`` makes one where there is none."""
        found = self._find(key, args, kwargs)
        if found is not None:
            with suppress(Overlap):
                return found.call(args, kwargs)
        made = build()
        self._add(key, made)
        return made.call(args, kwargs)

    def _find(self, key: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Form | None:
        for place, form in reversed(self._kept.items()):
            if place[0] == key and form.checks.holds(args, kwargs):
                self._kept[place] = self._kept.pop(place)
                return form
        return None

    def _add(self, key: Hashable, form: _Form) -> None:
        self._count += 1
        self._kept[key, self._count] = form
        while len(self._kept) > max(current().entry_limit, 1):
            del self._kept[next(iter(self._kept))]

    def values(self) -> Iterator[Any]:
        return iter(list(self._kept.values()))

    def __len__(self) -> int:
        return len(self._kept)
