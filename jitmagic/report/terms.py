"""Takes the terms that a card uses, gives each one's meaning, once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from jitmagic.events import CompileEvent, GuardRecord
from jitmagic.report.drawing import Drawing
from jitmagic.report.guardwords import GUARD_KINDS, kinds_in
from jitmagic.report.parts import Inline, Note, Part, Strong
from jitmagic.report.sources import Sources

__all__ = ["STATUSES", "TERMS", "Setting"]

TERMS = {
    "graph break": "the part of the function that stays ordinary Python",
    "kernel": "one piece of machine code that does the work of the lines marked k0, k1, ...",
    "loop": "a loop of yours that runs as one piece of machine code",
    "flow": "a loop or branch that the data decide: the array work in it is compiled, too",
    "NumPy": "a call of NumPy's own function from the compiled code",
    "guard": "a condition under which the compiled code may be used again; checked at every call",
    "recompile": "compiling again, because a call did not fit what was compiled before",
    "entry": "the compiled code for one set of guards",
    "plain Python": "the function as you wrote it, run line by line; the results are the same",
    "side effect": "a change that outlives the call; done in order after the computation",
}

STATUSES = {  # what a kernel returns, by the names of backends.native.abi.Status
    "OK": "the work is done",
    "INDEX_ERROR": "an index was out of bounds",
    "OVERFLOW": "a Python integer left the range of int64",
    "ZERO_DIVISION": "a Python number was divided by zero",
    "OVERLAP": "operands share memory in a way that the kernel does not allow",
    "SHAPE_ERROR": "sizes or strides are not those that the kernel was written for",
    "VALUE_ERROR": "a value that the kernel does not treat, such as one that NumPy refuses",
    "EXIT": "the loop ended early, as the function asks",
    "INTERRUPTED": "the user interrupted it",
    "MEMORY": "there was no memory for a buffer",
    "INNER_LOOP": "a loop of NumPy's own reported an error",
    "RAISED": "a function in the kernel raised an exception",
}
_STATUS = re.compile(r"^ *return ([A-Z_]+)$", re.MULTILINE)


@dataclass(slots=True)
class Setting:
    """What all sections of one card share. ``explained`` holds the terms that were defined
    already.
    """

    sources: Sources
    graph: str = "fold"
    draw: Callable[[CompileEvent], Drawing | None] = lambda event: None
    explained: set[str] = field(default_factory=set)

    def define(self, *terms: str) -> list[Part]:
        """A note with the terms that this card has not defined yet."""
        new = [t for t in terms if t not in self.explained]
        self.explained.update(new)
        return [Note(tuple(_definition(t))) for t in new]

    def define_kinds(self, guards: Iterable[GuardRecord]) -> list[Part]:
        """A note with the meaning of the kinds of these guards, as far as this card has not told them yet."""
        new = [kind for kind in kinds_in(guards) if kind in GUARD_KINDS and kind not in self.explained]
        self.explained.update(new)
        return [Note((Strong(kind), f": {GUARD_KINDS[kind]}")) for kind in new]

    def define_statuses(self, sources: Iterable[str]) -> list[Part]:
        """A note with the meaning of what these kernels may return, if they may return anything but OK."""
        found = {name for source in sources for name in _STATUS.findall(source)}
        if not found - {"OK"}:
            return []
        told = "; ".join(f"{name}: {meaning}" for name, meaning in STATUSES.items() if name in found)
        plain = "after anything but OK and EXIT the call runs as plain NumPy, from its beginning"
        return [Note((Strong("return"), f": {told}; {plain}"))]

    def define_in_text(self, term: str) -> tuple[str, ...]:
        """The same as a line of the text form, for sections that it does not open."""
        return () if term in self.explained else (f"  ({term}: {TERMS[term]})",)


def _definition(term: str) -> list[Inline]:
    return [Strong(term), f": {TERMS[term]}"]
