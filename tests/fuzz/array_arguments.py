"""Takes a seed and the number of a call, gives two arrays and a number: every dtype, layout, size and alias."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["DTYPES", "make_arguments"]

_FLOATS = ("float64", "float64", "float64", "float32", "float32", "float16", "complex128", "complex64")
_WHOLE = ("int64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
DTYPES = _FLOATS + _WHOLE
RARE = ("datetime64[D]", "timedelta64[s]", "U3", "S2", "object", ">f8", ">i4", "longdouble", "V4")
FLAT = ((3,), (3,), (4,), (1,), (0,), (20,), ())
SHAPES = (*FLAT, (2, 3), (2, 3), (3, 3), (1, 3), (3, 1), (2, 1, 3), (2, 2, 2), (1, 1), (0, 3), (3, 0))
PLAIN = ("C", "C", "C", "C", "F", "F")
LAYOUTS = (*PLAIN, "reversed", "stepped", "readonly", "unaligned", "inner", "broadcast", "transposed")
NUMBERS = (0, 1, 2, 3, 5, -1, 7, 100)
REALS = (0.0, -0.0, 0.5, 1.0, -1.5, 3.25, float("nan"), float("inf"), 1e300, 1e-310, 2.0, -0.1)


def make_arguments(seed: int, call: int) -> list[Any]:
    """Arguments of one call: 0 and 1 differ in values only, from 2 on dtypes, sizes and layouts differ too."""
    plan = random.Random(f"plan {seed} {0 if call < 2 else call}")
    values = random.Random(f"values {seed} {call}")
    shape = plan.choice(SHAPES)
    dtype = plan.choice(RARE) if plan.random() < 0.12 else plan.choice(DTYPES)
    other = dtype if plan.random() < 0.5 else plan.choice(DTYPES)
    wild = plan.random() < 0.4
    a = _array(values, dtype, shape, plan.choice(LAYOUTS), wild)
    b = _array(values, other, shape if plan.random() < 0.6 else plan.choice(SHAPES), plan.choice(LAYOUTS), wild)
    draw = plan.random()
    if draw < 0.06:
        b = a
    elif draw < 0.12 and a.ndim:
        b = a[::-1]
    elif draw < 0.15:
        b = a.T
    elif draw < 0.18 and a.ndim:
        b = a[:1]
    odd: tuple[Any, ...] = (2.5, True, np.float32(1.5), np.int8(100))
    k = values.choice((0, 1, 2, 3)) if plan.random() < 0.7 else plan.choice(odd)
    return [a, b, k]


def _array(source: random.Random, dtype: str, shape: tuple[int, ...], layout: str, wild: bool) -> Any:
    count = int(np.prod(shape))
    array = _filled(source, np.dtype(dtype), count, wild).reshape(shape)
    return _LAYOUTS[layout](array)


def _filled(source: random.Random, dtype: np.dtype[Any], count: int, wild: bool) -> Any:
    made = np.zeros(count, dtype)
    for i in range(count):
        made[i] = _element(source, dtype, wild)
    return made


def _element(source: random.Random, dtype: np.dtype[Any], wild: bool) -> Any:
    kind = dtype.kind
    number = source.choice(NUMBERS if wild else NUMBERS[:5])
    if kind == "f":
        real = source.choice(REALS if wild else REALS[:6])
        return real if dtype.itemsize >= 8 or not np.isfinite(real) or abs(real) < 1e3 else 6e4
    if kind == "c":
        return complex(source.choice(REALS[:8] if wild else REALS[:6]), number)
    if kind in "iu":
        info = np.iinfo(dtype)
        return source.choice((info.min, info.max)) if wild and source.random() < 0.2 else max(number, info.min)
    if kind == "m":
        return np.timedelta64(number, "s")
    if kind == "M":
        return np.datetime64(number, "D")
    texts = {"U": str(number), "S": str(number).encode(), "V": b"ab", "b": number > 1, "O": number}
    return texts[kind]


def _stepped(array: Any) -> Any:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def _inner(array: Any) -> Any:
    if not array.ndim:
        return array
    outer = np.zeros(tuple(n + 1 for n in array.shape), array.dtype)
    inner = outer[tuple(slice(1, None) for _ in array.shape)]
    inner[...] = array
    return inner


def _unaligned(array: Any) -> Any:
    if array.dtype.hasobject:
        return array
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    made = memory.view(array.dtype).reshape(array.shape) if array.size else array
    made[...] = array
    return made


def _readonly(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _reversed(array: Any) -> Any:
    return array[::-1].copy()[::-1] if array.ndim else array


def _broadcast(array: Any) -> Any:
    return np.broadcast_to(array[:1], array.shape) if array.ndim and array.shape[0] else array


_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "reversed": _reversed,
    "stepped": _stepped,
    "readonly": _readonly,
    "unaligned": _unaligned,
    "inner": _inner,
    "broadcast": _broadcast,
    "transposed": lambda x: x.T.copy().T if x.ndim else x,
}
