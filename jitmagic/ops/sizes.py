"""Takes shapes that may hold symbolic sizes, gives the shapes of results; what it decides is recorded as guards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from jitmagic.graph.shapes import DataDependentSize, Dim, SymInt, apply

__all__ = ["Shape", "broadcast", "clamp", "product", "same_size", "slice_length", "slice_start"]

Shape: TypeAlias = tuple[Dim, ...]


def broadcast(*shapes: Shape) -> Shape | None:
    """The common shape, or None if there is none."""
    ndim = max(map(len, shapes), default=0)
    result: list[Dim] = []
    for axis in range(-ndim, 0):
        size: Dim = 1
        for shape in shapes:
            if len(shape) < -axis:
                continue
            joined = _join(size, shape[axis])
            if joined is None:
                return None
            size = joined
        result.append(size)
    return tuple(result)


def _join(a: Dim, b: Dim) -> Dim | None:
    """A literal 1 gives way without a decision, also to a size that only the data tell."""
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    if same_size(a, b):
        return a if isinstance(a, int) else b
    if isinstance(a, SymInt) and a == 1:
        return b
    return a if isinstance(b, SymInt) and b == 1 else None


def same_size(a: Dim, b: Dim) -> bool:
    """Whether two sizes are equal; sizes known to be equal in every call record no guard."""
    if isinstance(a, SymInt) and isinstance(b, SymInt) and a.key == b.key:
        return True
    return bool(a == b)


def product(sizes: Iterable[Dim]) -> Dim:
    total: Any = 1
    for n in sizes:
        total = n * total
    return total  # type: ignore[no-any-return]  # arithmetic of sizes is untyped


def clamp(value: Any, low: Any, high: Any) -> Any:
    """``value`` held between two bounds; sizes that only the data tell stay inside ``min`` and ``max``."""
    try:
        if value < low:
            return low
        return high if value > high else value
    except DataDependentSize:
        return apply("min", apply("max", value, low), high)


def slice_start(start: Any, n: Dim, step: int, *, is_stop: bool = False) -> Any:
    """An end of a slice as Python normalises it for ``n`` elements; None means the natural end."""
    low, high = (0, n) if step > 0 else (-1, n - 1)
    if start is None:
        return (high if is_stop else low) if step > 0 else (low if is_stop else high)
    try:
        negative = bool(start < 0)
    except DataDependentSize:
        negative = False
    return clamp(start + n if negative else start, low, high)


def slice_length(index: slice, n: Dim) -> Dim:
    """How many elements ``index`` takes from ``n``."""
    step = 1 if index.step is None else int(index.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start = slice_start(index.start, n, step)
    stop = slice_start(index.stop, n, step, is_stop=True)
    span = stop - start if step > 0 else start - stop
    try:
        if span < 0:
            return 0
    except DataDependentSize:
        span = apply("max", span, 0)
    stride = abs(step)
    return span if stride == 1 else (span + (stride - 1)) // stride  # type: ignore[no-any-return]  # arithmetic of sizes is untyped


def padded(shape: Sequence[Dim], ndim: int) -> Shape:
    """``shape`` with ones put before it up to ``ndim`` axes."""
    return (1,) * (ndim - len(shape)) + tuple(shape)
