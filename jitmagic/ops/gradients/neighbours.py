"""Takes the cotangent of running sums, differences, shifts and convolutions, gives that of the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import as_operand, axes_of, cast, fit, shape_of

__all__ = [
    "convolve_rules",
    "correlate_rules",
    "diff_rules",
    "ediff1d_rules",
    "of_cumprod",
    "of_cumsum",
    "of_nancumprod",
    "of_nancumsum",
    "of_roll",
    "trapezoid_rules",
]


def _backwards(g: Any, axis: int) -> Any:
    """Sums from each place to the end."""
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


def of_cumsum(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return as_operand(_backwards(g, 0 if axis is None else axis), a)


def of_nancumsum(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.where(a != a, 0, of_cumsum(g, ans, a, axis))


def of_cumprod(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Also where elements are 0: from the first 0 on, only that element matters."""
    x, place = (np.reshape(a, -1), 0) if axis is None else (a, axis)
    zeros = x == 0
    first = zeros & (np.cumsum(zeros, place) == 1)
    without = np.cumprod(np.where(first, 1, x), place)
    ordinary = _backwards(g * ans, place) / np.where(zeros, 1, x)
    found = np.where(first, _backwards(np.where(np.cumsum(zeros, place) > 0, g * without, 0), place), ordinary)
    return as_operand(found, a)


def of_nancumprod(g: Any, ans: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.where(a != a, 0, of_cumprod(g, ans, np.where(a != a, 1, a), axis))


def of_roll(g: Any, ans: Any, a: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, list | tuple) else -shift
    return np.roll(g, back, axis)


def _widened(g: Any, axis: int) -> Any:
    """``g`` with a 0 at both ends of the axis."""
    ndim = len(shape_of(g))
    return np.pad(g, [(1, 1) if i == axis % ndim else (0, 0) for i in range(ndim)])


def _undone(g: Any, n: int, axis: int) -> Any:
    """The transpose of taking differences ``n`` times."""
    for _ in range(n):
        g = -np.diff(_widened(g, axis), axis=axis)
    return g


def _along(x: Any, a: Any, axis: int) -> Any:
    """The size that ``prepend`` or ``append`` takes along the axis: a number takes 1."""
    if x is np._NoValue:
        return 0
    return shape_of(x)[axis] if len(shape_of(x)) else 1


def _diff_rule(which: int) -> Callable[..., Any]:
    """Of ``diff``: 0 the array, 1 what is put in front of it, 2 what is put behind it."""

    def rule(
        g: Any, ans: Any, a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
    ) -> Any:
        (place,) = axes_of(a, axis)
        whole = _undone(g, n, place)
        begin = _along(prepend, a, place)
        end = begin + shape_of(a)[place]
        part = (slice(begin, end), slice(0, begin), slice(end, None))[which]
        return fit(whole[(*(slice(None),) * place, part)], (a, prepend, append)[which])

    return rule


diff_rules = (_diff_rule(0), None, None, _diff_rule(1), _diff_rule(2))


def _ediff_rule(which: int) -> Callable[..., Any]:
    def rule(g: Any, ans: Any, ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
        begin = 0 if to_begin is None else _size(to_begin)
        stop = shape_of(g)[0] - (0 if to_end is None else _size(to_end))
        if which == 0:
            return as_operand(_undone(g[begin:stop], 1, 0), ary)
        return as_operand(g[stop:], to_end) if which == 1 else as_operand(g[:begin], to_begin)

    return rule


def _size(x: Any) -> Any:
    return np.size(x)


ediff1d_rules = (_ediff_rule(0), _ediff_rule(1), _ediff_rule(2))


def trapezoid_of_values(g: Any, ans: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    (place,) = axes_of(y, axis)
    half = np.expand_dims(g, place) * _widths(y, x, dx, place) / 2
    pairs = np.broadcast_to(half, _one_less(y, place))
    ends = [(0, 0)] * len(shape_of(y))
    front, back = [*ends], [*ends]
    front[place], back[place] = (1, 0), (0, 1)
    return fit(np.pad(pairs, front) + np.pad(pairs, back), y)


def _one_less(y: Any, axis: int) -> tuple[Any, ...]:
    shape = shape_of(y)
    return (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])


def _widths(y: Any, x: Any, dx: Any, axis: int) -> Any:
    if x is None:
        return dx
    if len(shape_of(x)) == 1:
        return np.reshape(np.diff(x), (-1,) + (1,) * (len(shape_of(y)) - axis - 1))
    return np.diff(x, axis=axis)


def trapezoid_of_places(g: Any, ans: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    (place,) = axes_of(y, axis)
    front = (slice(None),) * place
    middle = (y[(*front, slice(1, None))] + y[(*front, slice(None, -1))]) / 2
    widths = np.expand_dims(g, place) * middle
    if len(shape_of(x)) == 1:
        others = tuple(i for i in range(len(shape_of(y))) if i != place)
        return fit(_undone(np.sum(widths, axis=others), 1, 0), x)
    return fit(_undone(widths, 1, place), x)


def trapezoid_of_step(g: Any, ans: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return cast(np.sum(g * ans / dx), dx)


trapezoid_rules = (trapezoid_of_values, trapezoid_of_places, trapezoid_of_step)


def _full(g: Any, n: Any, m: Any, mode: str, turned: bool) -> Any:
    """The cotangent of the full convolution of which ``mode`` keeps the middle."""
    short = m if n >= m else n
    start = {"full": 0, "same": short // 2 if turned and n < m else (short - 1) // 2, "valid": short - 1}[mode]
    return np.pad(g, (start, n + m - 1 - start - shape_of(g)[0]))


def _vector(x: Any) -> Any:
    return np.reshape(x, -1)


def convolve_of_first(g: Any, ans: Any, a: Any, v: Any, mode: str = "full") -> Any:
    a1, v1 = _vector(a), _vector(v)
    whole = _full(g, shape_of(a1)[0], shape_of(v1)[0], mode, False)
    return as_operand(np.convolve(whole, v1[::-1], "valid"), a)


def convolve_of_second(g: Any, ans: Any, a: Any, v: Any, mode: str = "full") -> Any:
    return convolve_of_first(g, ans, v, a, mode)


convolve_rules = (convolve_of_first, convolve_of_second)


def correlate_of_first(g: Any, ans: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    a1, v1 = _vector(a), _vector(v)
    whole = _full(g, shape_of(a1)[0], shape_of(v1)[0], mode, True)
    return as_operand(np.convolve(whole, np.conj(v1), "valid"), a)


def correlate_of_second(g: Any, ans: Any, a: Any, v: Any, mode: str = "valid") -> Any:
    a1, v1 = _vector(a), _vector(v)
    whole = _full(g, shape_of(a1)[0], shape_of(v1)[0], mode, True)
    return as_operand(np.conj(np.convolve(whole, a1[::-1], "valid")[::-1]), v)


correlate_rules = (correlate_of_first, correlate_of_second)
