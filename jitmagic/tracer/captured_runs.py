"""Takes the statements of a block, adds as many as one region can hold to the graph, gives what they return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jitmagic.tracer.loops import capture_run
from jitmagic.tracer.loops.leaving import has_return
from jitmagic.tracer.loops.runs import RETURNED, returned_parts, returns_ways, runs_from
from jitmagic.tracer.loops.ways import WAY, has_ways, own_parts, ways_of
from jitmagic.tracer.names import names_in
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.one_of import OneOf
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Taken", "captured_run"]


@dataclass(frozen=True, slots=True)
class Taken:
    """How many statements were captured; ``returned`` is what the function gives, if they end it."""

    length: int
    returned: VariableTracker | None = None


def captured_run(tx: Evaluator, block: Sequence[ast.stmt], *, ends_function: bool) -> Taken | None:
    """The statements from the first on that were captured as one region; None if that is left to the first alone.

    Where what they return is of several types, each ``return`` is a way of its own.
    """
    may_differ = ends_function and tx.output.flow is None and not tx.output.differentiating
    for length in runs_from(block, ends_function=may_differ):
        run = block[:length]
        if any(_is_special(tx, s) for s in run):
            continue
        ways = [True] if returns_ways(run) else [False]
        if may_differ and not ways[0] and any(map(has_return, run[:-1])) and has_ways(run):
            ways.append(True)
        for by_ways in ways:
            if capture_run(tx, run, by_ways=by_ways, one_type=len(ways) > 1 and not by_ways):
                ends = by_ways or isinstance(run[-1], ast.Return)
                return Taken(length, _returned(tx, run, by_ways=by_ways) if ends else None)
    return None


def _returned(tx: Evaluator, run: Sequence[ast.stmt], *, by_ways: bool) -> VariableTracker:
    """What a captured run returns."""
    if by_ways:
        return _one_of(tx, run)
    parts = returned_parts(run)
    if parts is None:
        return tx.locals.pop(RETURNED)
    return TupleTracker([tx.locals.pop(part) if isinstance(part, str) else tx.eval(part) for part in parts])


def _one_of(tx: Evaluator, run: Sequence[ast.stmt]) -> VariableTracker:
    """What a run returns whose ways out differ in form."""
    bound = names_in(run, stores_only=True)
    choices: list[VariableTracker] = []
    for number, way in enumerate(ways_of(run)):
        known = {id(part): name for name, part in own_parts(way, number, bound)}
        items = [
            tx.locals.pop(known[id(part)]) if id(part) in known else tx.eval(part)
            for part in (way.elts if isinstance(way, ast.Tuple) else filter(None, [way]))
        ]
        choices.append(TupleTracker(items) if isinstance(way, ast.Tuple) else (items or [Constant(None)])[0])
    return OneOf(tx.locals.pop(WAY), choices)


def _is_special(tx: Evaluator, node: ast.stmt) -> bool:
    """Whether a statement is to break the graph, or to be replaced."""
    policy, place = tx.output.policy, tx.place(node)
    return hasattr(node, "jm_break") or place in policy.opaque or place in policy.rewritten
