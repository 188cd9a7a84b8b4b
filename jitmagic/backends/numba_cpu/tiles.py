"""Takes the innermost loop of a kernel that calls NumPy's own inner loops, gives it as text in stages over tiles.

A tile is about a thousand elements. Stage by stage, a plain loop computes what the strided calls need into buffers on
the stack, which stay in the first-level cache; then the calls run; the next stage reads their results. A choice
between results of arithmetic is a stage of its own too (see ``ir.fenced``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from jitmagic.backends.loops.ir import (
    Access,
    Apply,
    Cast,
    Fold,
    Kernel,
    Literal,
    Load,
    Scalar,
    Statement,
    Store,
    Strided,
    Value,
    arguments_of,
)
from jitmagic.backends.native.abi import Status
from jitmagic.backends.numba_cpu.streaming import before_line, stream, streamed_stores
from jitmagic.backends.numba_cpu.text import Text

__all__ = ["emit_tiles"]

CACHE_BYTES = 32 * 1024  # of the first-level data cache, for all buffers of one tile
TILE_LIMIT = 1024  # elements; longer tiles gain nothing, calls cost some 10 ns
STREAMED_LIMIT = 128  # where nothing is called: the processor computes the next tile while the lines of this one leave


class Owner(Protocol):
    """What the emitter of the kernel offers."""

    kernel: Kernel
    text: Text
    fences: dict[Any, tuple[Value, ...]]

    def bounds(self, depth: int) -> str: ...
    def depth(self, statement: Statement) -> int: ...
    def statement(self, statement: Statement, depth: int, variable: str, contiguous: bool = False) -> None: ...
    @property
    def full_depth(self) -> int: ...


@dataclass(slots=True)
class Tiles:
    """The stages of one innermost loop. ``born`` is the stage whose loop computes a value; -1 is before all of them."""

    owner: Owner
    depth: int
    born: dict[Value, int] = field(default_factory=dict)
    stage: dict[int, list[Statement]] = field(default_factory=dict)
    calls: dict[int, list[Strided]] = field(default_factory=dict)
    buffers: dict[Value, str] = field(default_factory=dict)
    size: int = 0
    streamed: dict[Access, Store] = field(default_factory=dict)  # results that leave from the buffers of their values

    def plan(self) -> None:
        """Give every statement of the loop its stage."""
        owner = self.owner
        for statement in owner.kernel.body:
            if owner.depth(statement) != owner.full_depth:
                continue
            arguments = (statement.value,) if isinstance(statement, Store | Fold) else arguments_of(statement)
            later = self.owner.fences.get(getattr(statement, "out", None), ())
            stage = max([0, *(self.born.get(v, 0) + (v in later) for v in arguments)])
            if isinstance(statement, Strided):
                self.calls.setdefault(stage, []).append(statement)
                self.born[statement.out] = stage + 1
            else:
                self.stage.setdefault(stage, []).append(statement)
                if isinstance(statement, Load | Scalar | Literal | Cast | Apply):
                    self.born[statement.out] = stage

    def needs_buffer(self) -> list[Value]:
        """Results of calls, their arguments that vary, and values of one stage that a later one reads."""
        needed: dict[Value, None] = {}
        for calls in self.calls.values():
            for call in calls:
                needed |= dict.fromkeys(v for v in call.arguments if v in self.born)
                needed[call.out] = None
        for stage, statements in self.stage.items():
            for statement in statements:
                reads = (statement.value,) if isinstance(statement, Store | Fold) else arguments_of(statement)
                needed |= dict.fromkeys(v for v in reads if self.born.get(v, stage) < stage)
        return list(needed)

    def emit(self) -> None:
        """The loop over the tiles of the innermost axes."""
        text = self.owner.text
        self.streamed = {s.access: s for s in streamed_stores(self.owner, self.depth) if s.value in self.born}
        limit = TILE_LIMIT if self.calls or not self.streamed else STREAMED_LIMIT
        size = self.prepare(limit, [store.value for store in self.streamed.values()])
        self.slots()
        lo, hi = self.range()
        for store in list(self.streamed.values())[:1]:
            text.add(f"start = {lo} - {before_line(self.owner, store, self.depth, lo)}")
        if self.streamed:
            text.open(f"for block in range(start, {hi}, {size}):")
            text.add(f"tile = max(block, {lo})")
            text.add(f"count = min(block + {size}, {hi}) - tile")
        else:
            text.open(f"for tile in range({lo}, {hi}, {size}):")
            text.add(f"count = min({size}, {hi} - tile)")
        self.block()
        for store in self.streamed.values():
            stream(self.owner, store, self.depth, self.buffers[store.value])
        text.close()

    def prepare(self, limit: int, extra: Sequence[Value] = ()) -> int:
        """Make the buffers, for tiles of the size that is returned. ``extra`` values get one too."""
        needed = list(dict.fromkeys([*self.needs_buffer(), *extra]))
        slots = self.share(needed, set(extra))
        size = tile_size(slots, limit)
        for k, itemsize in enumerate(slots):
            self.owner.text.add(f"b{k} = stack({size * itemsize})")
        return size

    def share(self, needed: Sequence[Value], kept: set[Value]) -> list[int]:
        """Give each value a buffer, the same one to values that never meet; gives the bytes of an element of each."""
        made, used = self.times()
        slots: list[tuple[int, tuple[float, int]]] = []  # bytes of an element, and when it is read for the last time
        for value in sorted(needed, key=made.__getitem__):
            last = (math.inf, 0) if value in kept else used.get(value, made[value])
            free = (k for k, slot in enumerate(slots) if slot[0] == value.dtype.itemsize and slot[1] < made[value])
            k = next(free, len(slots))
            slots[k : k + 1] = [(value.dtype.itemsize, last)]
            self.buffers[value] = f"b{k}"
        return [itemsize for itemsize, _ in slots]

    def times(self) -> tuple[dict[Value, tuple[float, int]], dict[Value, tuple[float, int]]]:
        """When each value is made, and read for the last time: (stage, 0) is a loop, (stage, n) the n-th call."""
        made: dict[Value, tuple[float, int]] = {v: (stage, 0) for v, stage in self.born.items() if stage < 0}
        used: dict[Value, tuple[float, int]] = {}
        for stage in range(max([*self.stage, *self.calls], default=0) + 1):
            for statement in self.stage.get(stage, []):
                reads = (statement.value,) if isinstance(statement, Store | Fold) else arguments_of(statement)
                used |= dict.fromkeys(reads, (stage, 0))
                if hasattr(statement, "out"):
                    made[statement.out] = (stage, 0)
            for n, call in enumerate(self.calls.get(stage, []), 1):
                used |= dict.fromkeys(call.arguments, (stage, n))
                made[call.out] = (stage, n)
        return made, used

    def block(self) -> None:
        """All stages for the ``count`` elements from ``tile`` on."""
        text = self.owner.text
        results = {call.out for calls in self.calls.values() for call in calls}
        for stage in range(max([*self.stage, *self.calls], default=0) + 1):
            statements = self.stage.get(stage, [])
            if statements:
                text.open("for j in range(count):")
                text.add(f"i{self.depth} = tile + j")
                self.loop(stage, statements, results)
                text.close()
            for call in self.calls.get(stage, []):
                self.call(call)

    def range(self) -> tuple[str, str]:
        bounds = self.owner.bounds(self.depth)
        lo, _, hi = bounds.rpartition(", ")
        return lo or "0", hi

    def slots(self) -> None:
        """Memory for the arguments of the calls, and for values that do not change along the loop."""
        text = self.owner.text
        if not self.calls:
            return
        text.add("data = stack(128)")
        text.add("dims = stack(8)")
        text.add("strides = stack(128)")
        fixed = {v: None for calls in self.calls.values() for c in calls for v in c.arguments if v not in self.born}
        for k, value in enumerate(fixed):
            self.buffers[value] = f"s{k}"
            text.add(f"s{k} = stack({value.dtype.itemsize})")
            text.add(f"store_{value.dtype}(s{k}, 0, {value})")

    def loop(self, stage: int, statements: list[Statement], results: set[Value]) -> None:
        """One stage: read what earlier stages left, compute, leave what later ones need."""
        text, read = self.owner.text, set[Value]()
        for statement in statements:
            values = (statement.value,) if isinstance(statement, Store | Fold) else arguments_of(statement)
            for value in values:
                earlier = self.born.get(value, stage) < stage or value in results
                if earlier and value not in read:
                    read.add(value)
                    text.add(f"{value} = load_{value.dtype}({self.buffers[value]}, j * {value.dtype.itemsize})")
            if isinstance(statement, Store) and statement.access in self.streamed:
                continue
            self.owner.statement(statement, self.depth, f"i{self.depth}")
            out = getattr(statement, "out", None)
            if out in self.buffers:
                text.add(f"store_{out.dtype}({self.buffers[out]}, j * {out.dtype.itemsize}, {out})")

    def call(self, call: Strided) -> None:
        """Fill in pointers and strides (a loop may change them) and run NumPy's loop."""
        text = self.owner.text
        for k, value in enumerate((*call.arguments, call.out)):
            text.add(f"store_int64(data, {8 * k}, {self.buffers[value]})")
            stride = value.dtype.itemsize if value in self.born else 0
            text.add(f"store_int64(strides, {8 * k}, {stride})")
        text.add("store_int64(dims, 0, count)")
        reports = self.owner.kernel.flags != 0
        if reports:  # some loops of NumPy clear what was met before
            text.add("seen |= float_flags()")
        function, context, auxdata = (f"load_int64({call.loop}, {8 * k})" for k in range(3))
        text.open(f"if call_inner_loop({function}, {context}, data, dims, strides, {auxdata}) != 0:")
        text.add(f"return {Status.INNER_LOOP.name}")
        text.close()
        if reports and call.quiet:
            text.add("clear_float_flags()")


def tile_size(itemsizes: list[int], limit: int) -> int:
    """A power of two such that all buffers stay in the cache."""
    wanted = CACHE_BYTES // max(1, sum(itemsizes))
    return max(128, min(limit, 1 << (wanted.bit_length() - 1)))


def emit_tiles(owner: Any, depth: int) -> None:
    """Write the innermost loop, of the given depth, as stages over tiles."""
    tiles = Tiles(owner, depth)
    tiles.plan()
    tiles.emit()
