"""Takes an operand and an output in one memory, tells whether NumPy's loops see them overlap.

Where they do, ufuncs such as ``exp`` run element by element, and the last bit may differ from that of the vector code.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from jitmagic.aot.aliases import Aliases, is_array
from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.graph.node import nodes_in
from jitmagic.graph.passes.keys import structural_key
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.functional import ViewStep, follow
from jitmagic.ops.lowering import Pointwise, Select
from jitmagic.ops.record import Op

__all__ = ["clash", "exact_in_every_layout", "inputs_to_keep_apart"]


def exact_in_every_layout(node: Node) -> bool:
    """True if the bits of a call depend on its operands' values alone, not on where they lie."""
    assert isinstance(node.op, Op)
    if isinstance(node.op.lower, Select):
        return True
    operands = [m.dtype.kind for n in nodes_in(node.args) if isinstance(m := n.meta, ArrayMeta)]
    return isinstance(node.op.lower, Pointwise) and all(kind in node.op.lower.kinds for kind in operands)


def inputs_to_keep_apart(graph: Graph, aliases: Aliases) -> Iterator[tuple[int, int]]:
    """Pairs of arguments whose extents may not meet: one is read by what writes the other, not exact in each layout."""
    places = {node: i for i, node in enumerate(graph.inputs)}
    for node in graph.nodes:
        if node.kind != "call" or "out" not in node.kwargs or exact_in_every_layout(node):
            continue
        read = {places.get(aliases.storage(n)) for n in nodes_in(node.args) if is_array(n)}
        written = {places.get(aliases.storage(n)) for n in nodes_in(node.kwargs["out"])}
        yield from ((i, j) for i in read for j in written if i is not None and j is not None and i != j)


def clash(aliases: Aliases, operand: Node, out: Node) -> bool:
    """True unless both are surely the same view, or reach from one byte to another that do not meet."""
    storage = aliases.storage(operand)
    if storage is not aliases.storage(out):
        return False
    paths = aliases.path(operand), aliases.path(out)
    if _key(paths[0]) == _key(paths[1]):
        return False
    meta = storage.meta
    if (
        not isinstance(meta, ArrayMeta)
        or _varies(meta.shape)
        or any(_varies((s.args, s.kwargs)) for p in paths for s in p)
    ):
        return True
    memory = _laid_out_like(meta)
    return bool(np.may_share_memory(follow(memory, paths[0]), follow(memory, paths[1])))


def _key(path: tuple[ViewStep, ...]) -> Hashable:
    return structural_key(tuple((s.op, s.args, s.kwargs, s.position, s.item) for s in path))


def _varies(value: Any) -> bool:
    """True for what has run-time values in it."""
    if isinstance(value, dict):
        return any(map(_varies, value.values()))
    if isinstance(value, tuple | list):
        return any(map(_varies, value))
    if isinstance(value, slice):
        return _varies((value.start, value.stop, value.step))
    return isinstance(value, SymInt | np.ndarray | Node)


def _laid_out_like(meta: ArrayMeta) -> Any:
    """An array with these sizes and strides; its memory is never touched, so it costs nothing."""
    reach = sum(abs(s) * (n - 1) for s, n in zip(meta.strides, meta.shape, strict=True) if n) + meta.dtype.itemsize
    first = sum(-s * (n - 1) for s, n in zip(meta.strides, meta.shape, strict=True) if s < 0 and n)
    return np.ndarray(meta.shape, meta.dtype, np.empty(reach, np.uint8), first, meta.strides)
