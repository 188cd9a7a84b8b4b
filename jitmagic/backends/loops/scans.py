"""Takes a node that accumulates along an axis, gives its recipe and its kernel; None stays with NumPy.

``cumsum``, ``cumprod``, ``maximum.accumulate`` and ``minimum.accumulate`` go from one element to the next, in order. A
loop has them where the axis is the fastest in memory, and where it is the slowest: then whole rows follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.loops.bodies import Built
from jitmagic.backends.loops.folds import arguments_by_name
from jitmagic.backends.loops.ir import Access, Index, Kernel, Load, Operand, Scan, Store, Value
from jitmagic.backends.loops.operands import dense_axes, is_array
from jitmagic.backends.loops.recipes import ALL_FLAGS
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops import lowering

__all__ = ["SHAPES", "ScanRecipe", "build_scan", "scan_recipe"]

SHAPES = ("S", "KS", "SK")  # the scanned axis (S) and all others (K), from the outermost
ACCUMULATES: dict[Any, str] = {np.maximum.accumulate: "max", np.minimum.accumulate: "min"}
EXTREMES = ("max", "min")


@dataclass(frozen=True, slots=True)
class ScanRecipe:
    """``kind`` of ``source`` along ``axis``: one of cumsum, cumprod, max and min. ``shape`` is one of ``SHAPES``."""

    kind: str
    source: Node
    axis: int
    shape: str


def scan_recipe(node: Node) -> ScanRecipe | None:
    """How to accumulate, in an array that is laid out like its operand, in the operand's dtype."""
    kind, source, axis = _meant(node)
    if not kind or not isinstance(source, Node) or not is_array(source) or not is_array(node):
        return None
    meta, result = source.meta, node.meta
    assert isinstance(meta, ArrayMeta)
    assert isinstance(result, ArrayMeta)
    if axis is None and meta.ndim == 1:
        axis = 0
    axes = dense_axes(meta)
    if axes is None or axes != dense_axes(result) or meta.dtype != result.dtype or meta.strides != result.strides:
        return None
    if type(axis) is not int or not -meta.ndim <= axis < meta.ndim or any(n in (0, 1) for n in meta.hint_shape):
        return None
    axis %= meta.ndim
    shape = "S" if meta.ndim == 1 else "KS" if axes[0] == axis else "SK" if axes[-1] == axis else ""
    if not shape or result.dtype.kind not in ("f" if kind in EXTREMES else "iuf"):
        return None
    if shape == "S" and kind not in EXTREMES:
        return None  # each addition waits for the one before it, in NumPy's loop as in any other
    return ScanRecipe(kind, source, axis, shape)


def _meant(node: Node) -> tuple[str, Any, Any]:
    lower = getattr(node.op, "lower", None)
    if isinstance(lower, lowering.Scan):
        call = arguments_by_name(node)
        return ("" if call.keys() - {"a", "axis"} else lower.kind), call.get("a"), call.get("axis")
    call_of = node.op.call if node.op is not None else None
    kind = ACCUMULATES.get(call_of, "") if isinstance(getattr(call_of, "__self__", None), np.ufunc) else ""
    if not kind or node.kwargs.keys() - {"axis"} or not 1 <= len(node.args) <= 2:
        return "", None, None
    return kind, node.args[0], node.args[1] if len(node.args) == 2 else node.kwargs.get("axis", 0)


def build_scan(name: str, node: Node, recipe: ScanRecipe) -> Built:
    """The kernel of one such node: its range is over the other axes, taken as one."""
    meta = node.meta
    assert isinstance(meta, ArrayMeta)
    dense = dense_axes(meta) or ()
    whole = tuple(map(Index, range(meta.ndim)))
    flags = ALL_FLAGS if meta.dtype.kind == "f" and recipe.kind not in EXTREMES else 0
    kernel = Kernel(name, meta.ndim, dense[::-1], reduced=(recipe.axis,), shape=recipe.shape, flags=flags)
    kernel.operands = [
        Operand("a0", "in", meta.dtype, meta.ndim, dense),
        Operand("o0", "out", meta.dtype, meta.ndim, dense),
    ]
    value, out = Value("v0", meta.dtype), Value("v1", meta.dtype)
    kernel.body = [
        Load(value, Access("a0", whole)),
        Scan(out, recipe.kind, value),
        Store(Access("o0", whole), out),
    ]
    kernel.extent = [("o0", axis) for axis in range(meta.ndim)]
    return Built(kernel, {"a0": recipe.source}, {"o0": node}, meta.shape)
