"""Takes a value, gives its description without its data: what the tracer and the backends know of it.

``ArrayMeta.standin()`` gives a NumPy array with this shape, strides, dtype and flags, but no data behind it: NumPy
itself then answers what a view of it looks like. Nothing may read or write its elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.shapes import Dim, SymInt, hint_of

__all__ = ["ArrayMeta", "Meta", "PyMeta", "layout_key"]

WRITEABLE = 0x0400  # NPY_ARRAY_WRITEABLE
Layout: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArrayMeta:
    """An ndarray, or a NumPy scalar when ``scalar`` is True (then the shape is ``()``).

    ``shape`` may hold symbolic sizes. ``strides`` are those of this trace, in bytes: guards hold on to the order,
    signs and contiguity that they show, not to the numbers. ``owns`` is False where NumPy gives a new array as a view
    of a copy that nobody sees (``flags.owndata``); of inputs and views it tells nothing.
    """

    dtype: np.dtype[Any]
    shape: tuple[Dim, ...] = ()
    strides: tuple[int, ...] = ()
    scalar: bool = False
    writeable: bool = True
    owns: bool = field(default=True, compare=False)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def hint_shape(self) -> tuple[int, ...]:
        """The sizes in this trace."""
        return tuple(hint_of(n) for n in self.shape)

    @property
    def size(self) -> Dim:
        total: Any = 1
        for n in self.shape:
            total = n * total
        return total  # type: ignore[no-any-return]  # a product of Dims is a Dim

    @property
    def is_symbolic(self) -> bool:
        return any(isinstance(n, SymInt) for n in self.shape)

    @property
    def is_counted(self) -> bool:
        """Whether only the data tell a size, which may be 0."""
        return any(s.run_time for n in self.shape if isinstance(n, SymInt) for s in symbols_of(n.poly))

    @property
    def contiguous(self) -> str:
        """ "C", "F", "CF" (both) or "" (neither), as NumPy's flags tell."""
        flags = self.standin().flags
        return ("C" if flags.c_contiguous else "") + ("F" if flags.f_contiguous else "")

    def standin(self) -> np.ndarray[Any, Any]:
        """An array that has this description and no data."""
        array = as_strided(np.zeros((), self.dtype), self.hint_shape, self.strides)
        if not self.writeable:
            array.flags.writeable = False
        return array

    def with_shape(self, shape: tuple[Dim, ...]) -> ArrayMeta:
        return replace(self, shape=shape)

    def owned_as(self, made: Any) -> ArrayMeta:
        """The same, as the view of a hidden copy if NumPy made ``made`` so."""
        return replace(self, owns=not isinstance(made, np.ndarray) or made.flags.owndata)

    def __str__(self) -> str:
        size = ", ".join(map(str, self.shape))
        return f"{self.dtype}" if self.scalar else f"{self.dtype}[{size}]"

    @classmethod
    def of(cls, value: Any, shape: tuple[Dim, ...] | None = None) -> ArrayMeta:
        """The description of a real array or NumPy scalar; ``shape`` puts symbols in place of sizes."""
        if isinstance(value, np.generic):
            return cls(value.dtype, scalar=True)
        return cls(
            value.dtype,
            value.shape if shape is None else shape,
            value.strides,
            writeable=bool(value.flags.num & WRITEABLE),  # asking for flags.writeable may warn
        )

    @classmethod
    def dense(cls, dtype: np.dtype[Any], shape: tuple[Dim, ...], order: str = "C") -> ArrayMeta:
        """A freshly allocated array, in C or Fortran order."""
        axes = range(len(shape) - 1, -1, -1) if order == "C" else range(len(shape))
        return cls.packed(dtype, shape, tuple(axes))

    @classmethod
    def packed(cls, dtype: np.dtype[Any], shape: tuple[Dim, ...], inner_first: tuple[int, ...]) -> ArrayMeta:
        """A freshly allocated array whose axes lie in memory in the given order, fastest first."""
        strides = [0] * len(shape)
        step = dtype.itemsize
        for axis in inner_first:
            strides[axis] = step
            step *= max(hint_of(shape[axis]), 1)
        return cls(dtype, shape, tuple(strides))


@dataclass(frozen=True, slots=True)
class PyMeta:
    """A Python number that is known only at run time; NumPy treats it as weak in promotion."""

    type: type

    def __str__(self) -> str:
        return f"py {self.type.__name__}"


Meta: TypeAlias = ArrayMeta | PyMeta


def layout_key(shape: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    """What NumPy's memory-order decisions depend on: the order of the axes by stride, signs and zeros.

    Axes of size 1 (and every axis of an empty array) count as not there. Two arrays with equal keys and equal
    contiguity flags give results of the same memory order.
    """
    if 0 in shape:
        return ()
    live = [axis for axis, n in enumerate(shape) if n != 1]
    order = sorted(live, key=lambda axis: (-abs(strides[axis]), axis))
    signs = [(strides[axis] > 0) - (strides[axis] < 0) for axis in live]
    return (*order, -2, *signs)
