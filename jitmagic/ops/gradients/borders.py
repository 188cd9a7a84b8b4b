"""Takes the cotangent of an array with borders around it (``np.pad``), gives those of the array and of the border.

NumPy puts the borders on one axis after the other, so each axis sees those of the axes before it. The rules go back
in the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.folds import of_extreme, of_mean
from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.orders import of_median
from jitmagic.ops.gradients.shapes import as_operand, cast, counted, fit, shape_of

__all__ = ["pad_rules"]

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One axis of ``x`` gets ``pair`` = (before, behind) elements more; ``statistic`` counts as many on each side."""

    x: Any
    axis: int
    pair: Pair
    mode: Any
    lengths: Pair
    is_odd: bool

    @property
    def size(self) -> Any:
        return shape_of(self.x)[self.axis]

    def along(self, part: Any) -> tuple[Any, ...]:
        """The index of ``part`` of the axis."""
        return (*(slice(None),) * self.axis, part)

    def line(self, values: Any) -> Any:
        """A vector along the axis."""
        return np.reshape(values, (-1,) + (1,) * (len(shape_of(self.x)) - self.axis - 1))

    def parts(self, g: Any) -> tuple[Any, Any, Any]:
        """The cotangents of what is before, of the array, and of what is behind."""
        begin, end = self.pair[0], self.pair[0] + self.size
        return tuple(g[self.along(part)] for part in (slice(0, begin), slice(begin, end), slice(end, None)))


def _steps(array: Any, pad_width: Any, mode: Any, stat_length: Any, reflect_type: Any) -> list[Step]:
    """In NumPy's order. A step whose rule reads values has the array as it was before the step."""
    if mode not in BACKWARD:
        raise UserError(
            f"np.pad has no gradient for mode={mode!r}, which is a function: pad with zeros and write into the borders"
        )
    ndim = len(shape_of(array))
    pairs = _as_pairs(pad_width, ndim)
    lengths = [(None, None)] * ndim if stat_length is None else _as_pairs(stat_length, ndim)
    steps, x = [], array
    for axis, pair in enumerate(pairs):
        if all(map(_is_nothing, pair)):
            continue
        steps.append(Step(x, axis, pair, mode, lengths[axis], reflect_type == "odd"))
        if axis < ndim - 1:
            options = {"stat_length": stat_length} if mode in STATISTICS else {}
            x = np.pad(x, [pair if i == axis else (0, 0) for i in range(ndim)], mode, **options)
    return steps


def _as_pairs(width: Any, ndim: int) -> list[Pair]:
    """``pad_width`` as (before, behind) for each axis."""
    if isinstance(width, dict):
        table = {axis % ndim: width[axis] for axis in width}
        return [_pair(table.get(i, 0)) for i in range(ndim)]
    if not isinstance(width, list | tuple | np.ndarray):
        return [(width, width)] * ndim
    if len(width) and not isinstance(width[0], list | tuple | np.ndarray):
        return [_pair(width)] * ndim
    return [_pair(w) for w in (width if len(width) == ndim else list(width) * ndim)]


def _pair(width: Any) -> Pair:
    given = tuple(width) if isinstance(width, list | tuple | np.ndarray) else (width,)
    return (given[0], given[-1])


def _cut(step: Step, g: Any) -> Any:
    """The border does not depend on the array."""
    return step.parts(g)[1]


def _copied(step: Step, g: Any) -> Any:
    """The border is made of elements of the array: ``np.pad`` tells of which."""
    if step.is_odd and step.size != 1 and step.mode in ("reflect", "symmetric"):
        return _turned(step, g)
    source = np.pad(counted(step.x, step.axis), step.pair, step.mode)
    return placed(_like(step, g), g, step.along(source))


def _like(step: Step, g: Any) -> Any:
    return np.zeros_like(g[step.along(slice(0, step.size))])


def _turned(step: Step, g: Any) -> Any:
    """The reflection about an edge as a point: ``c a[i] + first a[0] + last a[-1]`` with coefficients for each place.

    They follow from what comes out for 1, ``i`` and ``i * i`` in place of ``a[i]``.
    """
    last = step.size - 1
    places = counted(step.x, step.axis)
    source = np.pad(places, step.pair, step.mode)
    by_place, by_square = (
        np.pad(values, step.pair, step.mode, reflect_type="odd") for values in (places * 1.0, places * 1.0 * places)
    )
    is_inner = (source > 0) & (source < last)
    divisor = np.where(is_inner, source * (source - last), 1)
    of_inner = np.where(is_inner, np.rint((by_square - last * by_place) / divisor), 0)
    of_last = (by_place - of_inner * source) / last
    weights = map(step.line, (1 - of_inner - of_last, of_last))
    edges = (np.sum(g * each, axis=step.axis, keepdims=True) for each in weights)
    like = _like(step, g)
    found = placed(like, g * step.line(of_inner), step.along(source))
    for place, share in zip((slice(0, 1), slice(last, None)), edges, strict=True):
        found = found + placed(like, share, step.along(place))
    return found


def _ramps(step: Step, g: Any) -> tuple[Any, Any]:
    """How much of the edge is in each element of the two ramps."""
    before, _, behind = step.parts(g)
    rising = step.line(counted(before, step.axis) / _at_least_one(step.pair[0]))
    falling = step.line((step.pair[1] - 1 - counted(behind, step.axis)) / _at_least_one(step.pair[1]))
    return rising, falling


def _is_nothing(n: Any) -> bool:
    """A symbol is asked nothing."""
    return isinstance(n, int) and n == 0


def _at_least_one(n: Any) -> Any:
    return 1 if _is_nothing(n) else n


def _of_ramp(step: Step, g: Any) -> Any:
    before, middle, behind = step.parts(g)
    for place, part, ramp in zip((slice(0, 1), slice(-1, None)), (before, behind), _ramps(step, g), strict=True):
        middle = middle + placed(middle, np.sum(part * ramp, axis=step.axis, keepdims=True), step.along(place))
    return middle


def _of_statistic(rule: Callable[..., Any], function: Callable[..., Any]) -> Callable[[Step, Any], Any]:
    """The border repeats a fold of the elements next to it."""

    def back(step: Step, g: Any) -> Any:
        before, found, behind = step.parts(g)
        near: list[Any] = [(before, step.lengths[0], slice(0, step.lengths[0]))]
        near.append((behind, step.lengths[1], slice(None if step.lengths[1] is None else -step.lengths[1], None)))
        for part, length, place in near:
            if length == 0:
                continue  # NumPy's mean of nothing
            chunk = step.x[step.along(place)]
            whole = np.sum(part, axis=step.axis, keepdims=True)
            share = rule(whole, function(chunk, axis=step.axis, keepdims=True), chunk, step.axis, keepdims=True)
            found = found + placed(step.x, share, step.along(place))
        return found

    return back


STATISTICS: dict[str, Callable[[Step, Any], Any]] = {
    "maximum": _of_statistic(of_extreme, np.max),
    "minimum": _of_statistic(of_extreme, np.min),
    "mean": _of_statistic(of_mean, np.mean),
    "median": _of_statistic(of_median, np.median),
}
BACKWARD: dict[Any, Callable[[Step, Any], Any]] = {
    **dict.fromkeys(("constant", "empty"), _cut),
    **dict.fromkeys(("edge", "reflect", "symmetric", "wrap"), _copied),
    "linear_ramp": _of_ramp,
    **STATISTICS,
}


def of_pad(
    g: Any, ans: Any, array: Any, pad_width: Any, mode: Any = "constant", stat_length: Any = None,
    constant_values: Any = 0, end_values: Any = 0, reflect_type: Any = "even",
) -> Any:  # fmt: skip
    for step in reversed(_steps(array, pad_width, mode, stat_length, reflect_type)):
        g = BACKWARD[mode](step, g)
    return cast(g, array)


def _shares(step: Step, g: Any) -> list[Any]:
    """The sums of the cotangents of both borders, by how much of the given value is in each element."""
    before, _, behind = step.parts(g)
    ramps: Any = (0, 0) if step.mode == "constant" else _ramps(step, g)
    return [np.sum(part * (1 - ramp)) for part, ramp in zip((before, behind), ramps, strict=True)]


def _given_at(place: int) -> Callable[..., Any]:
    """The rule of ``constant_values`` (0) or ``end_values`` (1), which hold for all axes, for one pair, or for each."""

    def rule(
        g: Any, ans: Any, array: Any, pad_width: Any, mode: Any = "constant", stat_length: Any = None,
        constant_values: Any = 0, end_values: Any = 0, reflect_type: Any = "even",
    ) -> Any:  # fmt: skip
        ndim, values = len(shape_of(array)), (constant_values, end_values)[place]
        shares = [[np.sum(g[:0])] * 2 for _ in range(ndim)]
        for step in reversed(_steps(array, pad_width, mode, stat_length, reflect_type)):
            shares[step.axis] = _shares(step, g)
            g = BACKWARD[mode](step, g)
        total = np.stack([np.stack(pair) for pair in shares])
        shape = shape_of(values)
        if len(shape) < 3 and shape not in ((2, 1), (ndim, 2)):
            total = np.sum(total, axis=0 if shape and shape[-1] == 2 else None)
            return as_operand(total, values)
        return fit(total, values)

    return rule


pad_rules = (of_pad, None, None, None, _given_at(0), _given_at(1))
