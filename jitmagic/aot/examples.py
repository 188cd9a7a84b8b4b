"""Takes a graph, gives arguments that it could be called with: zeros, where no call has made values yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta, Graph, Node, SymInt
from jitmagic.graph.meta import PyMeta

__all__ = ["examples_of"]


def examples_of(graph: Graph) -> list[Any]:
    """One for each input, as described there at the sizes of this trace.

    Arrays of zeros, zeros, sizes; None for other objects (random generators, what a loop has noted).
    """
    sizes = {
        repr(n): n.hint for node in graph.nodes if isinstance(node.meta, ArrayMeta) for n in _symbolic(node.meta.shape)
    }
    named = {b.node: sizes[b.symbol] for b in graph.bindings if b.axis is None and b.symbol in sizes}
    return [named[node] if node in named else _example(node) for node in graph.inputs]


def _symbolic(shape: tuple[Any, ...]) -> list[SymInt]:
    return [n for n in shape if isinstance(n, SymInt)]


def _example(node: Node) -> Any:
    meta = node.meta
    if isinstance(meta, PyMeta):
        return meta.type() if meta.type in (bool, int, float, complex) else None
    if not isinstance(meta, ArrayMeta):
        return None
    return np.zeros((), meta.dtype)[()] if meta.scalar else _zeros(meta)


def _zeros(meta: ArrayMeta) -> np.ndarray[Any, Any]:
    """An array with memory of its own, laid out as described."""
    shape = meta.hint_shape
    reach = [(n - 1) * s for n, s in zip(shape, meta.strides, strict=True)]
    if 0 in shape:
        return np.zeros(shape, meta.dtype)
    memory = np.zeros(sum(map(abs, reach)) + meta.dtype.itemsize, np.uint8)
    return np.ndarray(shape, meta.dtype, memory, -sum(r for r in reach if r < 0), meta.strides)
