"""Takes a call that writes values into an array, gives the array of which value went where."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.registry import by_name, op

__all__ = ["MARKS"]


def _marks(target: Any, numbers: Any, row: str, place: int, others: tuple[Any, ...], options: Any) -> Any:
    """Integers of the shape of ``target``: those of ``numbers`` where ``row`` writes them, 0 elsewhere.

    ``others`` are the arguments of the call without its array and its values; the values stand at ``place``.
    """
    found = np.zeros(np.shape(target), np.intp)
    by_name(row).call(found, *others[: place - 1], np.asarray(numbers), *others[place - 1 :], **options)
    return found


def _meta(call: Arguments) -> Inferred:
    return Inferred(ArrayMeta.dense(np.dtype(np.intp), call.args[0].shape))


MARKS = op("marks", _marks, meta=_meta, signature="target, numbers, row, place, others, options")
