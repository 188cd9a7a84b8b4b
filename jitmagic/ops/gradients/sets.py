"""Takes the cotangent of a set of elements (``unique``, ``union1d``, ...), gives it back to where they came from.

Of equal elements the first one stands for all, as in a stable sort; what an element is compared with has no part in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import as_operand, axes_of, count_of, shape_of

__all__ = ["of_unique", "setdiff1d_rules", "setxor1d_rules", "union1d_rules"]


def _values(result: Any) -> Any:
    """Of a result with places and counts beside the elements, the elements."""
    return result[0] if isinstance(result, tuple) else result


def _given_back(g: Any, values: Any, flat: Any) -> Any:
    """The cotangents of ``values`` at the first place of each in ``flat``."""
    order = np.argsort(flat, kind="stable")
    return placed(flat, g, order[np.searchsorted(flat, values, sorter=order)])


def of_unique(
    g: Any, ans: Any, ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Any = None, **options: Any,
) -> Any:  # fmt: skip
    if axis is not None:
        (place,) = axes_of(ar, axis)
        first = np.unique(ar, return_index=True, axis=axis)[1]
        return placed(ar, _values(g), (*(slice(None),) * place, first))
    return as_operand(_given_back(_values(g), _values(ans), np.reshape(ar, -1)), ar)


def _of_both(which: int) -> Any:
    """The rule of one operand of a function that takes the elements of both."""

    def rule(g: Any, ans: Any, ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
        flat = np.concatenate([np.reshape(ar1, -1), np.reshape(ar2, -1)])
        whole = _given_back(g, ans, flat)
        begin = count_of(ar1, None)
        return as_operand(whole[:begin] if which == 0 else whole[begin:], (ar1, ar2)[which])

    return rule


union1d_rules = setxor1d_rules = (_of_both(0), _of_both(1))


def _of_first(g: Any, ans: Any, ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """All that stays was in the first operand."""
    return as_operand(_given_back(_values(g), _values(ans), np.reshape(ar1, -1)), ar1)


def _of_compared(g: Any, ans: Any, ar1: Any, ar2: Any, *args: Any, **kwargs: Any) -> Any:
    return np.zeros_like(ar2) if shape_of(ar2) else ar2 * 0


setdiff1d_rules = (_of_first, _of_compared)
