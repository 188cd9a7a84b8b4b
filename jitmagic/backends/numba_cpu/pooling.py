"""Takes the max pooling of a program, and its derivatives, gives each a kernel that goes over every plane once.

    t = largest(x, (2, 2), ...)      =>      t = empty(...); launch(kernel, 0, batch * channels, work, x, t)

NumPy compares all windows at one place of the kernel, then at the next. Here all places of a window are compared in
registers; windows that meet padding are looked at one by one. Windows that overlap send cotangents back from the last
to the first, so that what meets in one element is added in the order of the places, as the row does it.
"""

from __future__ import annotations

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
from jitmagic.backends.numba_cpu.planes import DTYPES, as_planes, planes_text, with_rows
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.work import beside_products
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.largest import largest, spread_largest, take_largest
from jitmagic.ops.sliding import out_sizes

__all__ = ["native_pooling", "pooling_texts"]

ROW_BYTES = 1 << 12  # of what is kept of a row of windows
MOST_PLACES = 25  # of a kernel whose places are written out
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pooling:
    """One call, each setting a pair for rows and columns; sizes are None where they are known at run time only.

    Operands of the kernel: ``x``, the result, and for ``takes`` and ``spreads`` the values or the cotangents.
    """

    dtype: np.dtype[Any]
    sizes: Pair | None
    out: Pair | None
    kernel: Pair
    stride: Pair
    padding: Pair  # before the first element
    is_padded: bool
    dilation: Pair
    takes: bool = False
    spreads: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether no element is in two windows."""
        return all(s > d * (k - 1) for s, d, k in zip(self.stride, self.dilation, self.kernel, strict=True))

    @property
    def is_written_out(self) -> bool:
        return math.prod(self.kernel) <= MOST_PLACES

    @property
    def _is_covered(self) -> bool:
        """Whether every element is in one window."""
        if self.sizes is None or self.out is None or self.is_padded or not (self.is_apart and self.is_written_out):
            return False
        is_whole = all(n == m * s for n, m, s in zip(self.sizes, self.out, self.stride, strict=True))
        return is_whole and self.kernel == self.stride

    def text(self) -> str:
        """The kernel; its range are the planes: channels of all samples, one after the other."""
        text = Text()
        planes_text(text, self.sizes, self.out, 2 if self.spreads else 1)
        if self.takes or self.spreads:
            text.add("third, apart3, deep3, down3 = arg(args, 18), arg(args, 23), arg(args, 24), arg(args, 25)")
        if self._keeps_rows and self.out:
            size_bytes = self.out[1] * self.dtype.itemsize
            text.add(f"places, cotangents = stack({size_bytes}), stack({size_bytes})")
        text.open("for q in range(lo, hi):")
        text.add("n = q // channels")
        text.add("source = first + n * apart + (q - n * channels) * deep")
        size, plane = self.dtype.itemsize, "high * wide" if self.spreads else "rows * across"
        text.add(f"target = second + q * {plane} * {size}")
        if self.takes or self.spreads:
            text.add("other = third + n * apart3 + (q - n * channels) * deep3")
        if self.spreads and not self._is_covered:
            text.open(f"for e in range({plane}):")
            text.add(f"store_{self.dtype}_out(target, e * {size}, {self._number('0.0')})")
            text.close()
        self._rows(text)
        text.close()
        text.add("return OK")
        return str(text)

    def _number(self, text: str) -> str:
        return text if self.dtype == np.float64 else f"np.{self.dtype}({text})"

    # -- loops

    def _rows(self, text: Text) -> None:
        """Of each row the windows inside, then those that meet padding, or one after the other from the last."""
        (tall, broad), (stride, step), (above, before) = self.kernel, self.stride, self.padding
        reach_down, reach = (tall - 1) * self.dilation[0], (broad - 1) * self.dilation[1]
        is_backwards = self.spreads and not self.is_apart
        text.open("for turn in range(rows):")
        text.add("i = rows - 1 - turn" if is_backwards else "i = turn")
        text.add(f"top = i * {stride} - {above}")
        if not self.is_written_out:
            text.add("begin, end = across, across")
        elif not self.is_padded:
            text.add("begin, end = 0, across")
        else:
            text.add(f"begin = min(across, {-(-before // step)})")
            text.add(f"end = max(begin, min(across, (wide - 1 - {reach} + {before}) // {step} + 1))")
            text.open(f"if top < 0 or top + {reach_down} >= high:")
            text.add("begin, end = across, across")
            text.close()
        text.add(f"row = source + top * down - {before * self.dtype.itemsize}")
        self._names_of_row(text)
        if is_backwards:
            self._from_the_last(text)
        else:
            self._apart(text)
        text.close()

    def _names_of_row(self, text: Text) -> None:
        size, before = self.dtype.itemsize, self.padding[1]
        if self.spreads:
            text.add("sent = other + i * down3")
            text.add(f"to = target + (top * wide - {before}) * {size}")
        else:
            text.add(f"to = target + i * across * {size}")
        if self.takes:
            text.add(f"taken = other + top * down3 - {before * size}")

    def _apart(self, text: Text) -> None:
        if self.is_written_out:
            text.open("for j in range(begin, end):")
            self._written_out(text)
            text.close()
        if self._keeps_rows:
            self._put_rows(text)
        if self.is_padded or not self.is_written_out:
            text.open("for turn2 in range(begin + across - end):")
            text.add("j = turn2 if turn2 < begin else turn2 - begin + end")
            self._one_by_one(text)
            text.close()

    def _from_the_last(self, text: Text) -> None:
        text.open("for turn2 in range(across):")
        text.add("j = across - 1 - turn2")
        if self.is_written_out:
            text.open("if begin <= j < end:")
            self._written_out(text)
            text.close()
        if self.is_padded or not self.is_written_out:
            text.open("if j < begin or j >= end:")
            self._one_by_one(text)
            text.close()
        text.close()

    # -- one window

    def _at(self, name: str, down: str, place: Pair) -> str:
        """Address and offset of what window ``j`` has at a place of the kernel."""
        (i, j), size = place, self.dtype.itemsize
        base = f"{name} + {i * self.dilation[0]} * {down}" if i else name
        return f"{base}, (j * {self.stride[1]} + {j * self.dilation[1]}) * {size}"

    def _written_out(self, text: Text) -> None:
        """A window inside: every place is compared, without a branch."""
        name = str(self.dtype)
        # where cotangents are added up flags are read: LLVM's own comparison, which is faster, sets one for NaN
        adds = self.spreads and not self.is_apart
        no_larger = f"less_equal_{name}(found, best)" if adds else "(found <= best)"
        places = [(i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1])]
        text.add(f"best = load_{name}_in({self._at('row', 'down', places[0])})")
        self._first(text, places[0])
        for index, place in enumerate(places[1:], 1):
            text.add(f"found = load_{name}_in({self._at('row', 'down', place)})")
            text.add(f"kept = {no_larger} | (best != best)")
            text.add("best = select(kept, best, found)")
            self._next(text, index, place)
        size = self.dtype.itemsize
        if not self.spreads:
            text.add(f"store_{name}_out(to, j * {size}, {'value' if self.takes else 'best'})")
            return
        sent = self._number(f"load_{name}_in(sent, j * {size}) + {self._number('0.0')}")
        if self._keeps_rows:
            text.add(f"store_{name}(places, j * {size}, chosen)")
            text.add(f"store_{name}(cotangents, j * {size}, {sent})")
            return
        text.add(f"g = {sent}")
        if self.is_apart:
            self._put(text, places)
        else:
            text.add(f"place = to + (j * {self.stride[1]} * {size}) + chosen")
            text.add(f"store_{name}_out(place, 0, {self._number(f'load_{name}(place, 0) + g')})")

    @property
    def _keeps_rows(self) -> bool:
        """Whether a row of windows is compared first, then written row by row: LLVM vectorises loops that write one."""
        fits = self.out is not None and self.out[1] * self.dtype.itemsize <= ROW_BYTES
        return fits and self.spreads and self.is_apart and self.is_written_out

    def _put_rows(self, text: Text) -> None:
        name, size = str(self.dtype), self.dtype.itemsize
        for i in range(self.kernel[0]):
            text.open("for j in range(begin, end):")
            text.add(f"chosen, g = load_{name}(places, j * {size}), load_{name}(cotangents, j * {size})")
            self._put(text, [(i, j) for j in range(self.kernel[1])])
            text.close()

    def _put(self, text: Text, places: list[Pair]) -> None:
        """The cotangent of a window where it belongs, 0 at the other places."""
        zero, name = self._number("0.0"), str(self.dtype)
        for place in places:
            where, index = self._at("to", f"wide * {self.dtype.itemsize}", place), place[0] * self.kernel[1] + place[1]
            text.add(f"store_{name}_out({where}, select(chosen == {self._number(f'{index}.0')}, g, {zero}))")

    def _first(self, text: Text, place: Pair) -> None:
        if self.takes:
            text.add(f"value = load_{self.dtype}_in({self._at('taken', 'down3', place)})")
        if self.spreads:
            text.add(f"chosen = {self._number('0.0') if self.is_apart else 0}")

    def _next(self, text: Text, index: int, place: Pair) -> None:
        """What goes with the largest element: its value, the number of its place, or where it lies."""
        if self.takes:
            text.add(f"value = select(kept, value, load_{self.dtype}_in({self._at('taken', 'down3', place)}))")
        elif self.spreads and self.is_apart:
            text.add(f"chosen = select(kept, chosen, {self._number(f'{index}.0')})")
        elif self.spreads:
            (i, j), size = place, self.dtype.itemsize
            text.add(f"away = {i * self.dilation[0]} * wide * {size} + {j * self.dilation[1] * size}")
            text.add("chosen = select(kept, chosen, away)")

    def _inside(self, text: Text, name: str, start: str, limit: str, axis: int) -> None:
        """Opens a loop over what a window that begins at ``start`` has inside of the input."""
        count, step = self.kernel[axis], self.dilation[axis]
        text.add(f"from_{name} = max(0, (-{start} + {step - 1}) // {step})")
        text.open(f"for at_{name} in range(from_{name}, min({count}, ({limit} - 1 - {start}) // {step} + 1)):")
        text.add(f"{name} = {start} + at_{name} * {step}")

    def _one_by_one(self, text: Text) -> None:
        """A window that meets padding, which is never chosen."""
        name, size = str(self.dtype), self.dtype.itemsize
        text.add(f"best, chosen_i, chosen_j = {self._number('-math.inf')}, -1, -1")
        text.add(f"left = j * {self.stride[1]} - {self.padding[1]}")
        self._inside(text, "y", "top", "high", 0)
        self._inside(text, "x", "left", "wide", 1)
        text.add(f"found = load_{name}_in(source, y * down + x * {size})")
        text.open(f"if chosen_i < 0 or not (less_equal_{name}(found, best) or best != best):")
        text.add("best, chosen_i, chosen_j = found, y, x")
        text.close(3)
        if self.spreads:
            text.open("if chosen_i >= 0:")
            text.add(f"place = target + (chosen_i * wide + chosen_j) * {size}")
            total = self._number(f"load_{name}(place, 0) + load_{name}_in(sent, j * {size})")
            text.add(f"store_{name}_out(place, 0, {total})")
            text.close()
            return
        if self.takes:
            text.add(f"best = {self._number('0.0')}")
            text.open("if chosen_i >= 0:")
            text.add(f"best = load_{name}_in(other, chosen_i * down3 + chosen_j * {size})")
            text.close()
        text.add(f"store_{name}_out(to, j * {size}, best)")


_ROWS: dict[Any, str] = {largest: "", take_largest: "takes", spread_largest: "spreads"}


def _pooling(node: Node) -> Pooling | None:
    """Of a call whose settings are known; None where NumPy does it."""
    call = getattr(node.op, "call", None)
    if call not in _ROWS or node.kwargs or not isinstance(node.meta, ArrayMeta):
        return None
    count = 1 if call is largest else 2
    metas = [a.meta for a in node.args[:count] if isinstance(a, Node)]
    kernel, stride, padding, dilation = node.args[count:]
    settings = (*kernel, *stride, *dilation, *(n for pair in padding for n in pair))
    if len(metas) != count or len(kernel) not in (1, 2) or not all(type(n) is int for n in settings):
        return None
    dtypes = {m.dtype if isinstance(m, ArrayMeta) else None for m in (*metas, node.meta)}
    if len(dtypes) != 1 or node.meta.dtype.char not in DTYPES or not node.meta.dtype.isnative:
        return None
    sizes = metas[-1].shape[2:]  # type: ignore[union-attr]  # just asked
    is_known = all(type(n) is int for n in sizes)
    out = out_sizes(sizes, kernel, stride, padding, dilation) if is_known else ()
    return Pooling(
        node.meta.dtype,
        with_rows(sizes, 1) if is_known else None,
        with_rows(out, 1) if is_known else None,
        with_rows(kernel, 1),
        with_rows(stride, 1),
        with_rows([before for before, _ in padding], 0),
        any(map(any, padding)),
        with_rows(dilation, 1),
        takes=_ROWS[call] == "takes",
        spreads=_ROWS[call] == "spreads",
    )


def pooling_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all max pooling of a program."""
    nodes = [step.node for step in plan.steps if isinstance(step, Call)]
    return [found.text() for node in nodes if (found := _pooling(node)) is not None]


def native_pooling(node: Node) -> Callable[..., Any] | None:
    """What a program calls in the place of the row, or None where NumPy compares the elements."""
    found = _pooling(node)
    if found is None:
        return None
    address = compile_kernel(found.text(), "kernel").address
    launch = make_launcher("a4a4a4" if found.takes or found.spreads else "a4a4")
    is_flat = len(node.args[-1]) == 1
    tail = None if found.out is None else found.out[1:] if is_flat else found.out
    places = math.prod(found.kernel)
    known = 0 if found.out is None else beside_products(math.prod(found.out) * places)

    def made(x: Any, settings: Any) -> Any:
        sizes = out_sizes(x.shape[2:], *settings) if tail is None else tail
        return np.empty((*x.shape[:2], *sizes), found.dtype)

    def run(made: Any, windows: Any, x: Any, *others: Any) -> Any:
        work = known or beside_products(math.prod(windows.shape[2:]) * places)
        count = made.shape[0] * made.shape[1]
        result = launch(address, 0, count, work, as_planes(x), as_planes(made), *map(as_planes, others))
        if result and adds and listened(result, ALL_FLAGS):
            raise Bail
        return made

    def pooled(x: Any, *settings: Any) -> Any:
        result = made(x, settings)
        return run(result, result, x)

    def taken(values: Any, x: Any, *settings: Any) -> Any:
        result = made(x, settings)
        return run(result, result, x, values)

    def spread(g: Any, x: Any, *settings: Any) -> Any:
        return run(np.empty(x.shape, found.dtype), g, x, g)

    adds = found.spreads and not found.is_apart
    return spread if found.spreads else taken if found.takes else pooled
