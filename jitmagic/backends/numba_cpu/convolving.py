"""Takes the convolutions of a program, gives each a form that writes columns, and adds them up, by kernels.

    t = convolution(x, w, ...)      =>      t = convolved(Moves(columns, spread), x, w, ...)

NumPy starts anew for each place of the kernel and for each row of a picture, which is longer than it takes to copy 8
numbers. The kernels know all sizes but those of batch and channels, read and write the same elements, and add in the
same order. A convolution of one axis is that of pictures one row high.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.loops.recipes import ALL_FLAGS
from jitmagic.backends.loops.schedule import Call, Schedule
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.launch import make_launcher
from jitmagic.backends.numba_cpu.conditions import listened
from jitmagic.backends.numba_cpu.planes import DTYPES, WORDS, as_planes, with_rows
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.work import beside_products
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.convolution import (
    Moves,
    convolution,
    convolution_input,
    convolution_weight,
    convolved,
    sent_back,
    summed_up,
)
from jitmagic.ops.sliding import inside, out_size

__all__ = ["convolving_texts", "native_convolution"]

MOST_COLUMNS = 8  # of a kernel: each has loops of its own


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
        text.open("for q in range(lo, hi):")
        text.add("n = q // channels")
        text.add("source = first + n * apart + (q - n * channels) * deep")
        text.add("target = second + n * apart2 + (q - n * channels) * deep2")
        self._each_place(text, self._copy)
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
        text.open(f"for e in range({plane}):")
        text.add(f"store_{self.dtype}_out(source, e * {size}, {self._zero})")
        text.close()
        self._each_place(text, self._add)
        return str(text)

    @property
    def _zero(self) -> str:
        return "0.0" if self.dtype == np.float64 else f"np.{self.dtype}(0.0)"

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
        text.close(2)
        text.add("return OK")

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
        total = f"load_{self.dtype}({where}) + load_{self.dtype}_in(taken, j * {size})"
        total = total if self.dtype == np.float64 else f"np.{self.dtype}({total})"
        self._row(text, met, f"store_{self.dtype}_out({where}, {total})")
        text.add("pass")
        text.close()


def _geometry(node: Node) -> Geometry | None:
    """Of a convolution, or a derivative of one, whose sizes are known; None where NumPy moves elements."""
    call = getattr(node.op, "call", None)
    if call not in _FORMS or node.kwargs or not all(isinstance(a, Node) for a in node.args[:2]):
        return None
    metas = [a.meta for a in node.args[:2]]
    *_, stride, padding, dilation, _ = node.args[2:]
    if not all(isinstance(m, ArrayMeta) for m in metas) or not isinstance(node.meta, ArrayMeta):
        return None
    sizes, kernel = _FORMS[call].shapes(node)
    known = (*sizes, *kernel, *stride, *dilation, *(n for pair in padding for n in pair), *node.meta.shape[2:])
    is_fixed = all(type(n) is int for n in known) and 0 not in node.meta.shape[2:]
    dtypes = {m.dtype for m in (*metas, node.meta)}
    if not is_fixed or len(sizes) not in (1, 2) or len(dtypes) != 1 or node.meta.dtype.char not in DTYPES:
        return None
    if not node.meta.dtype.isnative or kernel[-1] > MOST_COLUMNS:
        return None
    out = tuple(map(out_size, sizes, kernel, stride, padding, dilation))
    before = tuple(pair[0] for pair in padding)
    parts = (sizes, kernel, out, stride, before, dilation)
    return Geometry(
        node.meta.dtype, *(with_rows(part, one) for one, part in zip((1, 1, 1, 1, 0, 1), parts, strict=True))
    )


@dataclass(frozen=True, slots=True)
class Form:
    """A row: what it does with ``Moves``, the text of its kernel, and the shapes of picture and kernel."""

    call: Callable[..., Any]
    text: Callable[[Geometry], str]
    shapes: Callable[[Any], tuple[tuple[Any, ...], tuple[Any, ...]]]


_FORMS: dict[Any, Form] = {
    convolution: Form(
        convolved, Geometry.columns_text, lambda node: (node.args[0].meta.shape[2:], node.args[1].meta.shape[2:])
    ),
    convolution_input: Form(
        sent_back, Geometry.spread_text, lambda node: (tuple(node.args[2]), node.args[1].meta.shape[2:])
    ),
    convolution_weight: Form(
        summed_up, Geometry.columns_text, lambda node: (node.args[1].meta.shape[2:], tuple(node.args[2]))
    ),
}


def _text(node: Node, found: Geometry) -> str:
    assert node.op is not None
    return _FORMS[node.op.call].text(found)


def convolving_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all convolutions of a program."""
    nodes = [step.node for step in plan.steps if isinstance(step, Call)]
    return [_text(node, found) for node in nodes if (found := _geometry(node)) is not None]


def native_convolution(node: Node) -> Callable[..., Any] | None:
    """What a program calls in the place of the row, or None where NumPy moves the elements."""
    found = _geometry(node)
    if found is None:
        return None
    assert node.op is not None
    address = compile_kernel(_text(node, found), "kernel").address
    launch = make_launcher("a4a4")
    work = beside_products(found.window)

    places, positions = math.prod(found.kernel), math.prod(found.out)

    def columns(x: Any, *geometry: Any) -> Any:
        made = np.empty((len(x), x.shape[1], places, positions), found.dtype)
        launch(address, 0, len(x) * x.shape[1], work, as_planes(x), made)
        return made

    def of_all(x: Any, *geometry: Any) -> Any:
        made = np.empty((x.shape[1], places, len(x), positions), found.dtype)
        launch(address, 0, len(x) * x.shape[1], work, as_planes(x), made.transpose(2, 0, 1, 3))
        return made

    def spread(taken: Any, target: Any, *geometry: Any) -> None:
        taken, target = np.ascontiguousarray(taken), as_planes(target)
        result = launch(address, 0, len(target) * target.shape[1], work, taken, target)
        if result and listened(result, ALL_FLAGS):
            raise Bail

    return functools.partial(_FORMS[node.op.call].call, Moves(columns, of_all, spread))
