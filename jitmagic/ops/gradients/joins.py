"""Takes the cotangent of joined, split or repeated arrays, gives those of the parts: it is cut, joined or summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import as_operand, axes_of, cast, counted, shape_of

__all__ = [
    "append_rules",
    "joining",
    "of_concatenate",
    "of_meshgrid",
    "of_repeat",
    "of_stack",
    "of_tile",
    "of_vstack",
    "splitting",
]

Shape = tuple[Any, ...]


def _cut(g: Any, arrays: Sequence[Any], shapes: Sequence[Shape], axis: int) -> list[Any]:
    """The part of ``g`` along ``axis`` that belongs to each array; ``shapes`` are theirs as they were joined."""
    parts, start = [], 0
    for x, shape in zip(arrays, shapes, strict=True):
        stop = start + shape[axis]
        parts.append(as_operand(g[(slice(None),) * axis + (slice(start, stop),)], x))
        start = stop
    return parts


def _as_given(parts: list[Any], arrays: Any) -> Any:
    """A list of cotangents, or one array of them if the operand was an array of arrays."""
    return np.stack(parts) if hasattr(arrays, "dtype") else parts


def of_concatenate(g: Any, ans: Any, arrays: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
    if axis is None:
        sizes = [(_size(x),) for x in arrays]
        return _as_given(_cut(g, arrays, sizes, 0), arrays)
    shapes = [shape_of(x) for x in arrays]
    return _as_given(_cut(g, arrays, shapes, axis % len(shapes[0])), arrays)


def _size(x: Any) -> Any:
    size: Any = 1
    for n in shape_of(x):
        size = n * size
    return size


def of_stack(g: Any, ans: Any, arrays: Any, axis: int = 0, *args: Any, **kwargs: Any) -> Any:
    front = np.moveaxis(g, axis, 0)
    return _as_given([cast(front[i], x) for i, x in enumerate(arrays)], arrays)


def joining(lifted: Callable[[Shape], Shape], axis: int | None) -> Callable[..., Any]:
    """The rule of a function that first gives each array more axes; None: the last axis of vectors, else the second."""

    def rule(g: Any, ans: Any, arrays: Any, *args: Any, **kwargs: Any) -> Any:
        shapes = [lifted(shape_of(x)) for x in arrays]
        place = axis if axis is not None else min(len(shapes[0]) - 1, 1)
        return _as_given(_cut(g, arrays, shapes, place), arrays)

    return rule


def _as_rows(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


of_vstack = joining(_as_rows, 0)


def append_rule(place: int) -> Callable[..., Any]:
    def rule(g: Any, ans: Any, arr: Any, values: Any, axis: Any = None) -> Any:
        return of_concatenate(g, ans, [arr, values], axis)[place]

    return rule


append_rules = (append_rule(0), append_rule(1))


def splitting(axis_of: Callable[[Any, Any], int]) -> Callable[..., Any]:
    """The rule of a function that splits along ``axis_of(array, axis)``."""

    def rule(g: Any, ans: Any, ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
        place = axis_of(ary, axis)
        if not isinstance(indices_or_sections, int | np.integer):
            places = [0, *(int(i) for i in indices_or_sections)]
            if any(a > b or a < 0 for a, b in pairwise(places)):
                return _overlapping(g, ary, indices_or_sections, place)
        parts = [np.zeros_like(a) if c is None else c for c, a in zip(g, ans, strict=True)]
        return np.concatenate(parts, axis=place)

    return rule


def _overlapping(g: Any, ary: Any, places: Any, axis: int) -> Any:
    """Places that are not in order make parts that overlap, or leave elements out."""
    total = np.zeros_like(ary)
    for (start, stop), part in zip(pairwise([0, *places, None]), g, strict=True):
        if part is not None:
            total = total + placed(ary, part, (slice(None),) * axis + (slice(start, stop),))
    return total


def of_repeat(g: Any, ans: Any, a: Any, repeats: Any, axis: Any = None) -> Any:
    flat = np.reshape(a, -1) if axis is None else a
    place = 0 if axis is None else axes_of(a, axis)[0]
    shape = shape_of(flat)
    if isinstance(repeats, int | np.integer):
        apart = np.reshape(g, (*shape[: place + 1], repeats, *shape[place + 1 :]))
        return np.reshape(np.sum(apart, axis=place + 1), shape_of(a))
    index = np.repeat(counted(flat, place), repeats)
    return np.reshape(placed(flat, g, (*(slice(None),) * place, index)), shape_of(a))


def of_tile(g: Any, ans: Any, A: Any, reps: Any) -> Any:
    times = tuple(reps) if isinstance(reps, list | tuple | np.ndarray) else (reps,)
    shape = shape_of(A)
    ndim = max(len(shape), len(times))
    shape = (1,) * (ndim - len(shape)) + shape
    times = (1,) * (ndim - len(times)) + times
    apart = np.reshape(g, tuple(n for pair in zip(times, shape, strict=True) for n in pair))
    return as_operand(np.sum(apart, axis=tuple(range(0, 2 * ndim, 2))), A)


def of_meshgrid(g: Any, ans: Any, *xi: Any, indexing: str = "xy", **options: Any) -> list[Any]:
    """Each grid varies along the axis of its operand only."""
    found = []
    for i, (part, x) in enumerate(zip(g, xi, strict=True)):
        place = 1 - i if indexing == "xy" and len(xi) > 1 and i < 2 else i
        if part is None:
            found.append(np.zeros_like(x))
            continue
        others = tuple(axis for axis in range(len(shape_of(part))) if axis != place)
        found.append(as_operand(np.sum(part, axis=others), x))
    return found
