"""The flow that is being traced: where the next statement goes, and the loops and branches around it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.graph.flow import Exit, Move, Piece, Statement
from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.flow.frames import own_cells, variables
from jitmagic.tracer.flow.lists import Lists
from jitmagic.tracer.flow.names import needed_after, rebound_in
from jitmagic.tracer.flow.state import changed, snapshot
from jitmagic.tracer.flow.values import Unavailable, refuse
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.resume import BreakHere
from jitmagic.tracer.signals import Finished, NotConstant, Raised, Restart, Returned
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["LEFT", "Ended", "Loop", "Recorder", "recorded"]

LEFT = "left"  # how a block ended whose end has been recorded already
FAILURES = (Unsupported, NotConstant, DataDependentSize, Raised, BreakHere, Finished)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a flow ended: with a ``return`` or another leap, with a value (also of an expression), or with neither."""

    flow: Returned | None = None
    value: VariableTracker | None = None


@dataclass(slots=True)
class Loop:
    """A loop of the flow while its body is traced: on which ways a round ends, with which variables."""

    tx: Evaluator
    ends: list[tuple[str, dict[str, VariableTracker], Move]] = field(default_factory=list)
    first_piece: int = 0  # of the pieces that the round consists of


@dataclass(slots=True)
class Recorder:
    """``body`` is the list that the next statement goes to; ``joins`` are all joins made so far."""

    output: OutputGraph
    body: list[Statement] = field(default_factory=list)
    joins: list[Node] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    place: tuple[Any, ...] = ()  # of the outermost statement
    arrays: list[ArrayTracker] = field(default_factory=list)  # from outside, that a join may be: tags count them from 1
    tied: set[tuple[Node, Node]] = field(default_factory=set)  # the moves that say so: target and value
    endings: Any = None  # the Endings of a flow that the function ends with
    pieces: list[Graph] = field(default_factory=list)
    lists: Lists = field(default_factory=Lists)

    def add(self, statement: Statement) -> None:
        """Add a statement; nodes that are recorded from here on stand after it."""
        self.body.append(statement)
        self.piece()

    def piece(self) -> None:
        """Begin a piece: the trace records its nodes there."""
        self.output.graph = Graph("piece")
        self.pieces.append(self.output.graph)
        self.output.selections.clear()
        self.body.append(Piece(self.output.graph))

    @contextmanager
    def nested(self) -> Iterator[list[Statement]]:
        """Record a block of its own."""
        outer, self.body = self.body, []
        self.piece()
        try:
            yield self.body
        finally:
            self.body = outer
            self.piece()

    def end_round(self, kind: str) -> None:
        """The round of the innermost loop ends here: ``end`` (of the body), ``break`` or ``continue``."""
        loop = self.loops[-1]
        move = Move()
        self.add(move)
        loop.ends.append((kind, variables(loop.tx), move))
        if kind != "end":
            self.add(Exit(kind))


def recorded(
    tx: Evaluator,
    node: Any,
    capture: Callable[[Recorder], Ended],
    finish: Callable[[Evaluator, Any, Recorder, Ended], Ended],
    form: str = "",
) -> Ended | None:
    """What ``capture`` gives, with the flow that it has recorded in the graph; None where there is no form for it.

    An attempt that fails has changed trackers, so the whole trace starts again and knows better. ``form`` tells
    captures of one place apart; without one nothing but arrays and numbers may be changed.
    """
    output, place = tx.output, (*tx.place(node), form) if form else tx.place(node)
    if output.differentiating > 1:  # a tape has no derivative itself: rounds are written out one by one
        return None
    if place in output.policy.no_flow:
        output.refusals[node.lineno] = output.policy.no_flow[place]
        return None
    recorder, is_outermost = output.flow, output.flow is None
    if is_outermost:
        recorder = output.flow = Recorder(output, place=place)
        recorder.piece()
    try:
        with nullcontext() if form else _nothing_else_changes(tx, node, is_outermost):
            result = capture(recorder)
        if not is_outermost and recorder.endings is not None and not form:
            _check_needed(tx, node)
        if is_outermost:
            output.graph, output.flow = output.root, None
            result = finish(tx, node, recorder, result)
    except FAILURES as error:
        reason = error.cause if isinstance(error, BreakHere) else error
        output.policy.no_flow[place] = _words(reason)
        output.policy.no_inline.clear()  # callees that broke may have done so on what only the flow does not know
        raise Restart from None
    return result


@contextmanager
def _nothing_else_changes(tx: Evaluator, node: Any, is_outermost: bool) -> Iterator[None]:
    """Raises Unsupported if something other than arrays, numbers and the variables that ``node`` binds is changed."""
    output, names = tx.output, rebound_in(node)
    before = snapshot(output, without=[cell for name, cell in own_cells(tx).items() if name in names])
    if is_outermost:
        output.flow.lists.existing = before
    effects, generators = len(output.effects), len(output.generators)
    yield
    started = any(generator.needs_closing for generator in output.generators[generators:])
    if len(output.effects) > effects or started or changed(before, output.flow.lists.grown):
        raise refuse("a change of something other than arrays and numbers")


def _check_needed(tx: Evaluator, node: Any) -> None:
    """Raises Unsupported if a variable that is read later is of several kinds after the statement."""
    after = variables(tx)
    for name in needed_after(tx.frame.node, node, rebound_in(node)):
        if isinstance(after.get(name), Unavailable):
            raise refuse(after[name].describe())


def _words(reason: BaseException) -> str:
    """What the statement holds that no flow can hold."""
    node = getattr(reason, "node", None)
    if node is not None and getattr(reason, "code", "") != "region":
        return ast.unparse(node)
    detail = getattr(reason, "detail", "") or str(reason)
    return _HELD.get(getattr(reason, "code", ""), "{}").format(detail)


_HELD = {"data-key": "{} that is a key of a dict or a member of a set"}
