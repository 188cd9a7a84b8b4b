"""Takes the cotangent of ``ufunc.reduce``, ``accumulate``, ``reduceat`` or ``outer``, gives those of the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.errors import UserError
from jitmagic.ops.gradients.folds import of_extreme, of_prod, of_sum
from jitmagic.ops.gradients.indexing import index_along, placed
from jitmagic.ops.gradients.neighbours import of_cumprod, of_cumsum
from jitmagic.ops.gradients.pointwise import finite_divisor
from jitmagic.ops.gradients.shapes import axes_of, cast, counted, restore_axes, shape_of
from jitmagic.ops.record import Rules

__all__ = ["outer_rules_of", "rules_of_folding"]

Rule = Callable[..., Any]


def _weighed(weights: Callable[[Any, Any, Any], Any]) -> Rule:
    """The rule of a reduction whose derivative by each element is ``weights(ans, elements, place along the axis)``."""

    def rule(g: Any, ans: Any, a: Any, axis: Any = 0, keepdims: Any = False, **options: Any) -> Any:
        if options.get("where", True) is not True or options.get("initial") is not None:
            raise UserError("a reduction of this kind has no gradient with where= or initial=")
        (place,) = axes_of(a, axis)
        g, ans = restore_axes(g, a, place, keepdims), restore_axes(ans, a, place, keepdims)
        line = np.reshape(counted(a, place), (-1,) + (1,) * (len(shape_of(a)) - place - 1))
        return cast(g * weights(ans, a, line), a)

    return rule


def _running_extreme(g: Any, ans: Any, a: Any, axis: Any = 0, **options: Any) -> Any:
    """The cotangent goes to the element that was the extreme so far; among equal ones to the first."""
    (place,) = axes_of(a, axis)
    lead = (slice(None),) * place
    is_new = ans[(*lead, slice(1, None))] != ans[(*lead, slice(0, -1))]
    line = np.reshape(counted(a, place), (-1,) + (1,) * (len(shape_of(a)) - place - 1))
    first = np.zeros_like(ans[(*lead, slice(0, 1))], dtype=np.intp)
    found = np.concatenate([first, np.where(is_new, line[1:], 0)], axis=place)
    return placed(a, g, index_along(np.maximum.accumulate(found, axis=place), place))


REDUCTIONS: dict[np.ufunc, Rule] = {
    np.add: of_sum,
    np.multiply: of_prod,
    np.maximum: of_extreme,
    np.minimum: of_extreme,
    np.subtract: _weighed(lambda ans, a, place: np.where(place == 0, 1.0, -1.0)),
    np.true_divide: _weighed(lambda ans, a, place: np.where(place == 0, 1.0, -1.0) * ans / a),
    np.hypot: _weighed(lambda ans, a, place: a / finite_divisor(ans)),
    np.logaddexp: _weighed(lambda ans, a, place: np.exp(a - ans)),
    np.logaddexp2: _weighed(lambda ans, a, place: np.exp2(a - ans)),
}
ACCUMULATIONS: dict[np.ufunc, Rule] = {
    np.add: of_cumsum,
    np.multiply: of_cumprod,
    np.maximum: _running_extreme,
    np.minimum: _running_extreme,
}


def rules_of_folding(ufunc: np.ufunc, method: str) -> Rules | None:
    """The rules of ``reduce``, ``accumulate`` and ``reduceat``, whose axis is the first if none is given."""
    if method == "reduceat":
        return _rules_of_parts(REDUCTIONS[ufunc]) if ufunc in REDUCTIONS else None
    of_function = (ACCUMULATIONS if method == "accumulate" else REDUCTIONS).get(ufunc)
    if of_function is None:
        return None

    def rule(
        g: Any, ans: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        if args:
            kwargs["keepdims"] = args[0]
        return of_function(g, ans, array, axis=axis, **kwargs)

    return (rule,)


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
