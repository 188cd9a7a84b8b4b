"""Takes a seed, gives a function that reads or writes parts of one array, and arrays to call it with.

Nothing else of the array is read: a kernel has only these parts to tell it how far apart the rows are.

Run as a program it looks at many seeds and prints those that differ from plain NumPy::

    python -m tests.fuzz.views FIRST LAST
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jitmagic as jm
from tests.loops.outcomes import define, outcome_on

__all__ = ["different", "view_program"]

_FORMS = (
    "return {part} * 2",
    "return {part} * 2 + {part}",
    "return ({part} ** 2).sum()",
    "return np.exp({part})",
    "return {part}.max(axis=-1)",
    "return np.sqrt(np.abs({part})).sum(axis=0) * 3",
    "t = {part}; return t - t.mean(), t > 0.5",
    "t = {part}; t *= 2; t += 1; return h * 1",
    "h = h * 0.5; t = {part}; t[...] = t * 3 + 1; return h",
)
_WHOLE = ("{}", "{}", "{}", "{}", "{}.T", "{}[None]", "np.flip({}, 0)", "{}[..., :-1]", "{}[..., 0]", "{}.reshape(-1)")


def view_program(seed: int) -> tuple[str, Iterator[np.ndarray]]:
    """The text of ``f(h)``, and three arrays: the third of another size, so that sizes become symbols."""
    choose = random.Random(seed)
    shape = tuple(choose.choice((1, 4, 5, 6, 7)) for _ in range(choose.choice((1, 2, 2, 3, 4))))
    slices = ", ".join(_slice(choose) for _ in range(choose.randint(1, len(shape))))
    part = choose.choice(_WHOLE).format(f"h[{slices}]")
    text = f"def f(h):\n    {choose.choice(_FORMS).format(part=part)}\n"
    dtype, layout = choose.choice(("f8", "f8", "f4", "i4", "i8")), choose.choice("CCFS")
    shapes = (shape, shape, tuple(size + 2 for size in shape))
    return text, (_array(np.random.default_rng(seed), s, dtype, layout) for s in shapes)


def _slice(choose: random.Random) -> str:
    if choose.random() < 0.25:
        return choose.choice((":", "::-1", "::2", "1::2"))
    return f"{choose.choice(('', '', '', '0', '1', '-3'))}:{choose.choice(('', '-1', '-1', '-2', '3'))}"


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, layout: str) -> np.ndarray:
    values = (rng.random(shape) * 9).astype(dtype)
    if layout == "S":
        return np.repeat(values, 2, axis=-1)[..., ::2]
    return np.array(values, order=layout)  # type: ignore[call-overload]  # layout is C or F


def different(seed: int) -> tuple[list[str], bool]:
    """The calls of this seed's program that show something else than plain NumPy does; whether no break was met."""
    text, arrays = view_program(seed)
    plain: Callable[..., Any] = define(text, f"views {seed}", np=np)
    compiled = jm.compile(define(text, f"views {seed}", np=np))
    found = []
    for array in arrays:
        expected = outcome_on(plain, [_copy(array)])
        if outcome_on(compiled, [_copy(array)]) != expected:
            found.append(f"seed {seed}, shape {array.shape}, strides {array.strides}, {array.dtype}\n{text}")
    return found, not compiled.jit.breaks()


def _copy(array: np.ndarray) -> np.ndarray:
    """With the same strides."""
    whole = array if array.base is None else array.base
    return whole.copy(order="K") if whole is array else whole.copy()[..., ::2]


if __name__ == "__main__":
    faults = [fault for seed in range(int(sys.argv[1]), int(sys.argv[2])) for fault in different(seed)[0]]
    print(*faults, f"{len(faults)} different", sep="\n")
    sys.exit(bool(faults))
