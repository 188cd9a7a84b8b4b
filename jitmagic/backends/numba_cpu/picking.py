"""Takes calls that pick elements (``x[rows, columns]``), and their derivatives, gives the text of a kernel for each.

    t = empty((64,), d); r = launch(gather, 0, 64, 0, x, rows, columns, t)
    t = zeros((64, 10), d); r = launch(scatter, 0, 64, 0, t, rows, columns, values)

NumPy takes 1 us before it picks the first of them, and ``np.add.at`` 3 us before it adds it, which is longer than a
batch of labels takes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.loops.operands import is_array
from jitmagic.backends.loops.schedule import Call, Schedule, Step
from jitmagic.backends.native.abi import Status
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.derivatives import SCATTER_ADD

__all__ = ["Picked", "fixed_ranges", "is_picked_natively", "picked_of", "picking_texts", "write_picked"]

INDEX = np.dtype(np.int64)
MOST = 1 << 16  # elements; the kernel keeps the GIL
WORDS = 3  # of an array of one axis: address, size, stride


@dataclass(frozen=True, slots=True)
class Picked:
    """Elements of ``whole`` that ``index`` names by one array for each axis, and a row with one value for each.

    They are read into the row, or (``adds``) the row is added to them, one after the other.
    """

    whole: Node
    index: tuple[Node, ...]
    row: Node
    adds: bool

    @property
    def name(self) -> str:
        return "scatter" if self.adds else "gather"

    @property
    def dtype(self) -> np.dtype[Any]:
        assert isinstance(self.row.meta, ArrayMeta)
        return self.row.meta.dtype

    @property
    def count(self) -> int:
        assert isinstance(self.row.meta, ArrayMeta)
        count: int = self.row.meta.shape[0]  # type: ignore[assignment]  # as it was asked for
        return count

    @property
    def form(self) -> str:
        return f"a{len(self.index)}" + "a1" * (len(self.index) + 1)

    def source(self) -> str:
        """The kernel: its range are the elements; an index that is out of bounds ends it."""
        text, ndim = Text(), len(self.index)
        text.open("def kernel(args, lo, hi):")
        text.add("whole = arg(args, 0)")
        for axis in range(ndim):
            text.add(f"n{axis}, s{axis} = arg(args, {1 + axis}), arg(args, {1 + ndim + axis})")
        for k, name in enumerate([*(f"index{axis}" for axis in range(ndim)), "row"]):
            first = 1 + 2 * ndim + k * WORDS
            text.add(f"{name}, {name}_step = arg(args, {first}), arg(args, {first + 2})")
        text.open("for i in range(lo, hi):")
        text.add("place = whole")
        for axis in range(ndim):
            text.add(f"k = load_int64(index{axis}, i * index{axis}_step)")
            text.add(f"k += select(k < 0, n{axis}, 0)")
            text.open(f"if k < 0 or k >= n{axis}:")
            text.add(f"return {Status.INDEX_ERROR.name}")
            text.close()
            text.add(f"place += k * s{axis}")
        text.add(self._element())
        text.close()
        text.add("return OK")
        return str(text)

    def _element(self) -> str:
        dtype, place = self.dtype, "row, i * row_step"
        if not self.adds:
            return f"store_{dtype}({place}, load_{dtype}(place, 0))"
        return f"store_{dtype}(place, 0, {typed(f'load_{dtype}(place, 0) + load_{dtype}({place})', dtype)})"


def picked_of(node: Node) -> Picked | None:
    """What a call picks, or None where NumPy does it."""
    if node.op is None or not is_array(node) or node.kwargs:
        return None
    if node.op.name == SCATTER_ADD.name and len(node.args) == 3:
        return _fitting(Picked(node, node.args[2], node.args[1], adds=True))
    if node.op.call is operator.getitem and len(node.args) == 2 and node.view_of is None:
        return _fitting(Picked(node.args[0], node.args[1], node, adds=False))
    return None


def _fitting(found: Picked) -> Picked | None:
    whole, index = found.whole, found.index
    if type(index) is not tuple or not isinstance(whole, Node) or not is_array(whole):
        return None
    if not all(_is_row(each) for each in (found.row, *index)):
        return None
    metas = [each.meta for each in (found.row, *index) if isinstance(each.meta, ArrayMeta)]
    assert isinstance(whole.meta, ArrayMeta)
    fits = len(index) == whole.meta.ndim and len({meta.shape for meta in metas}) == 1
    is_exact = whole.meta.dtype == found.dtype and (found.dtype.kind == "f" or not found.adds)
    return found if fits and is_exact and all(meta.dtype == INDEX for meta in metas[1:]) else None


def _is_row(value: Any) -> bool:
    """Whether it is a short array of one axis, of a size that is known."""
    if not isinstance(value, Node) or not is_array(value):
        return False
    meta = value.meta
    is_row = isinstance(meta, ArrayMeta) and not meta.scalar and meta.ndim == 1
    return is_row and type(meta.shape[0]) is int and meta.shape[0] <= MOST  # type: ignore[union-attr]  # see above


def is_picked_natively(step: Step) -> bool:
    return isinstance(step, Call) and picked_of(step.node) is not None


def picking_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all calls of a program that pick elements."""
    found = (picked_of(step.node) for step in plan.steps if isinstance(step, Call))
    return [picked.source() for picked in found if picked is not None]


def write_picked(writer: Any, picked: Picked, node: Node) -> None:
    """Allocate the result in a host program, and launch the kernel on one thread: the order of sums is NumPy's."""
    assert isinstance(node.meta, ArrayMeta)
    shape, dtype = writer.shape(node.meta.shape), writer.constant(picked.dtype, "d")
    writer.lines.append(f"    {writer.names[node]} = {'zeros' if picked.adds else 'empty'}({shape}, {dtype})")
    kernel = writer.constant(compile_kernel(picked.source(), "kernel").address, picked.name)
    operands = ", ".join(writer.names[n] for n in (picked.whole, *picked.index, picked.row))
    writer.run_kernel(picked.form, kernel, f"{picked.count}, 0, {operands}", 0, picked.name)


def fixed_ranges(plan: Schedule) -> set[Node]:
    """The ranges of fixed bounds that only kernels like these read, as an index: one array serves all calls."""
    readers: dict[Node, list[Step]] = {}
    for step in plan.steps:
        for node in step.node.operands() if isinstance(step, Call) else step.built.inputs.values():
            readers.setdefault(node, []).append(step)
    ranges = [s.node for s in plan.steps if isinstance(s, Call) and _is_fixed_range(s.node)]
    return {
        node
        for node in ranges
        if node not in plan.graph.outputs and all(map(is_picked_natively, readers.get(node, ())))
    }


def _is_fixed_range(node: Node) -> bool:
    is_range = node.op is not None and node.op.call is np.arange and not node.kwargs
    return is_range and bool(node.args) and all(type(arg) is int for arg in node.args)
