"""Takes a call of a row, compares what its rules give with central differences along random directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops import Op
from jitmagic.ops.gradients import as_called, by_position, cotangents
from jitmagic.ops.quiet import Quiet

STEP = 1e-6
TOLERANCE = 1e-5
Array = np.ndarray[Any, Any]


def is_real(x: Any) -> bool:
    """Whether ``x`` is an array, a scalar or a list of arrays of real or complex numbers."""
    if isinstance(x, list | tuple):
        return bool(x) and all(isinstance(v, np.ndarray) and is_real(v) for v in x)
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc"


def result_of(row: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the rules call ``ans``: the result, or the new value of the operand that is written."""
    args, kwargs = as_called(row, args, kwargs)
    with Quiet():
        if row.writes:
            target = args[0].copy() if isinstance(args[0], np.ndarray) else args[0]
            result = row.call(target, *args[1:], **kwargs)
            return target if isinstance(target, np.ndarray) else result
        return row.call(*args, **kwargs)


def is_coarse(value: Any) -> bool:
    """Whether an array in ``value`` has single precision, so that small steps drown in rounding."""
    if isinstance(value, list | tuple):
        return any(map(is_coarse, value))
    return isinstance(value, np.ndarray | np.generic) and value.dtype in (np.float16, np.float32, np.complex64)


def over(value: Any, change: Callable[[Any], Any]) -> Any:
    """``change`` applied to an array, or to each array of a list."""
    return type(value)(change(v) for v in value) if type(value) in (list, tuple) else change(value)


def entries(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def random_like(rng: Any, x: Any) -> Any:
    found = rng.standard_normal(np.shape(x))
    if x.dtype.kind == "c":
        found = found + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(found).astype(x.dtype)


def pairing(g: Any, x: Any) -> float:
    """``Re(sum(g * x))``: what the cotangent ``g`` says of the change ``x``."""
    return float(sum(np.real(np.sum(a * b)) for a, b in zip(entries(g), entries(x), strict=True) if a is not None))


def cotangents_of_result(rng: Any, ans: Any) -> Any:
    if isinstance(ans, list | tuple):
        return tuple(random_like(rng, a) if is_real(a) else None for a in ans)
    return random_like(rng, ans)


def disagreements(row: Op, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int = 0) -> list[str]:
    """Every operand whose cotangent is not that of the differences, or has another shape or dtype.

    An operand without a rule must not matter.
    """
    rng = np.random.default_rng(seed)
    args, kwargs = by_position(row, args, kwargs)
    ans = result_of(row, args, kwargs)
    if not any(is_real(a) for a in entries(ans)):
        return []
    g = cotangents_of_result(rng, ans)
    places = [i for i, a in enumerate(args) if is_real(a)]
    with np.errstate(all="ignore"):
        found = dict(cotangents(row, places, g, ans, args, kwargs))
    wrong = []
    for place in places:
        ct = found.get(place, over(args[place], np.zeros_like))
        wrong += [f"operand {place}: {text}" for text in differs(row, place, ct, g, args, kwargs, rng)]
    return wrong


def differs(row: Op, place: int, ct: Any, g: Any, args: Any, kwargs: Any, rng: Any) -> list[str]:
    x = args[place]
    for c, v in zip(entries(ct), entries(x), strict=True):
        if np.shape(c) != np.shape(v) or c.dtype != v.dtype:
            return [f"cotangent {np.shape(c)} {c.dtype} of an operand {np.shape(v)} {v.dtype}"]
    wrong = []
    step, tolerance = (1e-2, 2e-2) if is_coarse((args, g)) else (STEP, TOLERANCE)
    for _ in range(3):
        direction = over(x, lambda v: random_like(rng, v))

        def moved(size: float, direction: Any = direction) -> Any:
            pairs = zip(entries(x), entries(direction), strict=True)
            shifted = [np.asarray(v + size * d, v.dtype)[()] for v, d in pairs]
            new = type(x)(shifted) if type(x) in (list, tuple) else shifted[0]
            return result_of(row, (*args[:place], new, *args[place + 1 :]), kwargs)

        expected = (pairing(g, moved(step)) - pairing(g, moved(-step))) / (2 * step)
        told = pairing(ct, direction)
        if not abs(expected - told) <= tolerance * max(1, abs(expected)):
            wrong.append(f"{told}, differences give {expected}")
    return wrong
