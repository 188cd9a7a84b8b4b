"""Takes the cotangent of sorted or ranked elements, gives it back to the places where they came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.shapes import axes_of, cast, counted, folded_last, shape_of

__all__ = [
    "of_median",
    "of_nanmedian",
    "of_nanpercentile",
    "of_nanquantile",
    "of_ordered",
    "of_partitioned",
    "of_percentile",
    "of_quantile",
]


def of_ordered(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """Of any function that permutes along an axis: ranks in the result are matched with ranks in the operand."""
    axis = kwargs.get("axis", args[0] if args else -1)
    if axis is None:
        return np.reshape(of_ordered(g, ans, np.reshape(a, -1)), shape_of(a))
    by_rank = np.take_along_axis(g, np.argsort(ans, axis, kind="stable"), axis)
    return np.take_along_axis(by_rank, _ranks(a, axis), axis)


def _ranks(a: Any, axis: int) -> Any:
    """The place of each element among the sorted ones."""
    return np.argsort(np.argsort(a, axis, kind="stable"), axis, kind="stable")


def of_partitioned(g: Any, ans: Any, a: Any, kth: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> Any:
    return of_ordered(g, ans, a, axis)


def _quantile(g: Any, a: Any, q: Any, axis: Any, keepdims: Any, skips_nan: bool, method: str = "linear") -> Any:
    """Interpolation between two ranks: each rank has the weight of a hat around the wanted place."""
    wanted = np.asarray(q, np.float64)
    flat, back = folded_last(a, axis)
    lead = len(shape_of(wanted))
    whole = np.reshape(wanted, (-1,))
    if keepdims is True:
        g = np.squeeze(g, axis=tuple(lead + i for i in axes_of(a, axis)))
    g = np.reshape(g, (-1, *shape_of(flat)[:-1]))
    numbers = _numbers(flat, skips_nan)
    ranks = _ranks(flat, -1)
    total = 0
    for i, each in enumerate(whole.tolist()):
        place = each * (numbers - 1) if method == "linear" else _place(flat, each, method)
        weight = np.maximum(0, 1 - np.abs(ranks - place))
        total = total + np.expand_dims(g[i], -1) * weight
    return cast(back(total), a)


def _place(flat: Any, q: float, method: Any) -> Any:
    """Where the quantile lies among the ranks: that of the ranks themselves."""
    return np.quantile(counted(flat, -1) * 1.0, q, method=method)


def _numbers(flat: Any, skips_nan: bool) -> Any:
    """How many elements of the last axis count, as an array: a size may be a symbol."""
    if skips_nan:
        return np.sum(flat == flat, axis=-1, keepdims=True)
    count = shape_of(flat)[-1]
    return count if isinstance(count, int) else np.zeros_like(flat[..., :1], dtype=np.float64) + count


def _quantiles(scale: float, skips_nan: bool) -> Callable[..., Any]:
    def rule(
        g: Any,
        ans: Any,
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        method = method if interpolation is None else interpolation
        if weights is not None or (skips_nan and method != "linear"):
            raise UserError("quantiles have no gradient with weights, and those that skip NaN for method='linear' only")
        return _quantile(g, a, np.asarray(q) / scale, axis, keepdims, skips_nan, method)

    return rule


def _medians(skips_nan: bool) -> Callable[..., Any]:
    def rule(
        g: Any,
        ans: Any,
        a: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        keepdims: Any = False,
    ) -> Any:
        return _quantile(g, a, 0.5, axis, keepdims, skips_nan)

    return rule


of_median, of_nanmedian = _medians(False), _medians(True)
of_quantile, of_nanquantile = _quantiles(1, False), _quantiles(1, True)
of_percentile, of_nanpercentile = _quantiles(100, False), _quantiles(100, True)
