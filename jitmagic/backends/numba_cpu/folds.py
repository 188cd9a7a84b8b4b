"""Takes a kernel with folds, gives its loops as text, with NumPy's exact order of additions.

Pairwise summation as in NumPy's ``pairwise_sum`` (loops_utils.h): at most 128 elements in eight accumulators, larger
runs in two halves, the first a multiple of eight. The tree is walked with a stack; its upper levels are cut into parts
that threads may take, and ``combine`` adds up the parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Fold, Value
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.tiles import TILE_LIMIT, Tiles

__all__ = ["BLOCK", "combine_source", "emit_folds"]

BLOCK = 128  # NumPy's PW_BLOCKSIZE
STACK_BYTES = 16 * 200  # of runs to come: the tree is at most 64 deep
ACCUMULATORS = 8


def emit_folds(owner: Any) -> None:
    """The loops of ``owner.kernel``, by the shape of its folds."""
    {"R": _whole, "KR": _rows, "RK": _columns}[owner.kernel.shape](owner)


def _folds(owner: Any) -> list[Fold]:
    return [s for s in owner.kernel.body if isinstance(s, Fold)]


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
    _tree(text, tiles, folds)
    for k, fold in enumerate(folds):
        size = fold.value.dtype.itemsize
        text.add(f"store_{fold.value.dtype}({fold.access.operand}, part * {size}, sum{k})")
    text.close()


def _rows(owner: Any) -> None:
    """One number of each row."""
    text, folds = owner.text, _folds(owner)
    tiles = _prepare(owner, 1, folds)
    text.open("for i0 in range(lo, hi):")
    for access, name in owner.names.items():
        stride = owner.stride(access, 0)
        if stride != "0":
            text.add(f"{name}_1 = {name} + i0 * {stride}")
    owner.outer_values(1)
    tiles.slots()
    length = " * ".join(f"n{axis}" for axis in owner.nest.levels[1])
    text.add(f"start, length = 0, {length}")
    _tree(text, tiles, folds)
    for k, fold in enumerate(folds):
        result = _mean(_from_zero(f"sum{k}", fold.value.dtype), length, fold)
        text.add(f"store_{fold.value.dtype}({owner.pointer(fold.access, 1)}, 0, {result})")
    text.close()


def _columns(owner: Any) -> None:
    """One number of each column: rows are added one after the other, a tile of columns at a time."""
    text, folds = owner.text, _folds(owner)
    tiles = Tiles(owner, 1)
    tiles.plan()
    size = tiles.prepare(TILE_LIMIT)
    text.open(f"for tile in range(lo, hi, {size}):")
    text.add(f"count = min({size}, hi - tile)")
    for fold in folds:
        dtype = fold.value.dtype
        zero = typed("0.0" if dtype.kind == "f" else "0", dtype)
        text.open("for j in range(count):")
        text.add(f"store_{dtype}({_place(owner, fold)}, {zero})")
        text.close()
    rows = " * ".join(f"n{axis}" for axis in owner.nest.levels[0])
    text.open(f"for i0 in range({rows}):")
    for access, name in owner.names.items():
        stride = owner.stride(access, 0)
        if stride != "0":
            text.add(f"{name}_1 = {name} + i0 * {stride}")
    owner.outer_values(1)
    tiles.slots()
    tiles.block()
    text.close()
    for fold in folds:
        if fold.kind == "mean":
            dtype, place = fold.value.dtype, _place(owner, fold)
            text.open("for j in range(count):")
            text.add(f"store_{dtype}({place}, {_mean(f'load_{dtype}({place})', rows, fold)})")
            text.close()
    text.close()


def _place(owner: Any, fold: Fold) -> str:
    return f"{owner.names[fold.access]}, (tile + j) * {owner.stride(fold.access, 1)}"


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
    tiles.prepare(BLOCK, [fold.value for fold in folds])
    owner.text.add(f"runs = stack({STACK_BYTES})")
    for k, _ in enumerate(folds):
        owner.text.add(f"sums{k} = stack({STACK_BYTES})")
    return tiles


def _tree(text: Text, tiles: Tiles, folds: list[Fold]) -> None:
    """Sum the run ``start, length`` into ``sum0``, ``sum1``, ...: ``runs`` holds runs to come; -1 means add two."""
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
    for k, fold in enumerate(folds):
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
        _block_sum(text, tiles.buffers[fold.value], fold.value, f"sum{k}")
        text.add(f"store_{fold.value.dtype}(sums{k}, done, sum{k})")
    text.add("done += 8")
    text.close(2)
    for k, fold in enumerate(folds):
        text.add(f"sum{k} = load_{fold.value.dtype}(sums{k}, 0)")


def _block_sum(text: Text, buffer: str, value: Value, name: str) -> None:
    """The sum of ``count`` elements of a buffer, at most ``BLOCK``."""
    dtype = value.dtype
    if dtype.kind != "f":  # whole numbers: the order does not matter
        text.add(f"{name} = {typed('0', dtype)}")
        text.open("for j in range(count):")
        text.add(f"{name} = {typed(f'{name} + load_{dtype}({buffer}, j * {dtype.itemsize})', dtype)}")
        text.close()
        return

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


def combine_source(dtype: np.dtype[Any]) -> str:
    """A kernel that adds up the parts of a tree, in place, and divides by ``divisor`` unless that is 0."""
    pair = typed(f"load_{dtype}(a, 2 * j * {dtype.itemsize}) + load_{dtype}(a, (2 * j + 1) * {dtype.itemsize})", dtype)
    lines = [
        "def kernel(args, lo, hi):",
        "    a, width, divisor = arg(args, 0), arg(args, 1), arg(args, 3)",
        "    while width > 1:",
        "        width //= 2",
        "        for j in range(width):",
        f"            store_{dtype}(a, j * {dtype.itemsize}, {pair})",
    ]
    if dtype.kind == "f":
        quotient = typed(f"load_{dtype}(a, 0) / np.float64(divisor)", dtype)
        lines.append(f"    store_{dtype}(a, 0, {_from_zero(f'load_{dtype}(a, 0)', dtype)})")
        lines += ["    if divisor != 0:", f"        store_{dtype}(a, 0, {quotient})"]
    return "\n".join([*lines, "    return 0", ""])
