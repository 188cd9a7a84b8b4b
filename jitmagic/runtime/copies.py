"""Takes the arguments of a call, gives deep copies in which arrays share memory exactly where the originals do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

__all__ = ["arrays_in", "copy_arguments"]

Array = np.ndarray[Any, Any]
_ALIGNMENT = 64


def arrays_in(value: Any) -> Iterator[Array]:
    """The arrays nested in tuples, lists and dicts, in order."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays_in(item)


def copy_arguments(arguments: Any) -> Any:
    """A deep copy with the same aliases, overlaps, strides and flags. Raises what ``copy.deepcopy`` raises."""
    memo: dict[int, Any] = {}
    blocks: dict[int, Array] = {}
    for array in arrays_in(arguments):
        if id(array) not in memo and type(array) is np.ndarray and not array.dtype.hasobject:
            memo[id(array)] = _copy(array, blocks)
    return copy.deepcopy(arguments, memo)


def _copy(array: Array, blocks: dict[int, Array]) -> Array:
    root = _root(array)
    low, high = byte_bounds(root)
    if id(root) not in blocks:
        blocks[id(root)] = _block(root, low, high)
    block = blocks[id(root)]
    start = array.__array_interface__["data"][0] - low
    made = np.ndarray(array.shape, array.dtype, block, start if array.size else 0, array.strides)
    made.flags.writeable = array.flags.writeable
    return made


def _root(array: Array) -> Array:
    """The array that owns the memory, or the last one that is known to lie in it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _block(root: Array, low: int, high: int) -> Array:
    """The bytes of ``root`` at the same alignment."""
    size = high - low
    raw = np.empty(size + 2 * _ALIGNMENT, np.uint8)
    shift = (low - raw.__array_interface__["data"][0]) % _ALIGNMENT
    block = raw[shift : shift + max(size, 1)]
    if root.size:
        strides = root.strides
        start = root.__array_interface__["data"][0] - low
        view: Array = np.ndarray(root.shape, root.dtype, block, start, strides)
        view[...] = root
    return block
