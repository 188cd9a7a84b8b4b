"""What ``interpret(graph, arguments)`` means over trackers: its operations become some of the graph here (row N12)."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.graph.graph import Graph
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.node import Node, map_nodes, nodes_in
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.guards.kinds import identity_guard
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

__all__ = ["ROWS"]


def _interpret(tx: Evaluator, graph: VariableTracker, arguments: VariableTracker) -> VariableTracker:
    real = graph.real_object()
    given = tx.unpack(arguments)
    if not isinstance(real, Graph) or real.bindings or len(given) != len(real.placeholders):
        raise Unsupported("call", f"interpret({graph.describe()})")
    if graph.source is not None:
        tx.output.guards.add(identity_guard(graph.source, real))
    values: dict[Node, VariableTracker] = dict(zip(real.inputs, map(tx.realize, given), strict=True))
    for node in real.nodes:
        if node.kind != "input":
            values[node] = _value(tx, node, values)
    return ListTracker([values[node] for node in real.outputs])


def _value(tx: Evaluator, node: Node, values: dict[Node, VariableTracker]) -> VariableTracker:
    if node.kind == "constant":
        return tx.output.builder.constant_object(tx, node.value)
    if node.kind == "item":
        owner = values[node.args[0]]
        if not isinstance(owner, TupleTracker):
            raise Unsupported("call", f"interpret(), where {node!r} is an item of no tuple")
        return tx.realize(owner.items[node.index])

    def operand(leaf: Any) -> Any:
        return tx.operand(values[leaf]) if isinstance(leaf, Node) else leaf

    assert node.op is not None
    read = [values[each] for each in nodes_in((node.args, node.kwargs))]
    return tx.record(node.op, map_nodes(node.args, operand), map_nodes(node.kwargs, operand), read)


ROWS: dict[Any, Handler] = {interpret: _interpret}
