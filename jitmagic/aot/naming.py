"""The names of what is built ahead of time: one number for each build, shared by its forward and backward graphs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Build", "get_aot_graph_name", "new_build", "set_model_name"]

_numbers = itertools.count()
_model: ContextVar[str] = ContextVar("jitmagic_model_name", default="model")
_current: ContextVar[str] = ContextVar("jitmagic_graph_name", default="")


@dataclass(frozen=True, slots=True)
class Build:
    """``model`` and ``number`` of one top-level build (row A55)."""

    model: str
    number: int
    is_logged: bool = True

    def name(self, kind: str) -> str:
        """``kind`` is ``forward``, ``backward``, ``inference`` or ``joint``."""
        return f"{self.model}__{self.number}_{kind}"

    @contextmanager
    def working_on(self, kind: str) -> Iterator[str]:
        """While this lasts ``get_aot_graph_name`` gives the graph's name; errors of this build carry it."""
        token = _current.set(self.name(kind))
        try:
            yield self.name(kind)
        finally:
            _current.reset(token)


def new_build(*, is_logged: bool = True) -> Build:
    """The next build; ``is_logged`` False keeps its graphs out of the log ``jitmagic.aot``."""
    return Build(_model.get(), next(_numbers), is_logged)


def set_model_name(name: str) -> None:
    """What the graphs that are built from now on are called; ``model`` if nothing was said."""
    _model.set(name)


def get_aot_graph_name() -> str:
    """The graph that is being built or run; empty if there is none."""
    return _current.get()
