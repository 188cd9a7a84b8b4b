"""Takes the cotangent of an array after a write, gives those of the array before it and of the values written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.functional import ADD_AT
from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.orders import of_ordered
from jitmagic.ops.gradients.shapes import as_operand, fit, shape_of
from jitmagic.ops.marking import MARKS
from jitmagic.ops.record import Rules

__all__ = ["copyto_rules", "fill_rules", "of_partitioned_in_place", "of_sorted_in_place", "writing"]

fill_rules: Rules = (
    lambda g, ans, a, value: np.zeros_like(g),
    lambda g, ans, a, value: fit(g, value),
)
copyto_rules: Rules = (
    lambda g, ans, dst, src, casting=None, where=True: np.where(where, 0, g),
    lambda g, ans, dst, src, casting=None, where=True: fit(np.where(where, g, 0), src),
)


def of_sorted_in_place(g: Any, ans: Any, a: Any, axis: int = -1, *args: Any, **kwargs: Any) -> Any:
    return of_ordered(g, ans, a, axis)


def of_partitioned_in_place(g: Any, ans: Any, a: Any, kth: Any, axis: int = -1, *args: Any, **kwargs: Any) -> Any:
    return of_ordered(g, ans, a, axis)


def writing(name: str, place: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The rules of row ``name`` by the array and by the values, which stand at ``place``.

    The row itself tells which value went where: it is run on integers, with the number of each value as the value.
    """

    def marks(g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        others = list(args[1:])
        values = others.pop(place - 1)
        numbers = np.reshape(np.arange(1, np.size(values) + 1), shape_of(values))
        return invoke(MARKS.call, g, numbers, name, place, tuple(others), kwargs)

    def of_array(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return np.where(marks(g, args, kwargs) == 0, g, 0)

    def of_values(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        values = args[place]
        sums = np.zeros_like(g, shape=(np.size(values) + 1,))
        found = invoke(ADD_AT.call, sums, np.reshape(g, -1), np.reshape(marks(g, args, kwargs), -1))
        return as_operand(found[1:], values)

    return of_array, of_values
