"""Pure counterparts of NumPy's writes; only ``jitmagic.aot`` makes them.

``update(base, value, path)`` is ``base`` with the elements that ``path`` selects replaced by ``value`` (broadcast and
cast as assignment does); ``base`` itself is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.registry import op

__all__ = ["UPDATE", "ViewStep", "follow"]


@dataclass(frozen=True, slots=True)
class ViewStep:
    """One view operation on the way from a base to a part of it: ``op.call(array, *args, **kwargs)``."""

    op: Op
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def follow(base: np.ndarray[Any, Any], path: tuple[ViewStep, ...]) -> np.ndarray[Any, Any]:
    """The view of ``base`` that ``path`` leads to."""
    for step in path:
        base = step.op.call(base, *step.args, **step.kwargs)
    return base


def _update(base: np.ndarray[Any, Any], value: Any, path: tuple[ViewStep, ...]) -> np.ndarray[Any, Any]:
    result = np.array(base, order="K", copy=True)
    follow(result, path)[...] = value
    return result


def _update_meta(call: Arguments) -> Inferred:
    base = call.args[0]
    copy = np.empty_like(base.standin(), order="K")
    return Inferred(ArrayMeta(base.dtype, base.shape, copy.strides))


UPDATE = op("update", _update, meta=_update_meta)
