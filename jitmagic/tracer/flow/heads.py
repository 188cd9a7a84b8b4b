"""Takes what a ``for`` runs over, gives the bounds of its counter and what its targets are in each round.

for i, (row, t) in enumerate(zip(X, y), 1):     for at in range(len(X)):
                                                    i = at + 1; row = X[at]; t = y[at]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jitmagic.graph.meta import PyMeta
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.flow.values import meta_of, value_of
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.sequences import RangeTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Head", "enumerated", "head_over", "zipped"]


@dataclass(frozen=True, slots=True)
class Head:
    """``bounds`` of the counter as ``range`` takes them; ``item(number)`` is what a round is given."""

    bounds: tuple[Any, ...]
    item: Callable[[RunTimeNumber], VariableTracker]
    is_range: bool = False


def head_over(tx: Evaluator, rounds: VariableTracker) -> Head | None:
    """Over a range of any length, or the rows of an array; None for anything else."""
    if isinstance(rounds, RangeTracker):
        values = [tx.realize(v) for v in rounds.bounds]
        if not all(meta_of(v) == PyMeta(int) for v in values):
            return None
        return Head(tuple(value_of(tx, v) for v in values), lambda number: number, is_range=True)
    if isinstance(rounds, ArrayTracker) and rounds.meta.ndim:
        return Head((0, rounds.meta.shape[0], 1), lambda number: tx.realize(rounds.item(tx, number)))
    return None


def zipped(tx: Evaluator, arrays: Sequence[VariableTracker]) -> Head | None:
    """Over the rows of several arrays: as many rounds as the shortest has rows."""
    heads = [head_over(tx, a) if isinstance(a, ArrayTracker) else None for a in arrays]
    if not heads or any(h is None for h in heads):
        return None
    sizes = [a.length(tx) for a in arrays]
    shortest = 0
    try:
        for place, size in enumerate(sizes):
            if tx.truth(tx.language.compare(tx, "lt", size, sizes[shortest])):
                shortest = place
    except DataDependentSize:
        return None
    first = heads[shortest]
    assert first is not None
    return Head(first.bounds, lambda number: TupleTracker([h.item(number) for h in heads if h is not None]))


def enumerated(tx: Evaluator, rounds: VariableTracker, start: VariableTracker) -> Head | None:
    """The same with the number of the round in front."""
    head = head_over(tx, rounds) if isinstance(rounds, ArrayTracker) else None
    if head is None or not isinstance(start, Constant) or type(start.value) is not int:
        return None

    def item(number: RunTimeNumber) -> VariableTracker:
        shown = tx.language.binary(tx, "add", number, start) if start.value else number
        return TupleTracker([shown, head.item(number)])

    return Head(head.bounds, item)
