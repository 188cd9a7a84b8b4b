"""Takes the arguments of functions of NumPy, gives the steps of which NumPy makes the result.

    np.select([a, b], [x, y], z)     =>     np.where(a, x, np.where(b, y, z))

Loops can join the steps, where they would stop at a call. Only where the steps give NumPy's bits, layout and dtype;
everything else stays the call that it was.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta, SymInt
from jitmagic.ops.functional import UPDATE
from jitmagic.ops.registry import lookup
from jitmagic.ops.view_steps import ViewStep

__all__ = ["IN_STEPS"]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
NUMBERS = (int, float)


def _meta(value: Any) -> ArrayMeta | None:
    """The description of an array with axes; None for anything else."""
    meta = getattr(getattr(value, "node", None), "meta", None)
    return meta if isinstance(meta, ArrayMeta) and meta.ndim else None


def _is_float(value: Any) -> bool:
    """Whether it is an array of floats without gaps."""
    meta = _meta(value)
    return meta is not None and meta.dtype in FLOATS and bool(meta.contiguous)


def _sizes(meta: ArrayMeta) -> tuple[Any, ...]:
    return tuple(n.key if isinstance(n, SymInt) else n for n in meta.shape)


def _are_plain(*numbers: Any) -> bool:
    return all(type(n) in NUMBERS for n in numbers)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """NumPy fills an array in C order from the last choice to the first: each replaces what is there."""
    if not _selects_alike(condlist, choicelist, default):
        return np.select(condlist, choicelist, default)
    found = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = np.where(condition, choice, found)
    return found


def _selects_alike(conditions: Any, choices: Any, default: Any) -> bool:
    """Whether all arrays lie alike, in C order, and the first choice that is made has the dtype of all."""
    if type(conditions) is not list or type(choices) is not list or len(conditions) != len(choices) or not choices:
        return False
    values = (*choices, default)
    arrays = [m for m in map(_meta, values) if m is not None]
    masks = [_meta(c) for c in conditions]
    if not arrays or any(m is None for m in masks) or (_meta(choices[-1]) is None and _meta(default) is None):
        return False
    whole = arrays[0]
    if not all(_meta(v) is not None or type(v) in NUMBERS for v in values) or any(
        m.dtype != whole.dtype for m in arrays
    ):
        return False
    if np.result_type(whole.dtype, *(v for v in values if type(v) in NUMBERS)) != whole.dtype:
        return False
    alike = [m for m in (*arrays, *masks) if m is not None]
    is_bool = all(m is not None and m.dtype == np.bool_ for m in masks)
    return is_bool and all(_sizes(m) == _sizes(whole) and "C" in m.contiguous for m in alike)


def _nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    meta = _meta(x)
    if meta is None or not _is_float(x) or copy is not True:
        return np.nan_to_num(x, copy=copy, nan=nan, posinf=posinf, neginf=neginf)
    ends = np.finfo(meta.dtype)
    high = float(ends.max) if posinf is None else posinf
    low = float(ends.min) if neginf is None else neginf
    if not _are_plain(nan, high, low) or np.result_type(meta.dtype, nan, high, low) != meta.dtype:
        return np.nan_to_num(x, copy=copy, nan=nan, posinf=posinf, neginf=neginf)
    found = np.where(np.isnan(x), nan, x)
    found = np.where(x == np.inf, high, found)
    return np.where(x == -np.inf, low, found)


def _reduced(original: Callable[..., Any], whole: Callable[..., Any]) -> Callable[..., Any]:
    """``np.add.reduce(x)`` is ``np.sum(x, axis=0)``: NumPy's own functions are written with the former."""

    def simpler(a: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        if _meta(a) is None or args or kwargs.keys() - {"keepdims"}:
            return original(a, axis, *args, **kwargs)
        return whole(a, axis=axis, **kwargs)

    return simpler


def _nansum(a: Any, *args: Any, **kwargs: Any) -> Any:
    if not _is_float(a) or kwargs.keys() - {"axis", "keepdims"} or len(args) > 1:
        return np.nansum(a, *args, **kwargs)
    return np.sum(np.where(np.isnan(a), 0.0, a), *args, **kwargs)


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = np._NoValue) -> Any:
    if (
        not _is_float(a)
        or out is not None
        or keepdims is not np._NoValue
        or (axis is not None and type(axis) is not int)
    ):
        given = {"axis": axis, "out": out} | ({} if keepdims is np._NoValue else {"keepdims": keepdims})
        return np.ptp(a, **given)
    return np.max(a, axis=axis) - np.min(a, axis=axis)


POWERS = 8  # of ten that NumPy takes from a table


def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    meta = _meta(a)
    if meta is None or meta.dtype != np.float64 or "C" not in meta.contiguous or out is not None:
        return np.round(a, decimals, out)
    if type(decimals) is not int or not 0 < decimals <= POWERS:
        return np.rint(a) if decimals == 0 and type(decimals) is int else np.round(a, decimals)
    scale = float(10**decimals)
    return np.rint(a * scale) / scale


def _gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Central differences inside, one-sided ones at the ends, each written into its part of a new array."""
    meta = _meta(f)
    axes = () if meta is None else _axes_of(meta, axis)
    steps = (1.0,) * len(axes) if not spacing else spacing * len(axes) if len(spacing) == 1 else spacing
    if (
        meta is None
        or not axes
        or len(steps) != len(axes)
        or not _are_plain(*steps)
        or not _is_float(f)
        or edge_order != 1
        or any(type(n) is not int or n < SHORTEST for n in meta.shape)
    ):
        return np.gradient(f, *spacing, axis=axis, edge_order=edge_order)
    found = [_differences(f, a, step, meta.ndim) for a, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


SHORTEST = 4  # along each axis: parts of fewer elements are no arrays with two different ends and a middle


def _axes_of(meta: ArrayMeta, axis: Any) -> tuple[int, ...]:
    """The axes that are asked for; none where NumPy has to look."""
    if axis is None:
        return tuple(range(meta.ndim))
    return (axis % meta.ndim,) if type(axis) is int and -meta.ndim <= axis < meta.ndim else ()


def _differences(f: Any, axis: int, step: float, ndim: int) -> Any:
    def at(index: Any) -> tuple[Any, ...]:
        return tuple(index if k == axis else slice(None) for k in range(ndim))

    def put(whole: Any, index: Any, value: Any) -> Any:
        return whole.stage.call(UPDATE, (whole, value, _path(at(index))))

    out = np.empty_like(f)
    out = put(out, slice(1, -1), (f[at(slice(2, None))] - f[at(slice(None, -2))]) / (2.0 * step))
    out = put(out, slice(0, 1), (f[at(slice(1, 2))] - f[at(slice(0, 1))]) / step)
    return put(out, slice(-1, None), (f[at(slice(-1, None))] - f[at(slice(-2, -1))]) / step)


def _path(index: tuple[Any, ...]) -> Sequence[ViewStep]:
    found = lookup(operator.getitem)
    assert found is not None
    return (ViewStep(found[0], (index,)),)


IN_STEPS: dict[Any, Callable[..., Any]] = {
    np.select: _select,
    np.nan_to_num: _nan_to_num,
    np.nansum: _nansum,
    np.ptp: _ptp,
    np.round: _round,
    np.gradient: _gradient,
    np.add.reduce: _reduced(np.add.reduce, np.sum),
    np.multiply.reduce: _reduced(np.multiply.reduce, np.prod),
    np.maximum.reduce: _reduced(np.maximum.reduce, np.max),
    np.minimum.reduce: _reduced(np.minimum.reduce, np.min),
}
