"""Takes the entries of a frame, gives its ``run``: a generated function that checks guards and runs a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from jitmagic.backends.base import Bail
from jitmagic.own_builtins import OWN_BUILTINS
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.layout import Layout
from jitmagic.runtime.tracebacks import GENERATED
from jitmagic.tracer.guards.codegen import Candidate, select

__all__ = ["Exits", "Form", "make_run", "make_straight_run"]

_RUN = """
def run({parameters}):
    go = None
    try:
        while True:
{select}
            break
    except Exception:
        go = stumble
    if go is None:
        return miss(({values}), C)
    try:
        return go({parameters})
    except Bail:
        pass
    return bailed(({values}), C)
"""
_STRAIGHT = """
def run({parameters}):
    for () in left:
        return plain({call})
    return look_again({parameters})
"""


@dataclass(frozen=True, slots=True)
class Form:
    """What a generated function looks like: its title, the parameters, whether it takes the cells as ``C``."""

    title: str
    layout: Layout
    takes_cells: bool

    @property
    def names(self) -> dict[str, str]:
        """The parameters' names in generated code, where they cannot clash with its other names."""
        return {name: f"p{i}" for i, name in enumerate(self.layout.names)}

    @property
    def parameters(self) -> str:
        return ", ".join((*self.names.values(), *(("C",) if self.takes_cells else ())))

    @property
    def values(self) -> str:
        """The inside of a tuple of all parameters."""
        return "".join(f"{name}, " for name in self.names.values())


@dataclass(frozen=True, slots=True)
class Exits:
    """Where a call goes that no entry serves: each takes the tuple of values and the cells."""

    miss: Callable[[tuple[Any, ...], Any], Any]
    bailed: Callable[[tuple[Any, ...], Any], Any]
    stumble: Callable[..., Any]


def make_run(form: Form, entries: Sequence[Entry], names: Mapping[str, Any], exits: Exits) -> FunctionType:
    """Generate the check over all entries, in this order. ``names`` holds ``G``, ``B`` and the names of tests."""
    candidates = [
        Candidate(e.checked, e.constants, (f"h{e.index}[0] += 1", f"go = g{e.index}", "break")) for e in entries
    ]
    selection = select(candidates, form.names)
    lines = "\n".join(" " * 12 + line for line in selection.lines)
    text = _RUN.format(parameters=form.parameters, values=form.values, select=lines)
    namespace = {**names, **selection.names, "Bail": Bail}
    namespace |= {"miss": exits.miss, "bailed": exits.bailed, "stumble": exits.stumble}
    for entry in entries:
        namespace[f"g{entry.index}"] = entry.go
        namespace[f"h{entry.index}"] = entry.hits
    return _define(text, form, namespace)


def make_straight_run(
    form: Form,
    plain: Callable[..., Any],
    names: Mapping[str, Any],
    look_again: Callable[..., Any],
    left: Iterator[tuple[()]],
) -> FunctionType:
    """Generate a ``run`` that goes straight to the plain function, and asks ``look_again`` when ``left`` is used up."""
    text = _STRAIGHT.format(parameters=form.parameters, call=form.layout.call(form.names))
    return _define(text, form, {**names, "plain": plain, "look_again": look_again, "left": left})


def _define(text: str, form: Form, namespace: dict[str, Any]) -> FunctionType:
    namespace["__builtins__"] = OWN_BUILTINS
    exec(compile(text, f"{GENERATED}check of {form.title}>", "exec", dont_inherit=True), namespace)
    run = namespace.pop("run")
    assert isinstance(run, FunctionType)
    return run
