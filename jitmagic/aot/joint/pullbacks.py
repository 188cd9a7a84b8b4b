"""Takes a pure joint graph with a pullback in it, gives the forward graph whose pullback holds the backward graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot.joint.expand import fresh
from jitmagic.aot.joint.joint_graph import JointGraph, memory_of
from jitmagic.aot.joint.partitioners import min_cut_rematerialization_partition
from jitmagic.aot.joint.reverse import is_differentiable, pull
from jitmagic.aot.joint.staged import Stage
from jitmagic.errors import Unsupported
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv
from jitmagic.ops.derivatives import gradient_meta
from jitmagic.ops.pullback import PULLBACK, Backward

__all__ = ["compile_pullbacks", "expand_pullback", "split_pullback"]


def expand_pullback(graph: Graph, env: ShapeEnv, values: Sequence[Any], watched: Sequence[Node], like: Node) -> Node:
    """The node ``pullback(gradients...)``; the graph gets one more input, a tangent, for each real or complex value."""
    if any(n.op is PULLBACK for n in graph.calls()):
        raise Unsupported("call", "more than one pullback that leaves the function", like.span)
    stage = Stage(graph, env, like.span, like.stack)
    seeds: dict[Node, Any] = {}
    for number, value in enumerate(values):
        meta = value.meta if isinstance(value, Node) else ArrayMeta(np.dtype(np.float64), scalar=True)
        tangent = stage.value(graph.input(f"tangent{number}", gradient_meta(meta)))
        if isinstance(value, Node) and is_differentiable(value):
            seeds[value] = seeds[value] + tangent if value in seeds else tangent
    found = pull(stage, seeds, watched)
    taken: set[Node] = set()
    gradients = tuple(fresh(stage, g, node, taken) for g, node in zip(found, watched, strict=True))
    return graph.call(PULLBACK, gradients, {"tangents": len(values)}, None, span=like.span, stack=like.stack)


def split_pullback(graph: Graph) -> Graph:
    """The forward half, in which the pullback's node gathers what is saved; a graph without one stays as it is."""
    node = next((n for n in graph.calls() if n.op is PULLBACK), None)
    if node is None:
        return graph
    place = graph.outputs.index(node)
    outputs = [n for n in graph.outputs if n is not node]
    primals = len(graph.inputs) - node.kwargs["tangents"]
    whole = Graph(graph.name, [n for n in graph.nodes if n is not node], graph.placeholders, bindings=graph.bindings)
    whole.names = graph.names
    whole.outputs = [*outputs, *node.args]
    halves = min_cut_rematerialization_partition(JointGraph(whole, primals, len(outputs)))
    forward = halves.forward
    saved = forward.outputs[len(outputs) :]
    shared = memory_of([*forward.inputs, *forward.outputs[: len(outputs)]])
    copied = frozenset(i for i, n in enumerate(saved) if not memory_of([n]).isdisjoint(shared) and _is_array(n))
    backward = Backward(halves.backward, copied)
    made = forward.call(backward.row, tuple(saved), {}, None, span=node.span, stack=node.stack)
    forward.outputs = forward.outputs[: len(outputs)]
    forward.outputs.insert(place, made)
    return forward


def _is_array(node: Node) -> bool:
    return isinstance(node.meta, ArrayMeta) and not node.meta.scalar


def compile_pullbacks(graph: Graph, compile: Callable[[Graph], Any]) -> None:
    """Give the pullbacks of a forward graph their programs."""
    for node in graph.calls():
        call = node.op.call if node.op is not None else None
        if isinstance(call, Backward) and call.program is None:
            call.program = compile(call.graph)
