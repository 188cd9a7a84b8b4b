"""Takes the cotangent of a fold (a sum, an extreme, a mean), gives that of the operand: it is spread over the axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.ops.gradients.pointwise import finite_divisor
from jitmagic.ops.gradients.shapes import cast, count_of, fit, folded_last, restore_axes, shape_of
from jitmagic.ops.record import Rules

__all__ = [
    "average_rules",
    "extreme_of_initial",
    "extreme_rules",
    "nanprod_rules",
    "nanstd_rules",
    "nansum_rules",
    "nanvar_rules",
    "of_extreme",
    "of_mean",
    "of_nanmean",
    "of_prod",
    "of_ptp",
    "of_sum",
    "prod_of_initial",
    "prod_rules",
    "std_rules",
    "sum_of_initial",
    "sum_rules",
    "var_rules",
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


def sum_of_initial(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 0, where: Any = True,
) -> Any:  # fmt: skip
    return fit(g, initial)


sum_rules = (of_sum, None, None, None, None, sum_of_initial)
nansum_rules = (of_nansum, None, None, None, None, sum_of_initial)


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


def prod_of_initial(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = 1, where: Any = True,
) -> Any:  # fmt: skip
    others = np.prod(np.where(where, a, 1) if _is_mask(where) else a, axis=_axes(axis), keepdims=True)
    return fit(restore_axes(g, a, axis, keepdims) * others, initial)


def _before(x: Any) -> Any:
    """The product of all elements before each one, along the last axis."""
    return np.cumprod(np.concatenate([np.ones_like(x[..., :1]), x[..., :-1]], axis=-1), axis=-1)


def of_nanprod(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, initial: Any = 1, where: Any = True) -> Any:  # fmt: skip
    return of_prod(g, ans, a, axis, None, None, keepdims, initial, _numbers(a, where))


def nanprod_of_initial(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False, initial: Any = 1, where: Any = True) -> Any:  # fmt: skip
    return prod_of_initial(g, ans, a, axis, None, None, keepdims, initial, _numbers(a, where))


prod_rules = (of_prod, None, None, None, None, prod_of_initial)
nanprod_rules = (of_nanprod, None, None, None, None, nanprod_of_initial)


def of_extreme(
    g: Any, ans: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """Of ``max`` and ``min``: elements that share the extreme share the cotangent, half of it with ``initial``."""
    ans = restore_axes(ans, a, axis, keepdims)
    chosen = a == ans
    if _is_mask(where):
        chosen = chosen & where
    among = np.maximum(np.sum(chosen, axis=_axes(axis), keepdims=True), 1)  # none where initial is the extreme
    share = restore_axes(g, a, axis, keepdims) / among
    if initial is not None and initial is not np._NoValue:
        share = np.where(initial == ans, share / 2, share)
    return cast(np.where(chosen, share, 0), a)


def extreme_of_initial(
    g: Any, ans: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    g, ans = restore_axes(g, a, axis, keepdims), restore_axes(ans, a, axis, keepdims)
    chosen = a == ans
    if _is_mask(where):
        chosen = chosen & where
    share = np.where(np.any(chosen, axis=_axes(axis), keepdims=True), g / 2, g)
    return fit(np.where(initial == ans, share, 0), initial)


extreme_rules = (of_extreme, None, None, None, extreme_of_initial)


def of_ptp(g: Any, ans: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    high = np.max(a, axis=_axes(axis), keepdims=True)
    low = np.min(a, axis=_axes(axis), keepdims=True)
    g = restore_axes(g, a, axis, keepdims)
    return of_extreme(g, high, a, axis, None, True) - of_extreme(g, low, a, axis, None, True)


def of_var(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """``2 (a - mean) / (n - ddof)``; what a mean that is computed adds is 0, because deviations sum to 0."""
    return fit(_of_deviations(g, a, axis, ddof, keepdims, where, mean, correction), a)


def var_of_mean(
    g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
    keepdims: Any = False, where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    return fit(-_of_deviations(g, a, axis, ddof, keepdims, where, mean, correction), mean)


def _of_deviations(
    g: Any, a: Any, axis: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> Any:  # fmt: skip
    if correction is not None and correction is not np._NoValue:
        ddof = correction
    masked = _is_mask(where)
    axes = _axes(axis)
    count: Any = count_of(a, axis)
    if masked:
        where = np.broadcast_to(where, shape_of(a))
        count = np.sum(where, axis=axes, keepdims=True)
    if mean is not None and mean is not np._NoValue:
        middle = mean
    elif masked:
        middle = np.sum(np.where(where, a, 0), axis=axes, keepdims=True) / count
    else:
        middle = np.mean(a, axis=axes, keepdims=True)
    away = a - middle
    found = restore_axes(g, away, axis, keepdims) * (2 / (count - ddof)) * np.conj(away)
    return np.where(where, found, 0) if masked else found


def _of_root(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a standard deviation from that of the variance: 0 where all elements are equal."""

    def of_root(g: Any, ans: Any, a: Any, *args: Any, **options: Any) -> Any:
        return rule(g / finite_divisor(2 * ans), ans, a, *args, **options)

    return of_root


def _of_numbers(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a fold that skips NaN from that of one with a mask."""

    def of_numbers(
        g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = False, where: Any = True, *options: Any, **named: Any,
    ) -> Any:  # fmt: skip
        return rule(g, ans, a, axis, dtype, out, ddof, keepdims, _numbers(a, where), *options, **named)

    return of_numbers


def _with_mean(of_array: Callable[..., Any], of_mean: Callable[..., Any]) -> Rules:
    return (of_array, None, None, None, None, None, None, of_mean)


var_rules = _with_mean(of_var, var_of_mean)
std_rules = _with_mean(*map(_of_root, (of_var, var_of_mean)))
nanvar_rules = _with_mean(*map(_of_numbers, (of_var, var_of_mean)))
nanstd_rules = _with_mean(*(_of_numbers(_of_root(rule)) for rule in (of_var, var_of_mean)))


def _weights_beside(a: Any, weights: Any, axis: Any) -> Any:
    """Weights of one axis, or of the axes ``axis``, laid beside the elements of ``a``."""
    if len(shape_of(weights)) == len(shape_of(a)):
        return weights
    axes = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(i % len(shape_of(a)) for i in axes)
    ordered = np.transpose(weights, _sorting(axes))
    return np.expand_dims(ordered, tuple(i for i in range(len(shape_of(a))) if i not in axes))


def _sorting(axes: Sequence[int]) -> tuple[int, ...]:
    """``np.argsort``, as numbers."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


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
    order = _sorting([i % len(shape_of(a)) for i in axes])
    kept = np.reshape(found, tuple(shape_of(weights)[i] for i in order))
    return cast(np.transpose(kept, _sorting(order)), weights)


average_rules = (average_of_values, None, average_of_weights)
