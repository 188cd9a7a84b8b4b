"""Takes a compiled graph, gives what a person is shown of its derivatives: forward, backward, what is kept between."""

from __future__ import annotations

import math

from jitmagic.events import GradientRecord, SavedRecord
from jitmagic.graph import ArrayMeta, Graph, Node, print_graph
from jitmagic.ops.pullback import Backward

__all__ = ["gradient_record"]


def gradient_record(graph: Graph) -> GradientRecord | None:
    """None for a graph without derivatives."""
    for node in graph.calls():
        call = node.op.call if node.op is not None else None
        if isinstance(call, Backward):
            kept = [operand for operand in node.args if isinstance(operand, Node)]
            return GradientRecord(print_graph(graph), print_graph(call.graph), _saved(kept))
    if not graph.derived:
        return None
    backward = [n for n in graph.nodes if n.name in graph.derived and n.kind != "constant"]
    forward = [n for n in graph.nodes if n.name not in graph.derived]
    read = {o for n in backward for o in n.operands()}
    kept = [n for n in forward if n in read and n.kind != "constant"]
    return GradientRecord(_text(graph, forward), _text(graph, backward), _saved(kept))


def _text(graph: Graph, nodes: list[Node]) -> str:
    """The lines of some nodes."""
    wanted = {f"%{n.name}" for n in nodes}
    lines = print_graph(graph).splitlines()
    return "\n".join(line for line in lines if line.split(" ", 1)[0] in wanted)


def _saved(nodes: list[Node]) -> tuple[SavedRecord, ...]:
    return tuple(SavedRecord(f"%{n.name}", str(n.meta or "objects"), _bytes(n), n.kind == "input") for n in nodes)


def _bytes(node: Node) -> int:
    meta = node.meta
    return math.prod(meta.hint_shape) * meta.dtype.itemsize if isinstance(meta, ArrayMeta) else 0
