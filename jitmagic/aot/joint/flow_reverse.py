"""Takes a node that runs a flow, gives cotangents to its operands: the flow keeps a tape, one node walks it back."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jitmagic.graph import ArrayMeta, Node, PyMeta
from jitmagic.graph.flow import Flow, Move, Piece, walk
from jitmagic.graph.flow_call import FlowCall
from jitmagic.graph.flow_tape import FlowAdjoint, Tape, TapedFlow, check_views
from jitmagic.ops.derivatives import gradient_meta
from jitmagic.ops.functional import PureCall
from jitmagic.ops.record import Arguments, Inferred, Op

if TYPE_CHECKING:
    from jitmagic.aot.joint.reverse import Reverse

__all__ = ["flow_cotangents"]

TAPE = PyMeta(Tape)


def flow_cotangents(walk: Reverse, node: Node) -> bool:
    """The rule of flows; False for any other node."""
    row = node.op
    if not isinstance(row, Op):
        return False
    call = row.call.row.call if isinstance(row.call, PureCall) else row.call
    if not isinstance(call, FlowCall | TapedFlow):
        return False
    places = [i for i, a in enumerate(node.args) if isinstance(a, Node) and a in walk.reached]
    taped = _taped(call, frozenset(places))
    node.op = replace(row, name=taped.__name__, call=taped, writes=())
    entries = {i: g for i, g in walk.entries.get(node, {}).items() if g is not None}
    metas = tuple(gradient_meta(walk.stage.value(node.args[i]).meta) for i in places)
    tape = _tape_of(walk, node, len(taped.flow.written) + len(taped.flow.results))

    def rule(_: Arguments) -> Inferred:
        return Inferred(metas)

    adjoint = Op("flow_adjoint", FlowAdjoint(tuple(places), tuple(entries)), rule, raises=True)
    found = walk.stage.call(adjoint, (tape, *entries.values()))
    for place, cotangent in zip(places, found, strict=True):
        walk.add(node.args[place], cotangent)
    return True


def _taped(call: FlowCall | TapedFlow, wanted: frozenset[int]) -> TapedFlow:
    """The flow with a tape, as one more entry of its result, for derivatives of the operands ``wanted``."""
    if isinstance(call, TapedFlow):
        return call if wanted <= call.wanted else _taped(call.plain, wanted | call.wanted)
    check_views(call.flow)
    halves = importlib.import_module("jitmagic.aot.pieces")  # it needs what this module is a part of
    active = _active(call.flow, wanted)
    statements = [s for s in walk(call.flow.body) if isinstance(s, Piece)]
    pieces = [
        halves.PieceHalves(
            piece, [i for i, variable in enumerate(s.inputs) if variable in active and _is_real(variable)]
        )
        for piece, s in zip(call.pieces, statements, strict=True)
    ]
    return TapedFlow(call, pieces, wanted)


def _tape_of(walk: Reverse, node: Node, entry: int) -> Node:
    known = (n for n in walk.stage.graph.nodes if n.kind == "item" and n.args[0] is node and n.index == entry)
    return next(known, None) or walk.stage.graph.item(node, entry, TAPE)


def _active(flow: Flow, wanted: frozenset[int]) -> set[Any]:
    """The variables that depend on a wanted operand. Where arrays are written, names of one array count as one."""
    statements = list(walk(flow.body))
    writes = any(n.written() for s in statements if isinstance(s, Piece) for n in s.graph.nodes)
    found: set[Any] = {flow.operands[i] for i in wanted}
    known = -1
    while known < len(found):
        known = len(found)
        for statement in statements:
            if isinstance(statement, Piece):
                found |= _reached(statement, found)
            elif isinstance(statement, Move):
                for target, value in zip(statement.targets, statement.values, strict=True):
                    if value in found or (writes and target in found and isinstance(value, Node)):
                        found |= {target, value}
    return found


def _reached(piece: Piece, active: set[Any]) -> set[Any]:
    graph = piece.graph
    variables = dict(zip(graph.inputs, piece.inputs, strict=True))
    inside = [node for node, variable in variables.items() if variable in active]
    if not inside:
        return set()
    written = {w.storage for node in graph.nodes for w in node.written()}
    if written:
        return {variables.get(node, node) for node in (*graph.outputs, *(written & set(variables)))}
    reached = set(inside)
    for node in graph.nodes:
        if not reached.isdisjoint(node.operands()):
            reached.add(node)
    return reached & set(graph.outputs)


def _is_real(node: Node) -> bool:
    if isinstance(node.meta, ArrayMeta):
        return node.meta.dtype.kind in "fc"
    return isinstance(node.meta, PyMeta) and node.meta.type in (float, complex)
