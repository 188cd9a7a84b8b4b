"""Takes the geometry of a convolution, gives the texts of kernels that write its columns, and that add them up.

NumPy starts anew for each place of the kernel and for each row of a picture, which is longer than it takes to copy 8
numbers. The kernels know all sizes but those of batch and channels, read and write the same elements, and add in the
same order. A convolution of one axis is that of pictures one row high.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.numba_cpu.planes import WORDS
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.ops.sliding import inside

__all__ = ["Geometry"]

SMALL_BYTES = 1 << 14  # of a plane with its padding: half of what the first cache holds, beside its columns


@dataclass(frozen=True, slots=True)
class Geometry:
    """Of one convolution, each a pair for rows and columns; ``padding`` is what lies before the first element."""

    dtype: np.dtype[Any]
    sizes: tuple[int, int]
    kernel: tuple[int, int]
    out: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @property
    def window(self) -> int:
        """How many elements of the columns one plane of the input makes."""
        return self.kernel[0] * self.kernel[1] * self.out[0] * self.out[1]

    def columns_text(self) -> str:
        """The kernel that writes columns; its range are the planes: channels of all samples, one after the other."""
        text = Text()
        self._begin(text)
        text.add("channels, apart, deep, down = arg(args, 2), arg(args, 5), arg(args, 6), arg(args, 7)")
        text.add("apart2, deep2, between = arg(args, 14), arg(args, 15), arg(args, 16)")
        if self.is_small:
            self._plane(text)
        text.open("for q in range(lo, hi):")
        text.add("n = q // channels")
        text.add("source = first + n * apart + (q - n * channels) * deep")
        text.add("target = second + n * apart2 + (q - n * channels) * deep2")
        if self.is_small:
            self._copy_plane(text)
        else:
            self._each_place(text, self._copy)
        text.close()
        text.add("return OK")
        return str(text)

    def spread_text(self) -> str:
        """The kernel that adds columns up, in the order of the places of the kernel; its range are the planes."""
        text, size = Text(), self.dtype.itemsize
        plane = self.sizes[0] * self.sizes[1]
        self._begin(text)
        text.add(f"between = {self.out[0] * self.out[1] * size}")
        text.open("for q in range(lo, hi):")
        text.add(f"source = second + q * {plane * size}")
        text.add(f"target = first + q * {self.window * size}")
        if self.is_small:
            self._add_up_plane(text)
        else:
            self._set_to_zero(text, "source", plane, "_out")
            self._each_place(text, self._add)
        text.close()
        text.add("return OK")
        return str(text)

    @property
    def _zero(self) -> str:
        return self._typed("0.0")

    def _typed(self, text: str) -> str:
        return text if self.dtype == np.float64 else f"np.{self.dtype}({text})"

    def _set_to_zero(self, text: Text, where: str, count: int, promise: str = "") -> None:
        text.open(f"for e in range({count}):")
        text.add(f"store_{self.dtype}{promise}({where}, e * {self.dtype.itemsize}, {self._zero})")
        text.close()

    def _begin(self, text: Text) -> None:
        text.open("def kernel(args, lo, hi):")
        text.add(f"first, second = arg(args, 0), arg(args, {WORDS})")

    def _each_place(self, text: Text, write: Callable[[Text, int], None]) -> None:
        """Loops over the places of the kernel; ``begin`` and ``end`` are the rows of a column that meet the picture."""
        (high, _), (rows, columns), (count, _) = self.sizes, self.kernel, self.out
        stride, padding, dilation = self.stride[0], self.padding[0], self.dilation[0]
        text.open(f"for di in range({rows}):")
        text.add(f"start = di * {dilation} - {padding}")
        text.add(f"begin = min(max(0, (-start + {stride - 1}) // {stride}), {count})")
        text.add(f"end = max(begin, min({count}, ({high - 1} - start) // {stride} + 1))")
        for place in range(columns):
            text.add(f"column = target + (di * {columns} + {place}) * between")
            write(text, place)
        text.close()

    # -- small planes: copied into the middle of one with its padding, where every place of the kernel meets whole rows

    @property
    def bordered(self) -> tuple[int, int]:
        """The sizes of a plane with its padding."""
        parts = zip(self.sizes, self.kernel, self.out, self.stride, self.padding, self.dilation, strict=True)
        high, wide = (max(n + p, (m - 1) * s + d * (k - 1) + 1) for n, k, m, s, p, d in parts)
        return high, wide

    @property
    def is_small(self) -> bool:
        return math.prod(self.bordered) * self.dtype.itemsize <= SMALL_BYTES

    def _plane(self, text: Text) -> None:
        """Memory for a plane with its padding, all 0."""
        count = math.prod(self.bordered)
        text.add(f"plane = stack({count * self.dtype.itemsize})")
        self._set_to_zero(text, "plane", count)

    def _inner(self, text: Text) -> tuple[str, str]:
        """Opens loops over the elements of the input; what is in the plane with padding, and without."""
        (high, wide), (above, before), size = self.sizes, self.padding, self.dtype.itemsize
        text.open(f"for i in range({high}):")
        text.open(f"for j in range({wide}):")
        return f"plane, ((i + {above}) * {self.bordered[1]} + j + {before}) * {size}", f"j * {size}"

    def _places(self, text: Text) -> tuple[str, str]:
        """Opens loops over the columns and their elements; where one is in the plane, and in the column."""
        (rows, columns), (count, across), size = self.kernel, self.out, self.dtype.itemsize
        wide = self.bordered[1]
        text.open(f"for di in range({rows}):")
        text.open(f"for dj in range({columns}):")
        text.add(f"column = target + (di * {columns} + dj) * between")
        text.add(f"begin = plane + (di * {self.dilation[0] * wide} + dj * {self.dilation[1]}) * {size}")
        text.open(f"for i in range({count}):")
        text.open(f"for j in range({across}):")
        where = f"begin, (i * {self.stride[0] * wide} + j * {self.stride[1]}) * {size}"
        return where, f"column, (i * {across} + j) * {size}"

    def _copy_plane(self, text: Text) -> None:
        whole, own = self._inner(text)
        text.add(f"store_{self.dtype}({whole}, load_{self.dtype}_in(source, i * down + {own}))")
        text.close(2)
        where, to = self._places(text)
        text.add(f"store_{self.dtype}_out({to}, load_{self.dtype}_in({where}))")
        text.close(4)

    def _add_up_plane(self, text: Text) -> None:
        self._plane(text)
        where, taken = self._places(text)
        total = self._typed(f"load_{self.dtype}({where}) + load_{self.dtype}_in({taken})")
        text.add(f"store_{self.dtype}({where}, {total})")
        text.close(4)
        whole, own = self._inner(text)
        to = f"source, i * {self.sizes[1] * self.dtype.itemsize} + {own}"
        text.add(f"store_{self.dtype}_out({to}, load_{self.dtype}({whole}))")
        text.close(2)

    # -- large ones: rows

    def _across(self, place: int) -> tuple[int, range]:
        """Where the first element of a row meets the picture, and which elements of a row do."""
        start = place * self.dilation[1] - self.padding[1]
        _, which = inside(start, self.stride[1], self.sizes[1], self.out[1])
        return start, range(self.out[1])[which]

    def _copy(self, text: Text, place: int) -> None:
        start, met = self._across(place)
        size, (count, across), (stride, step) = self.dtype.itemsize, self.out, self.stride
        for rows in ("range(begin)", f"range(end, {count})"):
            text.open(f"for i in {rows}:")
            self._clear(text, f"column + i * {across * size}", range(across))
            text.close()
        text.open("for i in range(begin, end):")
        text.add(f"to = column + i * {across * size}")
        text.add(f"row = source + (start + i * {stride}) * down")
        self._clear(text, "to", range(met.start))
        self._row(text, met, f"store_{self.dtype}_out(to, j * {size}, {self._load(start, step)})")
        self._clear(text, "to", range(met.stop, across))
        text.close()

    def _clear(self, text: Text, to: str, places: range) -> None:
        self._row(text, places, f"store_{self.dtype}_out({to}, j * {self.dtype.itemsize}, {self._zero})")

    def _load(self, start: int, step: int) -> str:
        return f"load_{self.dtype}_in(row, (j * {step} + {start}) * {self.dtype.itemsize})"

    def _row(self, text: Text, places: range, line: str) -> None:
        if places:
            text.open(f"for j in range({places.start}, {places.stop}):")
            text.add(line)
            text.close()

    def _add(self, text: Text, place: int) -> None:
        start, met = self._across(place)
        size, (stride, step) = self.dtype.itemsize, self.stride
        text.open("for i in range(begin, end):")
        text.add(f"taken = column + i * {self.out[1] * size}")
        text.add(f"row = source + (start + i * {stride}) * {self.sizes[1] * size}")
        where = f"row, (j * {step} + {start}) * {size}"
        total = self._typed(f"load_{self.dtype}({where}) + load_{self.dtype}_in(taken, j * {size})")
        self._row(text, met, f"store_{self.dtype}_out({where}, {total})")
        text.add("pass")
        text.close()
