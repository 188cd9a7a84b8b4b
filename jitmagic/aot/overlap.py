"""Takes real arguments and which of them are written, gives the memory relations that the compiled code relies on.

Inputs that overlap with a written one are merged into one *synthetic base* (row A19), of bytes if their dtypes differ
(row A22); all others must stay apart. Both facts are guarded: ``AliasGuard``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from jitmagic.errors import Unsupported

__all__ = ["AliasGroup", "AliasGuard", "Window", "analyse_overlap", "overlaps"]

Array = np.ndarray[Any, Any]
BYTE = np.dtype(np.uint8)
EXACT_WORK = 1000  # steps of the exact solver before two arrays count as overlapping; each takes well under 1 us


@dataclass(frozen=True, slots=True)
class Window:
    """Argument ``input`` as a part of the base; offset and strides count elements of the base."""

    input: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class AliasGroup:
    """Arguments that lie in one stretch of ``length`` elements of ``dtype`` and must lie in it in just this way."""

    windows: tuple[Window, ...]
    length: int
    dtype: np.dtype[Any]

    @property
    def is_of_bytes(self) -> bool:
        """Whether the dtypes of the arguments differ."""
        return any(w.dtype != self.dtype for w in self.windows)

    def base(self, arguments: Sequence[Any]) -> Array:
        """The stretch as a one-dimensional read-only array."""
        first = next(w for w in self.windows if w.offset + _reach_below(w) == 0)
        array = arguments[first.input]
        flips = [slice(None, None, -1 if s < 0 else 1) for s in first.strides]
        corner = array[(*flips, Ellipsis)]  # with the ellipsis a view also where there are no axes
        if corner.dtype != self.dtype:
            corner = as_strided(corner, (1,), (corner.itemsize,)).view(self.dtype)
        return as_strided(corner, (self.length,), (self.dtype.itemsize,), writeable=False)

    def holds(self, arguments: Sequence[Any]) -> bool:
        arrays = [arguments[w.input] for w in self.windows]
        itemsize = self.dtype.itemsize
        origin = _address(arrays[0]) - self.windows[0].offset * itemsize
        return all(
            isinstance(a, np.ndarray)
            and a.dtype == w.dtype
            and a.shape == w.shape
            and a.strides == tuple(s * itemsize for s in w.strides)
            and _address(a) == origin + w.offset * itemsize
            for a, w in zip(arrays, self.windows, strict=True)
        )


@dataclass(frozen=True)
class AliasGuard:
    """What must be true of the arguments' memory for the compiled code to be right (row A23).

    * ``disjoint``: pairs of arguments that must not share memory;
    * ``fixed``: an argument and an array held by the code that must not share memory;
    * ``simple``: arguments in which no element lies on another (``as_strided`` can make such);
    * ``groups``: arguments that must overlap in the same way as they did;
    * ``separate``: pairs of arguments of which no part may lie between the parts of the other.
    """

    disjoint: tuple[tuple[int, int], ...] = ()
    fixed: tuple[tuple[int, Array], ...] = ()
    simple: tuple[int, ...] = ()
    groups: tuple[AliasGroup, ...] = ()
    separate: tuple[tuple[int, int], ...] = ()

    @cached_property
    def apart(self) -> tuple[int, ...]:
        """The arguments that ``disjoint`` and ``separate`` speak of."""
        return tuple(dict.fromkeys(i for pair in (*self.disjoint, *self.separate) for i in pair))

    def holds(self, arguments: Sequence[Any]) -> bool:
        if not have_own_memory([arguments[i] for i in self.apart]):
            for i, j in self.disjoint:  # loops: this runs at each call
                if overlaps(arguments[i], arguments[j]):
                    return False
            if any(np.may_share_memory(arguments[i], arguments[j]) for i, j in self.separate):
                return False
        for i, array in self.fixed:
            if overlaps(arguments[i], array):
                return False
        if not all([arguments[i].flags.forc or is_simple(arguments[i]) for i in self.simple]):
            return False
        return all(group.holds(arguments) for group in self.groups) if self.groups else True

    def __bool__(self) -> bool:
        return bool(self.disjoint or self.fixed or self.simple or self.groups)


def analyse_overlap(
    arguments: Sequence[Any],
    written: Iterable[int],
    constants: Sequence[Array] = (),
    names: Sequence[str] = (),
    close: Iterable[tuple[int, int]] = (),
) -> AliasGuard:
    """The relations among ``arguments`` when those at the positions ``written`` are changed.

    ``names`` are those of the arguments, for messages; pairs in ``close`` count as overlapping if their extents do.
    Raises Unsupported("aliased-inputs") if they overlap in a way that one base cannot express.
    """
    changed = sorted(set(written))
    names = names or [f"argument {i}" for i in range(len(arguments))]
    arrays = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    pairs = sorted({(min(i, j), max(i, j)) for i in changed for j in arrays if i != j})
    near = {(min(i, j), max(i, j)) for i, j in close if i in arrays and j in arrays}
    meet = {pair: np.may_share_memory if pair in near else overlaps for pair in pairs}
    touching = [(i, j) for i, j in pairs if meet[i, j](arguments[i], arguments[j])]
    for i in changed:
        if not is_simple(arguments[i]):
            raise Unsupported("aliased-inputs", f"the elements of {names[i]}")
        if any(overlaps(arguments[i], c) for c in constants):
            raise Unsupported("aliased-inputs", f"{names[i]} and an array held by the code")
    return AliasGuard(
        tuple(pair for pair in pairs if pair not in touching),
        tuple((i, c) for i in changed for c in constants),
        tuple(changed),
        tuple(_group(arguments, members, names) for members in _components(touching)),
        tuple(sorted(near.difference(touching))),
    )


def overlaps(a: Array, b: Array) -> bool:
    """Whether the arrays share an element; True where that is too hard to tell."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=EXACT_WORK)  # type: ignore[arg-type]  # any number of steps is allowed
    except np.exceptions.TooHardError:
        return True


def have_own_memory(arrays: Sequence[Any]) -> bool:
    """True if each lies in memory that another array object owns: then no two overlap, however many there are."""
    # this runs at each call, over every parameter of a network and the state of its optimizer
    owners = [array if (base := array.base) is None else base for array in arrays]
    if len({*map(id, owners)}) != len(owners) or not {*map(type, owners)} <= {np.ndarray}:
        return False
    return all([owner.flags.owndata for owner in owners])


def is_simple(array: Array) -> bool:
    """True if no two elements of ``array`` surely share memory: each axis steps over all faster ones."""
    if array.flags.forc or not array.size:
        return True
    reach = array.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += stride * (n - 1)
    return True


def _components(pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The connected sets of arguments, each in order."""
    groups: list[set[int]] = []
    for pair in pairs:
        joined = [g for g in groups if g & set(pair)]
        groups = [g for g in groups if g not in joined] + [set(pair).union(*joined)]
    return sorted(sorted(g) for g in groups)


def _group(arguments: Sequence[Any], members: list[int], names: Sequence[str]) -> AliasGroup:
    arrays = [arguments[i] for i in members]
    low = min(int(byte_bounds(a)[0]) for a in arrays)
    high = max(int(byte_bounds(a)[1]) for a in arrays)
    dtype = arrays[0].dtype
    if any(a.dtype != dtype for a in arrays):
        dtype = BYTE
    if any(a.dtype.hasobject for a in arrays):
        raise Unsupported("aliased-inputs", f"{_list(members, names)}, which hold objects,")
    numbers = [_address(a) - low for a in arrays] + [s for a in arrays for s in a.strides]
    is_aligned = all(low % a.dtype.alignment == 0 and a.flags.aligned for a in arrays) or dtype is not BYTE
    if any(number % dtype.itemsize for number in numbers) or not is_aligned:
        raise Unsupported("aliased-inputs", f"{_list(members, names)}, whose elements start at different bytes,")
    size = dtype.itemsize
    windows = tuple(
        Window(i, (_address(a) - low) // size, a.shape, tuple(s // size for s in a.strides), a.dtype)
        for i, a in zip(members, arrays, strict=True)
    )
    return AliasGroup(windows, (high - low) // size, dtype)


def _reach_below(window: Window) -> int:
    return sum((n - 1) * s for n, s in zip(window.shape, window.strides, strict=True) if s < 0)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _list(members: Sequence[int], names: Sequence[str]) -> str:
    return " and ".join(names[i] for i in members)
