"""The few operations that programs of these tests are made of: the registry's own rows where it has them.

A row made here asks NumPy what a call gives, by running it on zeros laid out as described.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta, PyMeta, map_nodes
from jitmagic.ops import Arguments, Inferred, Op, by_name
from jitmagic.ops.lowering import Pointwise, Scan, View
from jitmagic.ops.registry import own_signature


def zeros_like(meta: ArrayMeta) -> Any:
    """An array with this description, full of zeros."""
    if meta.scalar:
        return meta.dtype.type(0)
    low = sum((n - 1) * s for n, s in zip(meta.hint_shape, meta.strides, strict=True) if s < 0)
    reach = sum((n - 1) * abs(s) for n, s in zip(meta.hint_shape, meta.strides, strict=True) if n)
    pool = np.zeros(reach + meta.dtype.itemsize, np.uint8)
    array = np.ndarray(meta.hint_shape, meta.dtype, pool, -low if 0 not in meta.hint_shape else 0, meta.strides)
    array.flags.writeable = meta.writeable
    return array


def ask_numpy(call: Arguments) -> Inferred:
    made: list[tuple[ArrayMeta, Any]] = []

    def real(leaf: Any) -> Any:
        if isinstance(leaf, PyMeta):
            return leaf.type(1)
        if not isinstance(leaf, ArrayMeta):
            return leaf
        made.append((leaf, zeros_like(leaf)))
        return made[-1][1]

    args = tuple(map_nodes(a, real) for a in call.args)
    kwargs = {k: map_nodes(v, real) for k, v in call.kwargs.items()}
    with np.errstate(all="ignore"):
        result = call.op.call(*args, **kwargs)
    if isinstance(result, tuple | list):
        first = next((i for i, a in enumerate(args) if any(_shares(r, a) for r in result)), None)
        return Inferred(tuple(map(ArrayMeta.of, result)), view_of=first)
    if result is None:
        return Inferred(None)
    if "out" in kwargs:
        return Inferred(ArrayMeta.of(result), same_as="out")
    same = next((i for i, a in enumerate(args) if a is result), None)
    view = next((i for i, a in enumerate(args) if _shares(result, a)), None)
    return Inferred(ArrayMeta.of(result), view_of=view if same is None else None, same_as=same)


def _shares(result: Any, operand: Any) -> bool:
    """True if ``result`` was made as a view of ``operand``, empty arrays included."""
    while isinstance(result, np.ndarray):
        if result is operand:
            return True
        result = result.base if result.base is not getattr(operand, "base", None) else operand
    return False


def row(name: str, call: Callable[..., Any], **columns: Any) -> Op:
    try:
        return by_name(name)
    except KeyError:
        return Op(name, call, ask_numpy, signature=own_signature(call), **columns)  # not for others to find


def _getitem(a: Any, index: Any) -> Any:
    return a[index]


def _setitem(a: Any, index: Any, value: Any) -> None:
    operator.setitem(a, index, value)


ROWS = {
    r.name: r
    for r in (
        row("getitem", _getitem, lower=View()),
        row("setitem", _setitem, writes=(0,)),
        row("add", np.add, lower=Pointwise("a + b")),
        row("subtract", np.subtract, lower=Pointwise("a - b")),
        row("multiply", np.multiply, lower=Pointwise("a * b")),
        row("exp", np.exp),
        row("sum", np.sum),
        row("copyto", np.copyto, writes=(0,)),
        row("transpose", np.transpose, lower=View()),
        row("reshape", np.reshape, lower=View()),
        row("broadcast_to", np.broadcast_to, lower=View()),
        row("expand_dims", np.expand_dims, lower=View()),
        row("diagonal", np.diagonal, lower=View()),
        row("flip", np.flip, lower=View()),
        row("array_split", np.array_split, lower=View()),
        row("broadcast_arrays", np.broadcast_arrays, lower=View()),
        row("squeeze", np.squeeze, lower=View()),
        row("real", np.real, lower=View()),
    )
}


class METHODS:
    """ndarray methods as rows of these tests only."""

    fill = Op("fill", np.ndarray.fill, ask_numpy, writes=(0,))
    sort = Op("sort_in_place", np.ndarray.sort, ask_numpy, writes=(0,))
    view = Op("view_as", np.ndarray.view, ask_numpy, lower=View())
    take = Op("take_", np.take, ask_numpy)
    divmod = Op("divmod_", np.divmod, ask_numpy)
    cumsum = Op("cumsum_", np.cumsum, ask_numpy, lower=Scan("sum"))
    less = Op("less_", np.less, ask_numpy, lower=Pointwise("a < b"))
    copy = Op("copy_", np.ndarray.copy, ask_numpy)
