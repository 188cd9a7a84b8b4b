"""Takes the cotangent of what was chosen, interpolated or selected, gives those of the candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import as_operand, axes_of, cast, counted, fit, shape_of

__all__ = [
    "of_choices",
    "of_compress",
    "of_default",
    "of_diagflat",
    "of_extract",
    "of_selected",
    "of_tri",
    "of_vander",
    "spaced_rules",
]


def _first_true(conditions: Any, place: int) -> Any:
    """Where condition ``place`` is the first that holds; ``place`` beyond the last: where none holds."""
    earlier: Any = False
    for condition in list(conditions)[:place]:
        earlier = np.logical_or(earlier, condition)
    return np.logical_and(conditions[place], np.logical_not(earlier)) if place < len(conditions) else ~earlier


def of_selected(g: Any, ans: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found = [fit(np.where(_first_true(condlist, i), g, 0), x) for i, x in enumerate(choicelist)]
    return np.stack(found) if hasattr(choicelist, "dtype") else found


def of_default(g: Any, ans: Any, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    return fit(np.where(_first_true(condlist, len(condlist)), g, 0), default)


def of_choices(g: Any, ans: Any, a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    n = len(choices)
    a = np.asarray(a) if isinstance(a, list | tuple) else a
    picked = np.mod(a, n) if mode == "wrap" else np.clip(a, 0, n - 1) if mode == "clip" else a
    found = [fit(np.where(picked == i, g, 0), x) for i, x in enumerate(choices)]
    return np.stack(found) if hasattr(choices, "dtype") else found


def _true_places(condition: Any) -> Any:
    """Where a condition, an array or a list, holds; it is read as flat."""
    return np.nonzero(np.ravel(condition if hasattr(condition, "shape") else np.asarray(condition)))[0]


def of_compress(g: Any, ans: Any, condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    flat = np.reshape(a, -1) if axis is None else a
    place = 0 if axis is None else axes_of(a, axis)[0]
    index = _true_places(condition)
    return np.reshape(placed(flat, g, (*(slice(None),) * place, index)), shape_of(a))


def of_extract(g: Any, ans: Any, condition: Any, arr: Any) -> Any:
    index = _true_places(condition)
    return np.reshape(placed(np.reshape(arr, -1), g, index), shape_of(arr))


def of_tri(cut: Any) -> Any:
    """Of ``tril`` and ``triu``, which are their own transposes."""

    def rule(g: Any, ans: Any, m: Any, k: int = 0) -> Any:
        return fit(cut(g, k), m)

    return rule


def of_vander(g: Any, ans: Any, x: Any, N: Any = None, increasing: bool = False) -> Any:
    powers = counted(g, -1) if increasing else counted(g, -1)[::-1]
    lower = np.expand_dims(x, -1) ** np.maximum(powers - 1, 0)
    return cast(np.sum(g * powers * lower, axis=-1), x)


def of_diagflat(g: Any, ans: Any, v: Any, k: int = 0) -> Any:
    return as_operand(np.diagonal(g, k), v)


def _fractions(values: Any, endpoint: bool, axis: int) -> Any:
    """The share of the stop in each of the values, which lie along an axis; a single value is the start."""
    place, num = counted(values, axis), shape_of(values)[axis]
    last = num - 1 if endpoint else num
    line = place / (1 if isinstance(last, int) and last < 1 else last)
    return np.moveaxis(np.reshape(line, (-1,) + (1,) * (len(shape_of(values)) - 1)), 0, axis)


def _spaced(kind: str, which: int) -> Any:
    """The rule of ``linspace`` (and kin) by its start (0) or stop (1)."""

    def rule(
        g: Any,
        ans: Any,
        start: Any,
        stop: Any,
        num: Any = 50,
        endpoint: bool = True,
        *rest: Any,
        axis: int = 0,
        base: Any = 10.0,
        retstep: bool = False,
        dtype: Any = None,
    ) -> Any:
        values, g = (ans[0], g[0]) if kind == "linear" and (retstep or isinstance(ans, tuple)) else (ans, g)
        end = (start, stop)[which]
        t = _fractions(values, endpoint, axis)
        share = t if which else 1 - t
        if kind == "logarithmic":
            share = share * values * np.log(base)
        if kind == "geometric":
            share = share * values / end
        return fit(np.sum(g * share, axis=axis), end)

    return rule


def spaced_rules(kind: str) -> Any:
    return (_spaced(kind, 0), _spaced(kind, 1))
