"""Takes the kind of a fold whose order does not matter, gives how its parts are merged, as text.

The largest of floats is found among integers that compare like them: so NaN wins, LLVM vectorises, and no flag is set.
Which of two zeros of different sign NumPy gives depends on its vectors: where that would show, the kernel gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Fold
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.text import Text

__all__ = [
    "columns_merge",
    "finish",
    "first",
    "is_merged",
    "key_of",
    "least_and_greatest",
    "merge_block",
    "merge_parts",
    "needs_signs",
    "start_run",
]

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Merge:
    """``start`` is what changes nothing, ``step`` merges two values; both are text, of a dtype."""

    start: Callable[[DType], str]
    step: Callable[[str, str, DType], str]


def _least(dtype: DType) -> str:
    return "-math.inf" if dtype == np.float64 else typed("-math.inf" if dtype.kind == "f" else _int(dtype, 0), dtype)


def _greatest(dtype: DType) -> str:
    return "math.inf" if dtype == np.float64 else typed("math.inf" if dtype.kind == "f" else _int(dtype, 1), dtype)


def _int(dtype: DType, end: int) -> str:
    info = np.iinfo(dtype)
    return str(int((info.min, info.max)[end]))


def _larger(a: str, b: str, dtype: DType) -> str:
    """``a`` is what was found so far; NaN stays, and replaces all else."""
    test = f"less_{dtype}({a}, {b}) | ({b} != {b})" if dtype.kind == "f" else f"{a} < {b}"
    return typed(f"select({test}, {b}, {a})", dtype)


def _smaller(a: str, b: str, dtype: DType) -> str:
    test = f"less_{dtype}({b}, {a}) | ({b} != {b})" if dtype.kind == "f" else f"{b} < {a}"
    return typed(f"select({test}, {b}, {a})", dtype)


MERGES = {
    "max": Merge(_least, _larger),
    "min": Merge(_greatest, _smaller),
    "any": Merge(lambda d: "False", lambda a, b, d: f"bool({a} | {b})"),
    "all": Merge(lambda d: "True", lambda a, b, d: f"bool({a} & {b})"),
    "sum": Merge(lambda d: typed("0", d), lambda a, b, d: typed(f"{a} + {b}", d)),
    "prod": Merge(lambda d: typed("1", d), lambda a, b, d: typed(f"{a} * {b}", d)),
}


def is_merged(fold: Fold) -> bool:
    """Whether parts may be merged in any order: sums of floats may not."""
    return fold.kind in ("max", "min", "any", "all") or fold.value.dtype.kind != "f"


def needs_signs(fold: Fold) -> bool:
    """Whether zeros of both signs leave it open what NumPy gives."""
    return fold.kind in ("max", "min") and fold.value.dtype.kind == "f"


def first(fold: Fold) -> str:
    """What a fold in memory starts with."""
    return MERGES[fold.kind].start(fold.value.dtype)


def columns_merge(fold: Fold, place: str) -> list[str]:
    """Merge the value of this element into the result in memory."""
    dtype, value = fold.value.dtype, str(fold.value)
    lines = [f"old = load_{dtype}({place})"]
    if needs_signs(fold):
        lines.append(_differ("old", value, dtype))
    return [*lines, f"store_{dtype}({place}, {MERGES[fold.kind].step('old', value, dtype)})"]


def _differ(a: str, b: str, dtype: DType) -> str:
    return f"bad |= select(({a} == {b}) & ({dtype}_to_bits({a}) != {dtype}_to_bits({b})), 1, 0)"


# ------------------------------------------------------------ runs along memory


def start_run(text: Text, fold: Fold, name: str) -> None:
    """Before the first block of a run: ``name`` holds the state."""
    dtype = fold.value.dtype
    if needs_signs(fold):
        text.add(f"{name}, {name}_zeros = {_key_end(fold.kind == 'min', dtype)}, 0")
    elif dtype.kind == "b":
        text.add(f"{name} = {int(fold.kind in ('all', 'min'))}")
    else:
        text.add(f"{name} = {first(fold)}")


def merge_block(text: Text, fold: Fold, buffer: str, name: str) -> None:
    """Merge ``count`` elements of a buffer into the state."""
    dtype = fold.value.dtype
    text.open("for j in range(count):")
    text.add(f"x = load_{dtype}({buffer}, j * {dtype.itemsize})")
    if needs_signs(fold):
        other = -1 if fold.kind == "max" else 0
        text.add(f"key = {dtype}_to_bits(x)")
        text.add(f"key = {_turned('key', dtype)}")
        text.add(f"key = select(x == x, key, {_key_end(fold.kind == 'max', dtype)})")
        text.add(f"{name}_zeros |= select(key == {other}, 1, 0)")
        test = f"{name} < key" if fold.kind == "max" else f"key < {name}"
        text.add(f"{name} = select({test}, key, {name})")
    elif dtype.kind == "b":
        text.add(f"{name} {'|' if fold.kind in ('any', 'max') else '&'}= select(x, 1, 0)")
    else:
        text.add(f"{name} = {MERGES[fold.kind].step(name, 'x', dtype)}")
    text.close()


def finish(text: Text, fold: Fold, name: str) -> None:
    """After the last block: the state becomes the value."""
    dtype = fold.value.dtype
    if needs_signs(fold):
        zero = 0 if fold.kind == "max" else -1
        text.add(f"bad |= select({name} == {zero}, {name}_zeros, 0)")
        text.add(f"{name}_value = bits_to_{dtype}({_turned(name, dtype)})")
    else:
        text.add(f"{name}_value = {name} != 0" if dtype.kind == "b" else f"{name}_value = {name}")


def merge_parts(fold_kind: str, dtype: DType) -> list[str]:
    """Merge ``width`` values of the array ``a`` into its first."""
    lines = [f"value = load_{dtype}(a, 0)", "bad = 0", "for j in range(1, width):"]
    lines.append(f"    x = load_{dtype}(a, j * {dtype.itemsize})")
    if fold_kind in ("max", "min") and dtype.kind == "f":
        lines.append(f"    {_differ('value', 'x', dtype)}")
    lines.append(f"    value = {MERGES[fold_kind].step('value', 'x', dtype)}")
    return [*lines, f"store_{dtype}(a, 0, value)"]


def key_of(bits: str, dtype: DType) -> str:
    """The integer that compares like the float with these bits."""
    return _turned(bits, dtype)


def least_and_greatest(dtype: DType) -> tuple[str, str, str, str]:
    """The least and the greatest key, and those of the infinities: what lies outside of them is NaN."""
    word = np.dtype(np.int64 if dtype == np.float64 else np.int32)
    above = int(np.array(np.inf, dtype).view(word))
    return _key_end(False, dtype), _key_end(True, dtype), typed(str(-above - 1), word), typed(str(above), word)


def _turned(key: str, dtype: DType) -> str:
    """Between the bits of a float and an integer that compares like it, both ways."""
    if dtype == np.float64:
        return f"{key} ^ (({key} >> 63) & {2**63 - 1})"
    return f"np.int32({key} ^ (({key} >> 31) & {2**31 - 1}))"


def _key_end(greatest: bool, dtype: DType) -> str:
    word = np.dtype(np.int64) if dtype == np.float64 else np.dtype(np.int32)
    return f"np.{word}({_int(word, int(greatest))})"
