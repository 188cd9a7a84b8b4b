"""The registry of backends: takes a name, gives the function that turns a graph into a callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jitmagic.errors import Bail, UserError
from jitmagic.graph import Graph

__all__ = ["Backend", "Bail", "Entry", "Pending", "get_backend", "list_backends", "register_backend"]

Compiled: TypeAlias = Callable[[Sequence[Any]], list[Any]]
Backend: TypeAlias = Callable[[Graph, Sequence[Any] | None], Compiled]


class Pending(Exception):
    """A kernel is being compiled by the worker: run plainly until ``is_done()``, then ask again."""

    def __init__(self, is_done: Callable[[], bool]) -> None:
        super().__init__("a kernel is being compiled")
        self.is_done = is_done


@dataclass(frozen=True, slots=True)
class Entry:
    """A backend and what it wants: ``pure`` graphs only (made by ``jitmagic.aot``), or captured ones as they are.

    One that ``keeps_writes`` takes pure graphs that end in copies into their inputs; it makes these when nothing can go
    wrong any more.
    """

    name: str
    compile: Backend
    pure: bool
    keeps_writes: bool = False


_entries: dict[str, Entry] = {}


def register_backend(name: str, compile: Backend, *, pure: bool = True, keeps_writes: bool = False) -> None:
    """Make ``backend=name`` mean ``compile(graph, example_inputs) -> run(inputs) -> outputs``; replaces an old one."""
    _entries[name] = Entry(name, compile, pure, keeps_writes)


def list_backends() -> list[str]:
    """The registered names, in order of registration."""
    return list(_entries)


def get_backend(name: str) -> Entry:
    """The backend of that name. Raises UserError, with the names that exist."""
    try:
        return _entries[name]
    except KeyError:
        known = ", ".join(map(repr, _entries))
        raise UserError(
            f"there is no backend {name!r}; the backends are {known}. "
            "Register your own with jitmagic.register_backend(name, compile)"
        ) from None
