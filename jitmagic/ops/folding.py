"""Takes a call that folds an axis or works along one, gives its result; NumPy is asked once for each kind of call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.probing import probe
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.refusals import unsupported
from jitmagic.ops.sizes import Shape, product
from jitmagic.ops.spreading import laid_out
from jitmagic.ops.surrogates import surrogate

__all__ = ["along", "fold"]

Shaped = Callable[[Arguments, Shape], Shape | None]


def fold(call: Arguments) -> Inferred:
    """``sum`` and its like: axes go, or stay with size 1."""
    return _cached(call, _folded_shape)


def along(call: Arguments) -> Inferred:
    """``cumsum``, ``sort`` and their like: the shape stays; without an axis it becomes flat."""
    x = call.args[0] if call.args else None
    if isinstance(x, ArrayMeta) and not x.ndim and isinstance(call.kwargs.get("out"), ArrayMeta):
        unsupported(call, "into an array without axes, where NumPy reads foreign memory")
    return _cached(call, _same_shape)


def _folded_shape(call: Arguments, shape: Shape) -> Shape | None:
    keepdims = call.get("keepdims")
    if keepdims is not np._NoValue and not isinstance(keepdims, bool):
        return None
    axis = call.get("axis")
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % len(shape) for a in axes} if shape else set()
    if keepdims is True:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def _same_shape(call: Arguments, shape: Shape) -> Shape | None:
    return (product(shape),) if call.get("axis") is None else shape


def _cached(call: Arguments, shaped: Shaped) -> Inferred:
    x = call.args[0] if call.args else None
    if not isinstance(x, ArrayMeta) or not x.ndim or x.dtype.hasobject:
        return probe(call)
    if any(isinstance(v, ArrayMeta | PyMeta | SymInt) for v in (*call.args[1:], *call.kwargs.values())):
        return probe(call)
    clipped = tuple(min(n, 2) for n in x.hint_shape)
    key = (call.op.call, x.dtype, clipped, x.strides, call.args[1:], tuple(call.kwargs.items()))
    try:
        hash(key)
    except TypeError:
        return probe(call)
    small = _run(*key)
    shape = shaped(call, x.shape)
    return probe(call) if shape is None else Inferred(laid_out(small, shape))


@lru_cache(maxsize=2048)
def _run(
    call: Callable[..., Any],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    args: tuple[Any, ...],
    kwargs: tuple[tuple[str, Any], ...],
) -> Any:
    """The function on the smallest array of that layout."""
    base = surrogate(ArrayMeta(dtype, shape, strides), shape)
    with Quiet():
        return call(base, *args, **dict(kwargs))
