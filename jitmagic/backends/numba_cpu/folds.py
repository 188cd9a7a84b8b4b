"""Takes a kernel with folds, gives its loops as text, with NumPy's exact order of additions.

Pairwise summation as in NumPy's ``pairwise_sum`` (loops_utils.h): at most 128 elements in eight accumulators, larger
runs in two halves, the first a multiple of eight. The tree is walked with a stack; its upper levels are cut into parts
that threads may take, and ``combine`` adds up the parts. Where the order is free (``fastmath``) each tile is summed as
it is computed, and the sums of the tiles are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Fold, Kernel, Value
from jitmagic.backends.loops.schedule import Schedule
from jitmagic.backends.native.abi import Status
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.merging import finish, first, is_merged, merge_block, merge_parts, start_run
from jitmagic.backends.numba_cpu.short_rows import Rows
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.tiles import TILE_LIMIT, Tiles

__all__ = ["BLOCK", "combine_source", "combine_texts", "emit_folds", "is_loose", "loose_name"]

BLOCK = 128  # NumPy's PW_BLOCKSIZE
STACK_BYTES = 16 * 200  # of runs to come: the tree is at most 64 deep
ACCUMULATORS = 8


def emit_folds(owner: Any) -> None:
    """The loops of ``owner.kernel``, by the shape of its folds."""
    {"R": _whole, "KR": _rows, "RK": _columns, "KRK": _planes}[owner.kernel.shape](owner)


def _folds(owner: Any) -> list[Fold]:
    return [s for s in owner.kernel.body if isinstance(s, Fold)]


def is_loose(kernel: Kernel, fold: Fold) -> bool:
    """Whether it is a sum of floats that may be added up in any order."""
    return kernel.reassociates and not is_merged(fold)


def loose_name(kernel: Kernel, fold: Fold) -> str:
    """The variable that holds the sum of one tile."""
    return f"sum{[s for s in kernel.body if isinstance(s, Fold)].index(fold)}"


def _whole(owner: Any) -> None:
    """One number of the whole array: each turn of the outer loop sums one part of the tree."""
    text, folds = owner.text, _folds(owner)
    parts = f"{folds[0].access.operand}_n0"
    total = " * ".join(f"n{axis}" for axis in owner.nest.levels[0])
    tiles = _prepare(owner, 0, folds)
    tiles.slots()
    text.open("for part in range(lo, hi):")
    for line in (
        f"start, length, width, rank = 0, {total}, {parts}, part",
        "while width > 1:",
        "    half = length // 2",
        "    half -= half % 8",
        "    width //= 2",
        "    if rank >= width:",
        "        start, length, rank = start + half, length - half, rank - width",
        "    else:",
        "        length = half",
    ):
        text.add(line)
    _run(owner, tiles, folds)
    for k, fold in enumerate(folds):
        size = fold.value.dtype.itemsize
        text.add(f"store_{fold.value.dtype}({fold.access.operand}, part * {size}, sum{k}_value)")
    text.close()


def _rows(owner: Any) -> None:
    """One number of each row."""
    text, folds = owner.text, _folds(owner)
    if owner.kernel.short_rows and _short_rows(owner, folds):
        return
    tiles = _prepare(owner, 1, folds)
    text.open("for i0 in range(lo, hi):")
    owner.enter(0)
    tiles.slots()
    length = " * ".join(f"n{axis}" for axis in owner.nest.levels[1])
    text.add(f"start, length = 0, {length}")
    _run(owner, tiles, folds)
    _store_rows(owner, folds, length)
    text.close()


def _store_rows(owner: Any, folds: list[Fold], length: str) -> None:
    for k, fold in enumerate(folds):
        value = f"sum{k}_value"
        result = value if is_merged(fold) else _mean(_from_zero(value, fold.value.dtype), length, fold)
        owner.text.add(f"store_{fold.value.dtype}({owner.pointer(fold.access, 1)}, 0, {result})")


def _short_rows(owner: Any, folds: list[Fold]) -> bool:
    """One number of each row, of many rows in one tile: the tree of each has one block."""
    text, rows = owner.text, Rows.of(owner)
    if not rows.fit():
        return False
    size = rows.prepare([fold.value for fold in folds])
    rows.guard(min(size, BLOCK))
    rows.open(size)
    text.add("count = length")
    text.open("for i0 in range(begin, end):")
    owner.enter(0)
    for k, fold in enumerate(folds):
        buffer, name = rows.part(fold.value), f"sum{k}"
        if is_merged(fold):
            start_run(text, fold, name)
            merge_block(text, fold, buffer, name)
            finish(text, fold, name)
        else:
            _block_sum(text, buffer, fold.value, f"{name}_value")
    _store_rows(owner, folds, "length")
    text.close(2)
    return True


def _columns(owner: Any) -> None:
    """One number of each column: rows are added one after the other, a tile of columns at a time."""
    tiles = Tiles(owner, 1)
    tiles.plan()
    _plane(owner, tiles, tiles.prepare(TILE_LIMIT), "lo", "hi")


def _planes(owner: Any) -> None:
    """As columns, for each turn of an outer loop."""
    text = owner.text
    tiles = Tiles(owner, 2)
    tiles.plan()
    size = tiles.prepare(TILE_LIMIT)
    text.open("for i0 in range(lo, hi):")
    owner.enter(0)
    _plane(owner, tiles, size, "0", " * ".join(f"n{axis}" for axis in owner.nest.levels[2]))
    text.close()


def _plane(owner: Any, tiles: Tiles, size: int, lo: str, hi: str) -> None:
    text, folds, depth = owner.text, _folds(owner), tiles.depth - 1
    text.open(f"for tile in range({lo}, {hi}, {size}):")
    text.add(f"count = min({size}, {hi} - tile)")
    for fold in folds:
        dtype = fold.value.dtype
        start = first(fold) if is_merged(fold) else typed("0.0", dtype)
        text.open("for j in range(count):")
        text.add(f"store_{dtype}({_place(owner, fold, depth)}, {start})")
        text.close()
    rows = " * ".join(f"n{axis}" for axis in owner.nest.levels[depth])
    text.open(f"for i{depth} in range({rows}):")
    owner.enter(depth)
    tiles.slots()
    tiles.block()
    text.close()
    for fold in folds:
        if fold.kind == "mean":
            dtype, place = fold.value.dtype, _place(owner, fold, depth)
            text.open("for j in range(count):")
            text.add(f"store_{dtype}({place}, {_mean(f'load_{dtype}({place})', rows, fold)})")
            text.close()
    text.close()


def _place(owner: Any, fold: Fold, depth: int) -> str:
    return f"{owner.pointer(fold.access, depth)}, (tile + j) * {owner.stride(fold.access, depth + 1)}"


def _from_zero(total: str, dtype: np.dtype[Any]) -> str:
    """NumPy adds the pairwise sum to a result that starts as 0.0: a sum of negative zeros is positive."""
    return typed(f"{total} + {typed('0.0', dtype)}", dtype) if dtype.kind == "f" else total


def _mean(total: str, count: str, fold: Fold) -> str:
    """NumPy divides by the count in float64, whatever the dtype."""
    return typed(f"({total}) / np.float64({count})", fold.value.dtype) if fold.kind == "mean" else total


def _prepare(owner: Any, depth: int, folds: list[Fold]) -> Tiles:
    """Buffers of one block for everything that the stages hand on, and for what is summed."""
    tiles = Tiles(owner, depth)
    tiles.plan()
    kept = [fold.value for fold in folds if not is_loose(owner.kernel, fold)]
    in_order = [k for k, fold in enumerate(folds) if not (is_merged(fold) or owner.kernel.reassociates)]
    tiles.size = tiles.prepare(BLOCK if in_order else TILE_LIMIT, kept)
    if in_order:
        owner.text.add(f"runs = stack({STACK_BYTES})")
    for k in in_order:
        owner.text.add(f"sums{k} = stack({STACK_BYTES})")
    return tiles


def _run(owner: Any, tiles: Tiles, folds: list[Fold]) -> None:
    """Fold the run ``start, length`` into ``sum0_value``, ``sum1_value``, ..."""
    text = owner.text
    merged = {k: fold for k, fold in enumerate(folds) if is_merged(fold)}
    for k, fold in merged.items():
        start_run(text, fold, f"sum{k}")
    if len(merged) == len(folds) or owner.kernel.reassociates:
        _tiles(text, tiles, folds, merged)
    else:
        _tree(text, tiles, folds)
    for k, fold in merged.items():
        finish(text, fold, f"sum{k}")


def _tiles(text: Text, tiles: Tiles, folds: list[Fold], merged: dict[int, Fold]) -> None:
    """Fold tile by tile. What is summed in any order is added up while a tile is computed."""
    loose = {k: fold for k, fold in enumerate(folds) if k not in merged}
    zeros = {k: typed("0.0", fold.value.dtype) for k, fold in loose.items()}
    for k, zero in zeros.items():
        text.add(f"sum{k}_value = {zero}")
    text.open(f"for tile in range(start, start + length, {tiles.size}):")
    text.add(f"count = min({tiles.size}, start + length - tile)")
    for k, zero in zeros.items():
        text.add(f"sum{k} = {zero}")
    tiles.block()
    for k, fold in merged.items():
        merge_block(text, fold, tiles.buffers[fold.value], f"sum{k}")
    for k, fold in loose.items():
        text.add(f"sum{k}_value = {typed(f'sum{k}_value + sum{k}', fold.value.dtype)}")
    text.close()


def _tree(text: Text, tiles: Tiles, folds: list[Fold]) -> None:
    """Sum floats pairwise: ``runs`` holds runs to come; -1 means add two. What is merged goes along."""
    in_order = {k: fold for k, fold in enumerate(folds) if not is_merged(fold)}
    for line in (
        "store_int64(runs, 0, start)",
        "store_int64(runs, 8, length)",
        "top, done = 16, 0",
        "while top > 0:",
        "    top -= 16",
        "    tile = load_int64(runs, top)",
        "    count = load_int64(runs, top + 8)",
        "    if count < 0:",
        "        done -= 8",
    ):
        text.add(line)
    text.indent += 2
    for k, fold in in_order.items():
        left, right = (f"load_{fold.value.dtype}(sums{k}, done - {n})" for n in (8, 0))
        text.add(f"store_{fold.value.dtype}(sums{k}, done - 8, {typed(f'{left} + {right}', fold.value.dtype)})")
    text.indent -= 1
    for line in (
        f"elif count > {BLOCK}:",
        "    half = count // 2",
        "    half -= half % 8",
        "    store_int64(runs, top + 8, -1)",
        "    store_int64(runs, top + 16, tile + half)",
        "    store_int64(runs, top + 24, count - half)",
        "    store_int64(runs, top + 32, tile)",
        "    store_int64(runs, top + 40, half)",
        "    top += 48",
    ):
        text.add(line)
    text.open("else:")
    tiles.block()
    for k, fold in enumerate(folds):
        buffer = tiles.buffers[fold.value]
        if k in in_order:
            _block_sum(text, buffer, fold.value, f"sum{k}")
            text.add(f"store_{fold.value.dtype}(sums{k}, done, sum{k})")
        else:
            merge_block(text, fold, buffer, f"sum{k}")
    text.add("done += 8")
    text.close(2)
    for k, fold in in_order.items():
        text.add(f"sum{k}_value = load_{fold.value.dtype}(sums{k}, 0)")


def _block_sum(text: Text, buffer: str, value: Value, name: str) -> None:
    """The sum of ``count`` floats of a buffer, at most ``BLOCK``."""
    dtype = value.dtype

    def element(index: str) -> str:
        return f"load_{dtype}({buffer}, ({index}) * {dtype.itemsize})"

    zero = "-0.0" if dtype == np.float64 else f"np.{dtype}(-0.0)"
    sums = [f"r{k}" for k in range(ACCUMULATORS)]
    text.add(f"{name}, first = {zero}, 0")
    text.open(f"if count >= {ACCUMULATORS}:")
    text.add(f"{', '.join(sums)} = {', '.join(element(str(k)) for k in range(ACCUMULATORS))}")
    text.add("first = count - count % 8")
    text.open("for j in range(8, first, 8):")
    for k, partial in enumerate(sums):
        text.add(f"{partial} += {element(f'j + {k}')}")
    text.close()
    text.add(f"{name} = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))")
    text.close()
    text.open("for j in range(first, count):")
    text.add(f"{name} += {element('j')}")
    text.close()


def combine_source(kind: str, dtype: np.dtype[Any]) -> str:
    """A kernel that joins the parts of a run, in place; means of floats are divided by ``divisor``.

    Only they have the division. That by 0 sets a flag, and the call is left to NumPy, which warns.
    """
    head = ["def kernel(args, lo, hi):", "    a, width, divisor = arg(args, 0), arg(args, 1), arg(args, 3)"]
    if dtype.kind != "f" or kind in ("max", "min"):
        body = [*merge_parts(kind, dtype), "if bad != 0:", f"    return {Status.VALUE_ERROR.name}"]
        return "\n".join([*head, *(f"    {line}" for line in body), "    return OK", ""])
    pair = typed(f"load_{dtype}(a, 2 * j * {dtype.itemsize}) + load_{dtype}(a, (2 * j + 1) * {dtype.itemsize})", dtype)
    quotient = typed(f"load_{dtype}(a, 0) / np.float64(divisor)", dtype)
    lines = [
        *head,
        "    while width > 1:",
        "        width //= 2",
        "        for j in range(width):",
        f"            store_{dtype}(a, j * {dtype.itemsize}, {pair})",
        f"    store_{dtype}(a, 0, {_from_zero(f'load_{dtype}(a, 0)', dtype)})",
    ]
    if kind == "mean":
        lines.append(f"    store_{dtype}(a, 0, {quotient})")
    return "\n".join([*lines, "    return OK", ""])


def combine_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels that join parts, which the host program needs as well."""
    folds = (s for step in plan.launches if step.built.kernel.shape == "R" for s in step.built.kernel.body)
    return [combine_source(fold.kind, fold.value.dtype) for fold in folds if isinstance(fold, Fold)]
