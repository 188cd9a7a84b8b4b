"""Takes an ``if`` whose way only the data decide, records all that follows it on both ways, to the end of the function.

In a callee that is inlined that includes what follows in its callers (``tails``).

Nothing is joined: each way has its own effects and returns what it likes. One number tells which way the call went,
and the program around the graph goes on as that way does.

    if x.max() > 1:             g = graph([x])
        log.append(x.max())     if g[0] == 0:
        return x * 2                v1.append(g[1]); return g[2]
    return None                 return None
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.events import EffectRecord
from jitmagic.graph.flow import Branch, Flow, Leave, Move
from jitmagic.graph.meta import PyMeta
from jitmagic.graph.node import Node
from jitmagic.tracer.effects import (
    AttributeEffect,
    CallEffect,
    CellEffect,
    ContentsEffect,
    Effect,
    GlobalEffect,
    HelperEffect,
    ItemEffect,
)
from jitmagic.tracer.emit import Emitter
from jitmagic.tracer.flow.finish import add_flow, check_operands, link, own_nodes, written_in
from jitmagic.tracer.flow.moments import Moment
from jitmagic.tracer.flow.record import LEFT, Ended, Recorder, recorded
from jitmagic.tracer.flow.values import meta_of, refuse, value_of
from jitmagic.tracer.part_names import readable
from jitmagic.tracer.signals import Finished, Raised, Returned
from jitmagic.tracer.tails import run_to_the_end
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.number import RunTimeNumber

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Endings", "capture_endings", "write_effects", "write_ending"]

FORM = "endings"
MOST = 8  # ways to the end of one function
EFFECTS = (
    AttributeEffect,
    CallEffect,
    CellEffect,
    ContentsEffect,
    GlobalEffect,
    HelperEffect,
    ItemEffect,
)  # made after the graph


@dataclass(slots=True)
class Ending:
    """One way to the end: what it returns, and what the trackers hold then. ``results`` are nodes that it needs."""

    value: VariableTracker
    effects: list[Effect]
    moment: Moment
    results: dict[Node, Node]


@dataclass(eq=False)
class Endings(VariableTracker):
    """What the function returns: the value of ``ways[tag]``."""

    tag: Node
    ways: list[Ending] = field(default_factory=list)
    tracked: dict[int, Any] = field(default_factory=dict)

    def describe(self) -> str:
        return "what one of several ways returns"


def capture_endings(tx: Evaluator, node: ast.If, test: VariableTracker, rest: Sequence[ast.stmt]) -> Ended | None:
    """How the statement ended, recorded with ``rest``, all that follows it in the function; None without a form."""
    output = tx.output
    if tx.parent is not None and tx.after_call is None:
        return None
    if output.differentiating or output.tensors is not None or meta_of(test) is None:
        return None
    if output.flow is not None and output.flow.endings is None:
        return None

    def capture(recorder: Recorder) -> Ended:
        if recorder.endings is None:
            recorder.endings = Endings(Node("way", "input", PyMeta(int)))
            recorder.joins.append(recorder.endings.tag)
        before = Moment(tx)
        blocks = []
        for statements in ([*node.body, *rest], [*node.orelse, *rest]):
            with recorder.nested() as block:
                _record_to_the_end(tx, recorder, statements)
            blocks.append(block)
            recorder.endings.tracked |= output.tracked
            before.return_to()
        recorder.add(Branch(value_of(tx, test), *blocks))
        return Ended(Returned(LEFT))

    ended = recorded(tx, node, capture, _finish, form=FORM)
    if ended is not None and ended.flow is not None and tx.after_call is not None:
        raise Finished(ended.flow)
    return ended


def _record_to_the_end(tx: Evaluator, recorder: Recorder, statements: Sequence[ast.stmt]) -> None:
    try:
        value = run_to_the_end(tx, statements)
    except Raised as raised:
        if isinstance(raised.error, NameError):
            raise
        recorder.add(Leave())
        return
    if value is not None:
        _end(_outermost(tx), recorder, value)


def _outermost(tx: Evaluator) -> Evaluator:
    return tx if tx.parent is None else _outermost(tx.parent)


def _end(tx: Evaluator, recorder: Recorder, value: VariableTracker) -> None:
    """The function ends here: write the end once, to see which nodes it needs."""
    output, endings = tx.output, recorder.endings
    if len(endings.ways) == MOST:
        raise refuse(f"more than {MOST} ways to the end of the function")
    if not all(type(e) in EFFECTS for e in output.effects):
        raise refuse("an effect that is no plain store")
    if any(generator.needs_closing for generator in output.generators):
        raise refuse("a generator that is not finished")
    emit = Emitter(output, tx)
    emit.graphs = (output.root, *recorder.pieces)
    _write(tx, emit, value)
    known = set(output.root.nodes)
    results = {n: Node(n.name, "input", n.meta) for n in emit.outputs if n not in known}
    move = Move((endings.tag,), (len(endings.ways),))
    for needed, result in results.items():
        move.add(result, needed)
    recorder.joins += results.values()
    recorder.add(move)
    endings.ways.append(Ending(value, list(output.effects), Moment(tx, (value,)), results))


def _finish(tx: Evaluator, node: ast.AST, recorder: Recorder, ended: Ended) -> Ended:
    """Put the flow into the graph of the function; gives what the function returns."""
    endings: Endings = recorder.endings
    if not endings.ways:
        raise refuse("exceptions on all ways")
    results = [endings.tag, *(r for way in endings.ways for r in way.results.values())]
    operands, written = _operands(recorder, results)
    flow = Flow(operands, recorder.body, tuple(results), written, joins=tuple(recorder.joins), ends=True)
    outside = {inner: _node_of(tracker) for inner, tracker in add_flow(tx, node, flow).items()}
    for way in endings.ways:
        way.results = {inner: outside[result] for inner, result in way.results.items()}
    endings.tag = outside[endings.tag]
    tx.output.tracked |= endings.tracked
    tx.output.effects[:] = dict.fromkeys(e for way in endings.ways for e in way.effects)
    return Ended(Returned("return", endings), endings)


def _node_of(tracker: VariableTracker) -> Node:
    assert isinstance(tracker, ArrayTracker | RunTimeNumber)
    return tracker.node


def _operands(recorder: Recorder, results: Sequence[Node]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """What the flow takes from outside, and which of it is written. Refuses results that others would have to share."""
    own = own_nodes(recorder.body)
    roots, changed = written_in(recorder.body, own)
    unwritten = set(recorder.output.input_nodes) - changed - _written_before(recorder)
    for result in results:
        if not roots.of(result) <= unwritten:
            raise refuse("a view of an array that is made before, or written")
    operands = link(recorder.body, own, results)
    written = tuple(i for i, o in enumerate(operands) if isinstance(o, Node) and o.storage in changed)
    check_operands(operands, written)
    return operands, written


def _written_before(recorder: Recorder) -> set[Node]:
    """The arrays that the graph writes before the flow: it may do so in copies, and a view of one would show that."""
    return {target.storage for node in recorder.output.root.nodes for target in node.written()}


def write_ending(tx: Evaluator, emit: Emitter, value: VariableTracker) -> list[EffectRecord]:
    """Write the end of the program: its effects, and the ``return``."""
    if not isinstance(value, Endings):
        return _write(tx, emit, value)
    effects = list(tx.output.effects)
    tag = emit.output(value.tag)
    for number, way in enumerate(value.ways):
        with emit.block(f"if {tag} == {number}:"):
            way.moment.show()
            emit.results = way.results
            _write(tx, emit, way.value)
    tx.output.effects[:] = effects
    return [EffectRecord(readable(effect.describe()), effect.span) for effect in effects]


def _write(tx: Evaluator, emit: Emitter, value: VariableTracker) -> list[EffectRecord]:
    records = write_effects(tx, emit)
    emit.line(f"return {emit.value(value)}")
    return records


def write_effects(tx: Evaluator, emit: Emitter) -> list[EffectRecord]:
    """Write the effects of the trace, in order."""
    records = []
    for effect in list(tx.output.effects):
        effect.replay(emit)
        records.append(EffectRecord(readable(effect.describe()), effect.span))
    return records
