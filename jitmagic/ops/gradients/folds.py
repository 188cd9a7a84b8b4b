"""Takes the cotangent of a fold (a sum, an extreme, a mean), gives that of the operand: it is spread over the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.pointwise import finite_divisor
from jitmagic.ops.gradients.shapes import cast, count_of, folded_last, restore_axes, shape_of

__all__ = [
    "average_rules",
    "of_extreme",
    "of_mean",
    "of_nanextreme",
    "of_nanmean",
    "of_nanprod",
    "of_nanstd",
    "of_nansum",
    "of_nanvar",
    "of_prod",
    "of_ptp",
    "of_std",
    "of_sum",
    "of_var",
]


def _spread(g: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    return np.broadcast_to(restore_axes(g, a, axis, keepdims), shape_of(a))


def _is_mask(where: Any) -> bool:
    return where is not True and where is not np._NoValue


def of_sum(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 0, where: Any = True,
) -> Any:  # fmt: skip
    found = cast(_spread(g, a, axis, keepdims), a)
    return np.where(where, found, 0) if _is_mask(where) else found


def of_nansum(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    return np.where(a != a, 0, of_sum(g, ans, a, *args, **kwargs))


def of_mean(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    if _is_mask(where):
        counted = np.sum(np.broadcast_to(where, shape_of(a)), axis=_axes(axis), keepdims=True)
        return np.where(where, cast(restore_axes(g, a, axis, keepdims) / counted, a), 0)
    return cast(_spread(g / count_of(a, axis), a, axis, keepdims), a)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def of_nanmean(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, *, where: Any = True) -> Any:  # fmt: skip
    return of_mean(g, ans, a, axis, keepdims=keepdims, where=_numbers(a, where))


def _numbers(a: Any, where: Any) -> Any:
    """The mask of the elements that are not NaN, among those of ``where``."""
    return (a == a) & where if _is_mask(where) else a == a


def of_prod(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 1, where: Any = True,
) -> Any:  # fmt: skip
    """The product of the others: of those before, and of those behind. Nothing is divided by 0."""
    x = np.where(where, a, 1) if _is_mask(where) else a
    flat, back = folded_last(x, axis)
    others = back(_before(flat) * np.flip(_before(np.flip(flat, -1)), -1))
    if initial is not np._NoValue:
        others = others * initial
    found = cast(restore_axes(g, a, axis, keepdims) * others, a)
    return np.where(where, found, 0) if _is_mask(where) else found


def _before(x: Any) -> Any:
    """The product of all elements before each one, along the last axis."""
    return np.cumprod(np.concatenate([np.ones_like(x[..., :1]), x[..., :-1]], axis=-1), axis=-1)


def of_nanprod(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, initial: Any = 1, where: Any = True) -> Any:  # fmt: skip
    return of_prod(g, ans, a, axis, None, None, keepdims, initial, _numbers(a, where))


def of_extreme(
    g: Any, ans: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """Of ``max`` and ``min``: elements that share the extreme share the cotangent."""
    chosen = a == restore_axes(ans, a, axis, keepdims)
    if _is_mask(where):
        chosen = chosen & where
    share = restore_axes(g, a, axis, keepdims) / np.sum(chosen, axis=_axes(axis), keepdims=True)
    return cast(np.where(chosen, share, 0), a)


def of_nanextreme(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    return of_extreme(g, ans, a, *args, **kwargs)


def of_ptp(g: Any, ans: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    high = np.max(a, axis=_axes(axis), keepdims=True)
    low = np.min(a, axis=_axes(axis), keepdims=True)
    g = restore_axes(g, a, axis, keepdims)
    return of_extreme(g, high, a, axis, None, True) - of_extreme(g, low, a, axis, None, True)


def of_var(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """``2 (a - mean) / (n - ddof)``; what the mean adds is 0, because deviations sum to 0."""
    if correction is not None and correction is not np._NoValue:
        ddof = correction
    masked = _is_mask(where)
    axes = _axes(axis)
    count: Any = count_of(a, axis)
    if masked:
        where = np.broadcast_to(where, shape_of(a))
        count = np.sum(where, axis=axes, keepdims=True)
        middle = np.sum(np.where(where, a, 0), axis=axes, keepdims=True) / count
    else:
        middle = np.mean(a, axis=axes, keepdims=True)
    found = cast(restore_axes(g, a, axis, keepdims) * (2 / (count - ddof)) * np.conj(a - middle), a)
    return np.where(where, found, 0) if masked else found


def of_std(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, **options: Any,
) -> Any:  # fmt: skip
    """0 where all elements are equal."""
    return of_var(g / finite_divisor(2 * ans), ans, a, axis, dtype, out, ddof, keepdims, **options)


def of_nanvar(g: Any, ans: Any, a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
    return of_var(g, ans, a, *args, where=_numbers(a, where), **kwargs)


def of_nanstd(g: Any, ans: Any, a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
    return of_std(g, ans, a, *args, where=_numbers(a, where), **kwargs)


def _weights_beside(a: Any, weights: Any, axis: Any) -> Any:
    """Weights of one axis, or of the axes ``axis``, laid beside the elements of ``a``."""
    if len(shape_of(weights)) == len(shape_of(a)):
        return weights
    axes = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(i % len(shape_of(a)) for i in axes)
    ordered = np.transpose(weights, np.argsort(axes))
    return np.expand_dims(ordered, tuple(i for i in range(len(shape_of(a))) if i not in axes))


def _average_parts(g: Any, ans: Any, a: Any, axis: Any, weights: Any, returned: bool, keepdims: Any) -> Any:
    """The cotangents of the average and of the sum of the weights, the average, and the weights."""
    of_average, of_total = g if returned else (g, None)
    value = ans[0] if returned else ans
    beside = _weights_beside(a, weights, axis)
    total = np.sum(np.broadcast_to(beside, shape_of(a)), axis=axis, keepdims=True)
    parts = [None if v is None else restore_axes(v, a, axis, keepdims) for v in (of_average, of_total, value)]
    return (*parts, beside, total)


def average_of_values(
    g: Any, ans: Any, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    if weights is None:
        g = g[0] if returned else g
        return np.zeros_like(a) if g is None else of_mean(g, ans, a, axis, keepdims=keepdims)
    of_average, _, _, beside, total = _average_parts(g, ans, a, axis, weights, returned, keepdims)
    return np.zeros_like(a) if of_average is None else cast(of_average * beside / total, a)


def average_of_weights(
    g: Any, ans: Any, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    of_average, of_total, value, beside, total = _average_parts(g, ans, a, axis, weights, returned, keepdims)
    found = np.zeros_like(a) if of_average is None else of_average * (a - value) / total
    if of_total is not None:
        found = found + of_total
    others = tuple(i for i, (n, m) in enumerate(zip(shape_of(beside), shape_of(a), strict=True)) if n == 1 and m != 1)
    found = np.sum(found, axis=others, keepdims=True) if others else found
    if len(shape_of(weights)) == len(shape_of(a)):
        return cast(found, weights)
    axes = axis if isinstance(axis, tuple) else (axis,)
    order = np.argsort([i % len(shape_of(a)) for i in axes])
    kept = np.reshape(found, tuple(shape_of(weights)[i] for i in order))
    return cast(np.transpose(kept, np.argsort(order)), weights)


average_rules = (average_of_values, None, average_of_weights)
