"""Takes a kernel whose innermost loop is short, gives its loops as text with many rows in one tile.

A loop of ten turns is over before its vectors are full, and a call of NumPy's loop costs as much as a hundred
elements. So the two innermost loops are walked as one wherever the arrays lie without gaps; what repeats along the
rows, or within them, is written out into buffers of one tile first.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.backends.loops.ir import (
    Access,
    Fold,
    Kernel,
    Load,
    Statement,
    Store,
    Strided,
    Value,
    arguments_of,
    fenced,
)
from jitmagic.backends.loops.nest import Nest, follows, make_nest
from jitmagic.backends.native.abi import Status
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.tiles import TILE_LIMIT, Tiles

__all__ = ["LONGEST_FOLDED", "Rows", "emit_short_rows", "have_short_rows"]

LONGEST_FOLDED = 128  # elements that NumPy sums without cutting them in two
LONGEST_CALLED = 256  # elements of a row, where a call of NumPy's loop per row takes about as long as what it computes
LONGEST_STAGED = 64  # where nothing is called, and the row is walked several times


def have_short_rows(kernel: Kernel, sizes: Sequence[Any]) -> bool:
    """Whether the sizes call for many rows in one tile; what the operands allow is seen in ``Rows.fit``."""
    levels = make_nest(kernel).levels
    if kernel.shape not in ("", "KR") or len(levels) < 2 or kernel.streamed or kernel.reassociates:
        return False
    length = math.prod(sizes[a] if type(sizes[a]) is int else LONGEST_CALLED + 1 for a in levels[-1])
    return 1 < length <= _longest(kernel)


def _longest(kernel: Kernel) -> int:
    if any(isinstance(s, Strided) for s in kernel.body):
        return LONGEST_FOLDED if kernel.shape else LONGEST_CALLED
    if kernel.shape:  # rows of 32 that are only added up took 15 us in tiles, 9 us one by one
        return 0
    return LONGEST_STAGED if kernel.flags and fenced(kernel.body) else 0


@dataclass(slots=True)
class Rows:
    """The two innermost loops of ``owner``, the outer one of ``depth``, as one.

    ``repeated`` are loads of what is the same for all rows, ``gathered`` those of rows with gaps between them,
    ``single`` the values that a row has one of.
    """

    owner: Any
    depth: int
    flat: Any = None
    repeated: list[Load] = field(default_factory=list)
    gathered: list[Load] = field(default_factory=list)
    single: dict[Value, None] = field(default_factory=dict)
    tiles: Tiles | None = None

    @classmethod
    def of(cls, owner: Any) -> Rows:
        """Sort the statements of the kernel."""
        rows = cls(owner, len(owner.nest.levels) - 2)
        body = []
        for statement in owner.kernel.body:
            depth = owner.depth(statement)
            if depth < rows.depth + 1:
                continue
            if depth == rows.depth + 1:
                rows.single[statement.out] = None
            elif isinstance(statement, Load) and not rows.is_flat(statement.access):
                (rows.gathered if rows.moves(statement.access) else rows.repeated).append(statement)
            else:
                body.append(statement)
        rows.flatten(body)
        return rows

    def flatten(self, body: list[Statement]) -> None:
        """An owner with the two loops as one, for which everything that is not in ``body`` is known."""
        owner, levels = self.owner, self.owner.nest.levels
        flat = self.flat = copy.copy(owner)
        flat.kernel = replace(owner.kernel, body=body)
        flat.nest = Nest((*levels[:-2], levels[-2] + levels[-1]))
        known = dict.fromkeys([*self.single, *(load.out for load in (*self.repeated, *self.gathered))], self.depth + 1)
        flat.depths = {**owner.depths, **known}
        self.tiles = Tiles(flat, self.depth, born=dict.fromkeys(known, -1))
        self.tiles.plan()

    def is_flat(self, access: Access) -> bool:
        return follows(self.owner.kernel, access, self.owner.nest.levels[-2][-1], self.owner.nest.levels[-1][0])

    def moves(self, access: Access) -> bool:
        """Whether it is another place for another row."""
        return bool(self.owner.stride(access, self.depth) != "0")

    def fit(self) -> bool:
        """Whether results lie without gaps, and calls see no operand repeated that NumPy would not have repeated."""
        stores = [s.access for s in self.flat.kernel.body if isinstance(s, Store)]
        calls = [s for s in self.flat.kernel.body if isinstance(s, Strided)]
        return all(map(self.is_flat, stores)) and not any(v in self.single for c in calls for v in c.arguments)

    def prepare(self, kept: Sequence[Value] = ()) -> int:
        """Make the buffers; gives the elements of each."""
        assert self.tiles is not None
        spread = [*self.single, *(load.out for load in (*self.repeated, *self.gathered))]
        read = {v for s in self.flat.kernel.body for v in _reads(s)}
        return self.tiles.prepare(TILE_LIMIT, [*(v for v in spread if v in read), *kept])

    @property
    def length(self) -> str:
        return " * ".join(f"n{axis}" for axis in self.owner.nest.levels[-1])

    def open(self, size: int) -> None:
        """The loop over tiles of whole rows, with the stages of a tile, and left open."""
        text, tiles = self.owner.text, self.tiles
        assert tiles is not None
        bounds = self.owner.bounds(self.depth)
        lo, _, hi = bounds.rpartition(", ")
        tiles.slots()
        text.add(f"length = {self.length}")
        text.add(f"rows = max(1, min({size} // max(length, 1), {hi} - {lo or 0}))")
        self.repeat()
        text.open(f"for turn in range(({hi} - {lo or 0} + rows - 1) // rows):")  # (native lowering has no other step)
        text.add(f"begin = {lo or 0} + turn * rows")
        text.add(f"end = min(begin + rows, {hi})")
        text.add("tile = begin * length")
        text.add("count = (end - begin) * length")
        self.spread()
        tiles.block()

    def part(self, value: Value) -> str:
        """The variable with the address of one row of a buffer, inside of a loop over the rows of a tile."""
        buffer = self._buffers[value]
        self.owner.text.add(f"{buffer}_row = {buffer} + (i{self.depth} - begin) * length * {value.dtype.itemsize}")
        return f"{buffer}_row"

    def guard(self, size: int) -> None:
        """Sizes that the text was not made for must not pass the end of a buffer."""
        text = self.owner.text
        text.open(f"if {self.length} > {size}:")
        text.add(f"return {Status.SHAPE_ERROR.name}")
        text.close()

    def repeat(self) -> None:
        """Write out what all rows have in common, as often as a tile has rows."""
        self._fill("rows", "row", [load for load in self.repeated if load.out in self._buffers], {})

    def spread(self) -> None:
        """Write out what each row of this tile has one of, and rows that do not follow each other."""
        single = {v: None for v in self.single if v in self._buffers}
        gathered = [load for load in self.gathered if load.out in self._buffers]
        self._fill("begin, end", f"i{self.depth}", gathered, single)

    @property
    def _buffers(self) -> dict[Value, str]:
        assert self.tiles is not None
        return self.tiles.buffers

    def _fill(self, bounds: str, row: str, loads: Sequence[Load], single: dict[Value, None]) -> None:
        text: Text = self.owner.text
        if not loads and not single:
            return
        text.open(f"for {row} in range({bounds}):")
        text.add(f"at = ({row} - begin) * length" if row != "row" else "at = row * length")
        if row != "row":
            self.owner.enter(self.depth)
        text.open("for j in range(length):")
        for load in loads:
            self.owner.statement(load, self.depth + 1, "j")
        for value in [*single, *(load.out for load in loads)]:
            text.add(f"store_{value.dtype}({self._buffers[value]}, (at + j) * {value.dtype.itemsize}, {value})")
        text.close(2)


def _reads(statement: Statement) -> tuple[Value, ...]:
    return (statement.value,) if isinstance(statement, Store | Fold) else arguments_of(statement)


def emit_short_rows(owner: Any) -> bool:
    """The loops of a kernel without folds, unless its operands do not allow it."""
    rows = Rows.of(owner)
    if not rows.fit():
        return False
    for depth in range(rows.depth):
        owner.text.open(f"for i{depth} in range({owner.bounds(depth)}):")
        owner.enter(depth)
    size = rows.prepare()
    rows.guard(size)
    rows.open(size)
    owner.text.close(1 + rows.depth)
    return True
