"""Takes the lines of a host program, gives them without the allocations of small arrays that never leave it.

    t1 = empty((32, 128), d0)       =>      (o0, t1, t2, ) = scratch.saved
    t2 = zeros((32, 10), d0)                t2.fill(0)

The allocator takes 0.2 us for each. A program keeps these arrays for its next run, so nobody else may hold one: all
that reads them are kernels, ufuncs, and views that only those read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jitmagic.backends.loops.schedule import Call, Schedule, Step
from jitmagic.backends.loops.updates import is_plain_update
from jitmagic.backends.numba_cpu.joining import join_of
from jitmagic.backends.numba_cpu.picking import is_picked_natively
from jitmagic.backends.numba_cpu.scratch import LEAST_BYTES, Kind
from jitmagic.graph import ArrayMeta, Node

__all__ = ["names_that_stay", "without_small"]

MOST_BYTES = 2 << 20  # of all small arrays of a program


def names_that_stay(plan: Schedule, names: Mapping[Node, str]) -> set[str]:
    """The names of arrays that only the program itself holds, and only until it ends.

    An array that is computed where another was has its name.
    """
    left = {names.get(node, "") for node in plan.graph.outputs}
    for step in reversed(plan.steps):
        if not isinstance(step, Call) or _keeps_nothing(step):
            continue
        if step.node.view_of is None or names.get(step.node, "") in left:
            left |= {names.get(node, "") for node in step.node.operands()}
    return set(names.values()) - left


def _keeps_nothing(step: Step) -> bool:
    """Whether what a call gives has surely nothing to do with the memory that it reads."""
    assert isinstance(step, Call)
    node = step.node
    if is_picked_natively(step) or is_plain_update(node) or join_of(node) is not None:
        return True
    return node.view_of is None and node.op is not None and isinstance(node.op.call, np.ufunc) and not node.kwargs


def without_small(
    lines: Sequence[str],
    fresh: Sequence[tuple[int, Node]],
    names: Mapping[Node, str],
    stay: set[str],
    saved: list[Kind],
) -> tuple[list[str], list[tuple[int, Node]], list[str]]:
    """The lines and the places of allocations that remain, and the names of the arrays added to ``saved``."""
    found, others, small, size = list(lines), [], list[str](), 0
    for place, node in fresh:
        name = names[node]
        kind = _small_kind(node, lines[place], name)
        if kind is None or name not in stay or name in small or size + kind.nbytes > MOST_BYTES:
            others.append((place, node))
            continue
        size += kind.nbytes
        small.append(name)
        saved.append(kind)
        found[place] = f"    {name}.fill(0)" if "zeros(" in lines[place] else ""
    return found, others, small


def _small_kind(node: Node, line: str, name: str) -> Kind | None:
    """What the line allocates, if that is a small array of known sizes."""
    meta = node.meta
    if not isinstance(meta, ArrayMeta) or meta.scalar or meta.is_counted or meta.dtype.hasobject:
        return None
    if any(type(n) is not int for n in meta.shape) or not line.startswith(
        (f"    {name} = empty(", f"    {name} = zeros(")
    ):
        return None
    kind = Kind(tuple(meta.hint_shape), meta.dtype, "F" if line.endswith(", 'F')") else "C")
    return kind if 0 < kind.nbytes < LEAST_BYTES else None
