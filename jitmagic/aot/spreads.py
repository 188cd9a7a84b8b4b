"""Takes the arguments of ``np.var`` and ``np.std``, gives what NumPy computes for them, in steps that loops can join.

NumPy's ``_var``: the mean, with the axis kept; the squares of what is left; their sum divided by the count. Only for
float64 and known sizes: other dtypes are divided in float64, and a count of 0 is warned of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta

__all__ = ["INFERENCE"]


def _variance(original: Callable[..., Any], finish: Callable[[Any], Any]) -> Callable[..., Any]:
    def simpler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **kwargs: Any) -> Any:
        count = _count(a, axis)
        keepdims = kwargs.get("keepdims", False)
        is_plain = kwargs.keys() <= {"keepdims"} and dtype is None and out is None and type(keepdims) is bool
        if not is_plain or type(ddof) is not int or count - ddof <= 0 or (axis is None and keepdims):
            given = {"axis": axis, "dtype": dtype, "out": out, "ddof": ddof, **kwargs}
            return original(a, **{name: value for name, value in given.items() if value is not None})
        centred = a - np.mean(a, axis=axis, keepdims=axis is not None)
        total = np.sum(centred * centred, axis=axis, keepdims=keepdims)
        return finish(total / float(count - ddof))

    return simpler


def _count(a: Any, axis: Any) -> int:
    """How many elements are averaged; 0 where the steps would not be NumPy's."""
    node = getattr(a, "node", None)
    meta = getattr(node, "meta", None)
    if not isinstance(meta, ArrayMeta) or meta.dtype != np.float64 or not meta.ndim:
        return 0
    if axis is not None and (type(axis) is not int or not -meta.ndim <= axis < meta.ndim):
        return 0
    sizes = meta.shape if axis is None else (meta.shape[axis],)
    if not all(type(n) is int for n in meta.shape):
        return 0
    found = 1
    for n in sizes:
        found *= n
    return found


INFERENCE: dict[Any, Callable[..., Any]] = {
    np.var: _variance(np.var, lambda total: total),
    np.std: _variance(np.std, np.sqrt),
}
