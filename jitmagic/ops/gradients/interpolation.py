"""Takes the cotangent of ``np.interp``, gives those of the places, of the known points and values, and of the ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import cast, fit, shape_of

__all__ = ["interp_rules"]


def _table(values: Any) -> Any:
    return np.asarray(values) if isinstance(values, list | tuple) else values


def _real(x: Any) -> Any:
    return np.real(x) if getattr(x, "dtype", np.dtype(float)).kind == "c" else x


def _picked(table: Any, place: Any) -> Any:
    """``table[place]``, also of a plain array at places that a graph computes."""
    return invoke(np.take, table, place)


def _interval(x: Any, xp: Any) -> Any:
    """The index of the known point before each ``x``, and whether ``x`` lies between the first and the last."""
    place = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, shape_of(xp)[0] - 2)
    return place, (x >= xp[0]) & (x <= xp[-1])


def _slopes(x: Any, xp: Any, fp: Any) -> Any:
    place, inside = _interval(x, xp)
    left, right = (_picked(fp, p) for p in (place, place + 1))
    slope = (right - left) / (_picked(xp, place + 1) - _picked(xp, place))
    return place, inside, slope


def _round(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """The same interpolation with points in order and one more before and behind, as NumPy makes it of a period."""
    xp, fp = _table(xp), _table(fp)
    if period is None:
        return x, xp, fp
    period, x, xp = np.abs(period), _real(x), _real(xp)  # (NumPy drops imaginary parts here)
    xp = xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x % period, xp, np.concatenate([fp[-1:], fp, fp[:1]])


def _back(found: Any, like: Any, xp: Any, period: Any) -> Any:
    """What the rounded points got, for the points as they were given."""
    if period is None:
        return cast(found, like)
    inner = found[1:-1]
    ends = np.concatenate([found[-1:], np.zeros_like(inner[2:]), found[:1]])
    order = np.argsort(_real(_table(xp)) % np.abs(period))
    return cast(placed(inner, inner + ends, (order,)), like)


def of_x(g: Any, ans: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """The slope of the piece to the right; 0 outside."""
    _, inside, slope = _slopes(*_round(x, xp, fp, period))
    return fit(_real(np.where(inside, g * slope, 0)), x)


def of_values(
    g: Any, ans: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    at, points, values = _round(x, xp, fp, period)
    place, inside = _interval(at, points)
    weight = np.clip((at - _picked(points, place)) / (_picked(points, place + 1) - _picked(points, place)), 0, 1)
    counted = inside | ((at < points[0]) & (left is None)) | ((at > points[-1]) & (right is None))
    g = np.where(counted, g, 0)
    found = placed(values, g * (1 - weight), (place,)) + placed(values, g * weight, (place + 1,))
    return _back(found, fp, xp, period)


def of_points(
    g: Any, ans: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    at, points, values = _round(x, xp, fp, period)
    place, inside, slope = _slopes(at, points, values)
    weight = (at - _picked(points, place)) / (_picked(points, place + 1) - _picked(points, place))
    g = _real(np.where(inside, -g * slope, 0))
    found = placed(points, g * (1 - weight), (place,)) + placed(points, g * weight, (place + 1,))
    return _back(found, xp, xp, period)


def _of_end(outside: Callable[[Any, Any], Any], is_left: bool) -> Callable[..., Any]:
    """Of the value that stands for everything outside at one end."""

    def rule(
        g: Any, ans: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
    ) -> Any:
        given = left if is_left else right
        if period is not None:  # nothing is outside
            return np.zeros_like(given)
        return fit(np.where(outside(x, _table(xp)), g, 0), given)

    return rule


interp_rules = (
    of_x,
    of_points,
    of_values,
    _of_end(lambda x, xp: x < xp[0], True),
    _of_end(lambda x, xp: x > xp[-1], False),
)
