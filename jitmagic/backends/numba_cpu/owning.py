"""Takes an array that NumPy has made, gives one whose memory nobody else can see: itself, or a copy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jitmagic.backends.loops.schedule import Schedule
from jitmagic.backends.loops.updates import is_presumed_new, loops_in_place, outputs_in_place, updates_in_place
from jitmagic.backends.numba_cpu.scratch import IS_ENABLED
from jitmagic.graph import Node
from jitmagic.ops.functional import copy_layout

__all__ = ["claimed", "owned"]


def owned(array: Any) -> Any:
    """``array`` itself where it has its own memory and only the caller's local variable holds it, else a copy."""
    is_whole = type(array) is np.ndarray and array.base is None and array.flags.owndata and array.flags.writeable
    if IS_ENABLED and is_whole and sys.getrefcount(array) <= _HELD:
        return array
    return copy_layout(array)


def _held() -> int:
    """What ``owned`` counts for an array that only a local variable of its caller holds."""

    def count(array: Any) -> int:
        return sys.getrefcount(array)

    array = np.empty(1)
    return count(array)


_HELD = _held()


def claimed(plan: Schedule) -> set[Node]:
    """Arrays that NumPy makes, and whose memory something is written into."""
    wanted = set(outputs_in_place(plan).values()) | {node.args[0] for node in updates_in_place(plan)}
    wanted |= {node.args[p] for node, places in loops_in_place(plan).items() for p in places}
    for step in plan.launches:
        wanted |= {step.built.inputs[name] for name in step.built.kernel.over.values()}
    return {node for node in wanted if is_presumed_new(node)}
