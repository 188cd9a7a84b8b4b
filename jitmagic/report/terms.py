"""Takes the terms that a card uses, gives each one's meaning, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from jitmagic.events import CompileEvent
from jitmagic.report.drawing import Drawing
from jitmagic.report.parts import Inline, Note, Part, Strong
from jitmagic.report.sources import Sources

__all__ = ["TERMS", "Setting"]

TERMS = {
    "graph break": "the part of the function that stays ordinary Python",
    "kernel": "one piece of machine code that does the work of the lines marked k0, k1, ...",
    "extern": "a call of NumPy's own function from the compiled code",
    "guard": "a condition under which the compiled code may be used again; checked at every call",
    "recompile": "compiling again, because a call did not fit what was compiled before",
    "entry": "the compiled code for one set of guards",
    "plain Python": "the function as you wrote it, run line by line; the results are the same",
    "side effect": "a change that outlives the call; done in order after the computation",
}


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

    def define_in_text(self, term: str) -> tuple[str, ...]:
        """The same as a line of the text form, for sections that it does not open."""
        return () if term in self.explained else (f"  ({term}: {TERMS[term]})",)


def _definition(term: str) -> list[Inline]:
    return [Strong(term), f": {TERMS[term]}"]
