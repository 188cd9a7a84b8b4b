"""Takes a view node, gives it as an index map over its base, where that map is simple; NumPy is asked for it.

The view is made of a stand-in whose strides are digits of a mixed-radix number: offset and strides of the result
then tell start and step on every axis. Two sizes are tried, so that "from the end" shows.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.backends.loops.ir import Index
from jitmagic.graph import ArrayMeta, Node, SymInt
from jitmagic.graph.node import nodes_in

__all__ = ["compose", "index_map"]

# Views that NumPy makes of any array without copying: on a stand-in, a copy would read memory that is not there.
# (reshape copies when strides do not fit, so it stays a view made by the host.)
NEVER_COPY = {
    operator.getitem,
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.expand_dims,
    np.squeeze,
    np.broadcast_to,
    np.flip,
    np.flipud,
    np.fliplr,
}
EXTRA = 7  # how much longer the second probe is

Map = tuple[Index, ...]


def index_map(node: Node) -> Map | None:
    """One ``Index`` per axis of ``node.view_of``, its ``space`` being an axis of ``node``; None if not simple."""
    base, meta = node.view_of, node.meta
    if base is None or node.op is None or node.op.call not in NEVER_COPY or node.args[:1] != (base,):
        return None
    if not isinstance(base.meta, ArrayMeta) or not isinstance(meta, ArrayMeta) or 0 in base.meta.hint_shape:
        return None
    if node.op.call is np.broadcast_to:
        return _repeated(base.meta, meta)
    if _has_run_time_parts(node):
        return None
    shape = base.meta.hint_shape
    longer = tuple(n + EXTRA if n > 1 else n for n in shape)
    first, second = _probe(node, shape), _probe(node, longer)
    if first is None or second is None or len(first) != len(second):
        return None
    indices = [_join(*pair) for pair in zip(first, second, shape, longer, base.meta.shape, strict=True)]
    if None in indices:
        return None
    whole = [_key(size) for size in base.meta.shape]
    return tuple(
        replace(i, cut=i.space is not None and _key(meta.shape[i.space]) != n)
        for i, n in zip(indices, whole, strict=True)
        if i is not None
    )


def _repeated(base: ArrayMeta, meta: ArrayMeta) -> Map | None:
    """The map of a broadcast, which has no longer probe: its shape is among its operands."""
    if meta.ndim < base.ndim:
        return None
    shift = meta.ndim - base.ndim
    spaces = [None if n == 1 else axis + shift for axis, n in enumerate(map(_key, base.shape))]
    fits = all(k is None or _key(meta.shape[k]) == _key(n) for k, n in zip(spaces, base.shape, strict=True))
    return tuple(map(Index, spaces)) if fits else None


def _key(size: Any) -> Any:
    return size.key if isinstance(size, SymInt) else size


def _has_run_time_parts(node: Node) -> bool:
    rest = (node.args[1:], tuple(node.kwargs.values()))
    return any(True for _ in nodes_in(rest)) or _mentions_symbol(rest)


def _mentions_symbol(value: Any) -> bool:
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, tuple | list):
        return any(map(_mentions_symbol, value))
    return isinstance(value, SymInt)


def _probe(node: Node, shape: tuple[int, ...]) -> list[Index] | None:
    """Start and step per axis for a base of this shape; starts count from the beginning."""
    weights = _weights(shape)
    standin = as_strided(np.zeros((), np.uint8), shape, weights)
    try:
        view = node.op.call(standin, *node.args[1:], **node.kwargs)  # type: ignore[union-attr]  # a view has an op
    except (IndexError, ValueError):
        return None
    if not isinstance(view, np.ndarray):
        return None
    offset = view.__array_interface__["data"][0] - standin.__array_interface__["data"][0]
    if view.size == 0:
        return None
    indices = []
    for axis, weight in enumerate(weights):
        start, offset = divmod(offset, weight)
        runs = [(k, s // weight) for k, s in enumerate(view.strides) if s and _axis_of(s, weights) == axis]
        if len(runs) > 1:  # a diagonal
            return None
        space, step = runs[0] if runs else (None, 1)
        if space is not None and view.shape[space] == 1:
            step = 1
        indices.append(Index(space, start, step))
    return indices


def _weights(shape: tuple[int, ...]) -> tuple[int, ...]:
    weights, weight = [], 1
    for n in reversed(shape):
        weights.append(weight)
        weight *= 4 * (n + EXTRA + 1)
    return tuple(reversed(weights))


def _axis_of(stride: int, weights: tuple[int, ...]) -> int:
    return next(axis for axis, weight in enumerate(weights) if abs(stride) >= weight)


def _join(a: Index, b: Index, n_a: int, n_b: int, size: Any) -> Index | None:
    """One index that is right for both probes, and for every size if the size is symbolic."""
    if (a.space, a.step) != (b.space, b.step):
        return None
    symbolic = isinstance(size, SymInt)
    if a.start == b.start:
        # backwards from, or at, a fixed place: other sizes may not reach it
        if symbolic and a.start > 0 and (a.step < 0 or a.space is None):
            return None
        return a
    if a.start - n_a != b.start - n_b or (symbolic and a.space is None and a.start != n_a - 1):
        return None
    return Index(a.space, a.start - n_a, a.step)


def compose(outer: Map, inner: Map) -> Map | None:
    """``outer`` indexes a view whose own map over its base is ``inner``: both in one; None if not simple."""
    result = []
    for index in inner:
        if index.space is None:
            result.append(index)
            continue
        over = outer[index.space]
        start = _shift(index, over.start)
        if start is None:
            return None
        result.append(Index(over.space, start, index.step * over.step, index.cut or over.cut))
    return tuple(result)


def _shift(index: Index, start: int) -> int | None:
    """The place of element ``start`` of the inner view in the base; the beginning must stay on its side."""
    if start < 0:  # from the end of the inner view: its length would be needed
        return None
    if start == 0:
        return index.start
    if index.start < 0 and index.step > 0:  # a start that may be cut to 0
        return None
    moved = index.start + index.step * start
    return moved if (moved < 0) == (index.start < 0) else None
