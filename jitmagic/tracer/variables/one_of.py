"""What a function returns that has several ways out of a loop: one of some values, as a number of run time tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitmagic.tracer.variables.base import VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter

__all__ = ["OneOf"]


class OneOf(VariableTracker):
    """``choices[which]``; it is only ever returned, never looked at."""

    def __init__(self, which: VariableTracker, choices: Sequence[VariableTracker]) -> None:
        self.which = which
        self.choices = tuple(choices)

    def reconstruct(self, emit: Emitter) -> str:
        number = emit.value(self.which)
        *tested, last = enumerate(map(emit.value, self.choices))
        text = last[1]
        for position, value in reversed(tested):
            text = f"({value} if {number} == {position} else {text})"
        return text
