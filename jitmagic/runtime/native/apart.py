"""Takes what must be true of the memory of a graph's arguments, gives a builtin that is sure of it in most calls.

A step of training hands over every parameter with its moments: to ask NumPy for the owner of each, and to compare
these, takes 0.3 us an array; here it takes a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot.overlap import AliasGuard
from jitmagic.graph import Graph
from jitmagic.graph.meta import ArrayMeta
from jitmagic.runtime.native.apart_text import MOST
from jitmagic.runtime.native.code import is_ready, make_builtin

__all__ = ["apart_check"]


def apart_check(guard: AliasGuard, graph: Graph) -> Callable[[list[Any]], int] | None:
    """``check(arguments)`` gives 1 if they are contiguous and no two share memory, so that ``guard`` holds; else 0.

    None where that says too little, or where compiled code cannot ask.
    """
    places = tuple(dict.fromkeys((*guard.apart, *guard.simple)))
    metas = [graph.inputs[place].meta for place in places]
    is_enough = not guard.groups and not guard.fixed and 0 < len(places) <= MOST
    if not is_enough or not is_ready() or not all(isinstance(meta, ArrayMeta) for meta in metas):
        return None
    return make_builtin("apart", _table(places, [m.dtype.itemsize for m in metas if isinstance(m, ArrayMeta)]))


def _table(places: Sequence[int], itemsizes: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    words = [word for pair in zip(places, itemsizes, strict=True) for word in pair]
    return np.array([id(np.ndarray), len(places), *words], np.int64)
