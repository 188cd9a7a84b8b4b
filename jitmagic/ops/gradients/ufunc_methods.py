"""Takes the cotangent of ``ufunc.reduce``, ``accumulate``, ``reduceat`` or ``outer``, gives those of the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.folds import (
    extreme_of_initial,
    of_extreme,
    of_prod,
    of_sum,
    prod_of_initial,
    sum_of_initial,
)
from jitmagic.ops.gradients.indexing import index_along, placed
from jitmagic.ops.gradients.neighbours import of_cumprod, of_cumsum
from jitmagic.ops.gradients.pointwise import finite_divisor
from jitmagic.ops.gradients.shapes import axes_of, cast, counted, fit, restore_axes, shape_of
from jitmagic.ops.record import Rules
from jitmagic.ops.registry import parse_signature

__all__ = ["SIGNATURES", "outer_rules_of", "rules_of_folding"]

Rule = Callable[..., Any]


def _weighed(weights: Callable[[Any, Any, Any], Any]) -> Rules:
    """Of a reduction whose derivative by each element is ``weights(ans, elements, whether it is the first)``."""

    def parts(g: Any, ans: Any, a: Any, axis: Any, keepdims: Any) -> tuple[Any, Any, int]:
        (place,) = axes_of(a, axis)
        return restore_axes(g, a, place, keepdims), restore_axes(ans, a, place, keepdims), place

    def of_elements(
        g: Any, ans: Any, a: Any, axis: Any = 0, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        g, ans, place = parts(g, ans, a, axis, keepdims)
        line = np.reshape(counted(a, place), (-1,) + (1,) * (len(shape_of(a)) - place - 1))
        found = cast(g * weights(ans, a, line == (0 if _is_absent(initial) else -1)), a)
        return found if where is True else np.where(where, found, 0)

    def of_initial(
        g: Any, ans: Any, a: Any, axis: Any = 0, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        g, ans, _ = parts(g, ans, a, axis, keepdims)
        return fit(g * weights(ans, initial, np.True_), initial)

    return (of_elements, of_initial)


def _is_absent(initial: Any) -> bool:
    return initial is None or initial is np._NoValue


def _running_extreme(g: Any, ans: Any, a: Any, axis: Any = 0, **options: Any) -> Any:
    """The cotangent goes to the element that was the extreme so far; among equal ones to the first."""
    (place,) = axes_of(a, axis)
    lead = (slice(None),) * place
    is_new = ans[(*lead, slice(1, None))] != ans[(*lead, slice(0, -1))]
    line = np.reshape(counted(a, place), (-1,) + (1,) * (len(shape_of(a)) - place - 1))
    first = np.zeros_like(ans[(*lead, slice(0, 1))], dtype=np.intp)
    found = np.concatenate([first, np.where(is_new, line[1:], 0)], axis=place)
    return placed(a, g, index_along(np.maximum.accumulate(found, axis=place), place))


SIGNS = (1.0, -1.0)  # of the first element, and of the others
# Of each ufunc the rules of the elements and of ``initial=``
REDUCTIONS: dict[np.ufunc, Rules] = {
    np.add: (of_sum, sum_of_initial),
    np.multiply: (of_prod, prod_of_initial),
    np.maximum: (of_extreme, extreme_of_initial),
    np.minimum: (of_extreme, extreme_of_initial),
    np.subtract: _weighed(lambda ans, a, is_first: np.where(is_first, *SIGNS)),
    np.true_divide: _weighed(lambda ans, a, is_first: np.where(is_first, *SIGNS) * ans / a),
    np.hypot: _weighed(lambda ans, a, is_first: a / finite_divisor(ans)),
    np.logaddexp: _weighed(lambda ans, a, is_first: np.exp(a - ans)),
    np.logaddexp2: _weighed(lambda ans, a, is_first: np.exp2(a - ans)),
}
ACCUMULATIONS: dict[np.ufunc, Rule] = {
    np.add: of_cumsum,
    np.multiply: of_cumprod,
    np.maximum: _running_extreme,
    np.minimum: _running_extreme,
}


def rules_of_folding(ufunc: np.ufunc, method: str) -> Rules | None:
    """The rules of ``reduce``, ``accumulate`` and ``reduceat``, by position (``SIGNATURES``)."""
    if method == "accumulate":
        return (_accumulated(ACCUMULATIONS[ufunc]),) if ufunc in ACCUMULATIONS else None
    if ufunc not in REDUCTIONS:
        return None
    of_elements, of_initial = map(_reduced, REDUCTIONS[ufunc])
    if method == "reduceat":
        return _rules_of_parts(of_elements)
    return (of_elements, None, None, None, None, of_initial)


# What NumPy's methods take; those of a later NumPy tell it themselves
SIGNATURES = {
    "reduce": parse_signature("array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True"),
    "accumulate": parse_signature("array, axis=0, dtype=None, out=None"),
    "reduceat": parse_signature("array, indices, axis=0, dtype=None, out=None"),
}


def _reduced(of_function: Any) -> Rule:
    """The rule of a function of NumPy as that of the method, whose axis is the first if none is given."""

    def rule(
        g: Any, ans: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        if _is_absent(initial):
            return of_function(g, ans, array, axis=axis, keepdims=keepdims, where=where)
        return of_function(g, ans, array, axis=axis, keepdims=keepdims, initial=initial, where=where)

    return rule


def _accumulated(of_function: Rule) -> Rule:
    def rule(g: Any, ans: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return of_function(g, ans, array, axis=axis)

    return rule


def _rules_of_parts(of_reduction: Rule) -> Rules:
    """Of ``reduceat``: each result is the reduction of the elements from one index to the next, or one element."""

    def rule(g: Any, ans: Any, array: Any, indices: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(indices, list | tuple | np.ndarray):
            raise UserError("reduceat has a gradient for indices that do not depend on data only")
        (place,) = axes_of(array, axis)
        lead = (slice(None),) * place
        starts = [int(i) for i in indices]
        stops: list[Any] = [*starts[1:], shape_of(array)[place]]
        total: Any = np.zeros_like(array)
        for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            part = (*lead, slice(start, stop if stop > start else start + 1))
            one = (*lead, slice(i, i + 1))
            share = of_reduction(g[one], ans[one], array[part], axis=place, keepdims=True)
            total = total + placed(array, share, part)
        return total

    return (rule,)


def outer_rules_of(rules: Rules) -> Rules:
    """Of ``outer``: the ufunc of operands of which the first has more axes; ``rules`` are those of the ufunc."""

    def of_first(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
        return np.reshape(rules[0](g, ans, _lifted(a, b), b), shape_of(a)) if rules[0] else None

    def of_second(g: Any, ans: Any, a: Any, b: Any, **options: Any) -> Any:
        return rules[1](g, ans, _lifted(a, b), b) if rules[1] else None

    return (of_first if rules[0] else None, of_second if rules[1] else None)


def _lifted(a: Any, b: Any) -> Any:
    return np.reshape(a, shape_of(a) + (1,) * len(shape_of(b)))
