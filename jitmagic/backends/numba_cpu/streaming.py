"""Takes the launches of a schedule, gives the results that go past the caches, and the text that sends them there.

A result that is larger than the cache, and that nothing in the program reads, would push out what others need, and an
ordinary store reads a line of memory before it overwrites it. Such results are computed tile by tile into a buffer, of
which whole lines are then written at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from jitmagic.backends.loops.ir import Apply, Kernel, Load, Store, Strided
from jitmagic.backends.loops.nest import make_nest
from jitmagic.backends.loops.recipes import is_fast
from jitmagic.backends.loops.schedule import Launch, Schedule
from jitmagic.backends.native.abi import can_stream
from jitmagic.graph import ArrayMeta, hint_of

__all__ = ["before_line", "stream", "streamed_results", "streamed_stores"]

LINE = 64  # bytes
# From twice a usual second-level cache on; allocators map larger arrays afresh, and their pages were just cleared
LEAST_BYTES, MOST_BYTES = 4 << 20, 32 << 20
WIDE = 2  # arrays that are read whole: as much traffic as there is arithmetic in a usual kernel
SHORTEST_RUN = 512  # bytes of memory that are written one after the other


def streamed_results(plan: Schedule, step: Launch) -> frozenset[str]:
    """The results of a pointwise kernel that are large, and read by no step of the program."""
    kernel = step.built.kernel
    if kernel.shape or not can_stream() or not _is_bound_by_memory(kernel):
        return frozenset()
    levels = make_nest(kernel).levels
    run = math.prod(hint_of(step.built.sizes[axis]) for axis in levels[-1])
    found = set()
    for name, node in step.built.outputs.items():
        meta, operand = node.meta, kernel.operand(name)
        assert isinstance(meta, ArrayMeta)
        size = meta.dtype.itemsize
        fits = LEAST_BYTES <= math.prod(meta.hint_shape) * size <= MOST_BYTES and run * size >= SHORTEST_RUN
        if fits and node in plan.results and operand.dense and name not in kernel.over:
            found.add(name)
    return frozenset(found) - {name for name, node in step.built.outputs.items() if node in _read(plan)}


def _is_bound_by_memory(kernel: Kernel) -> bool:
    """Whether the arrays take longer to pass by than the arithmetic: elsewhere the buffer only costs time."""
    loads = [s.access for s in kernel.body if isinstance(s, Load)]
    wide = {a.operand for a in loads if all(a.axis_of(axis) is not None for axis in range(kernel.ndim))}
    slow = any(isinstance(s, Strided) or (isinstance(s, Apply) and not is_fast(s.expression)) for s in kernel.body)
    return len(wide) >= WIDE or not slow


def _read(plan: Schedule) -> set[Any]:
    return {node for step in plan.steps for node in _operands(step)}


def _operands(step: Any) -> Iterable[Any]:
    return step.built.inputs.values() if isinstance(step, Launch) else step.node.operands()


def streamed_stores(owner: Any, depth: int) -> list[Store]:
    """Those that write one element after the other, if all operands lie so: other loops are not worth a buffer."""
    if not owner.kernel.streamed or any(not owner.stride(a, depth).lstrip("-").isdigit() for a in owner.names):
        return []
    stores = [s for s in owner.kernel.body if isinstance(s, Store) and s.access.operand in owner.kernel.streamed]
    return [s for s in stores if owner.stride(s.access, depth) == str(owner.itemsize(s.access))]


def before_line(owner: Any, store: Store, depth: int, lo: str) -> str:
    """How many elements lie between the start of a line and element ``lo``."""
    size = owner.itemsize(store.access)
    return f"(({owner.pointer(store.access, depth)} + {lo} * {size}) & {LINE - 1}) // {size}"


def stream(owner: Any, store: Store, depth: int, buffer: str) -> None:
    """Copy ``count`` elements of a buffer to where they belong: up to the first whole line, lines, and the rest."""
    text, size = owner.text, owner.itemsize(store.access)
    word = f"uint{8 * min(size, 8)}"
    text.add(f"place = {owner.pointer(store.access, depth)} + tile * {size}")
    text.add(f"end = count * {size}")
    text.add(f"first = min((0 - place) & {LINE - 1}, end)")
    text.add(f"last = end - (end - first) % {LINE}")
    for part in ("0, first", "last, end"):
        text.open(f"for j in range({part}, {min(size, 8)}):")
        text.add(f"store_{word}(place, j, load_{word}({buffer}, j))")
        text.close()
    text.open(f"for j in range(first, last, {LINE}):")
    text.add(f"stream_line(place, j, {buffer})")
    text.close()
