"""Takes nodes, gives what loops need to know of their memory: dense order, place in a space, form letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Index
from jitmagic.backends.loops.views import compose, index_map
from jitmagic.graph import ArrayMeta, Node, PyMeta, SymInt

__all__ = ["Place", "dense_axes", "is_array", "is_scalar", "loop_dtype", "memory_order", "place", "scalar_letter"]

LOOP_KINDS = "biuf"
LETTERS = {"b": "i", "i": "i", "u": "u", "f": "d"}


def is_array(node: Node) -> bool:
    """An ndarray that a loop can read or make: of one or more dimensions, of a plain dtype in native byte order."""
    meta = node.meta
    return isinstance(meta, ArrayMeta) and meta.ndim > 0 and loop_dtype(meta.dtype)


def is_scalar(node: Node) -> bool:
    """A NumPy scalar or Python number that fits into one word of a launch."""
    meta = node.meta
    if isinstance(meta, PyMeta):
        return meta.type in (int, float)
    return isinstance(meta, ArrayMeta) and meta.scalar and loop_dtype(meta.dtype)


def loop_dtype(dtype: np.dtype[Any]) -> bool:
    """Bool, integers, float32 and float64 in native byte order; other dtypes stay with NumPy."""
    return dtype.kind in LOOP_KINDS and dtype.isnative and dtype.itemsize <= 8 and dtype != np.float16


def scalar_letter(node: Node) -> str:
    meta = node.meta
    kind = meta.dtype.kind if isinstance(meta, ArrayMeta) else {int: "i", float: "f"}[meta.type]  # type: ignore[union-attr]  # is_scalar holds
    return LETTERS[kind]


def dense_axes(meta: ArrayMeta) -> tuple[int, ...] | None:
    """The axes fastest first, without those of size 1, if elements lie without gaps and overlaps; else None."""
    live = [axis for axis in memory_order(meta)[::-1] if _size(meta, axis) != 1]
    expected = meta.dtype.itemsize
    for axis in live:
        if meta.strides[axis] != expected and 0 not in meta.hint_shape:
            return None
        expected *= max(meta.hint_shape[axis], 1)
    return tuple(live)


def memory_order(meta: ArrayMeta) -> tuple[int, ...]:
    """The axes from the slowest to the fastest; axes of size 1 keep their place."""
    return tuple(sorted(range(meta.ndim), key=lambda axis: (-abs(meta.strides[axis]), axis)))


def _size(meta: ArrayMeta, axis: int) -> Any:
    size = meta.shape[axis]
    return size.key if isinstance(size, SymInt) else size


@dataclass(frozen=True, slots=True)
class Place:
    """A node's element for every point of a space: ``base[axes]``, where ``base`` is in memory at run time."""

    base: Node
    axes: tuple[Index, ...]


def place(node: Node, ndim: int) -> Place:
    """Where ``node``, broadcast to a space of ``ndim`` axes, is read: through simple views to their base."""
    meta = node.meta
    assert isinstance(meta, ArrayMeta)
    shift = ndim - meta.ndim
    axes = tuple(Index(None) if _size(meta, axis) == 1 else Index(axis + shift) for axis in range(meta.ndim))
    base = node
    while base.view_of is not None:
        inner = index_map(base)
        joined = None if inner is None else compose(axes, inner)
        if joined is None:
            break
        axes, base = joined, base.view_of
    return Place(base, axes)
