"""Takes the derivatives of picked elements (``x[rows, columns]``), gives the text of a kernel for each.

    t = zeros((64, 10), d); r = launch(scatter, 0, 64, 0, values, rows, columns, t)

``np.add.at`` takes 3 us before it adds the first of them, which is longer than a batch of labels takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.loops.operands import is_array
from jitmagic.backends.loops.schedule import Call, Schedule
from jitmagic.backends.native.abi import Status
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.numba_cpu.expressions import typed
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.derivatives import SCATTER_ADD

__all__ = ["Scatter", "scatter_of", "scatter_texts", "write_scatter"]

INDEX = np.dtype(np.int64)
WORDS = 3  # of an array of one axis: address, size, stride


@dataclass(frozen=True, slots=True)
class Scatter:
    """``values`` are added, one after the other, to the elements that ``index`` names by one array for each axis."""

    values: Node
    index: tuple[Node, ...]
    dtype: np.dtype[Any]

    @property
    def form(self) -> str:
        return "a1" * (1 + len(self.index)) + f"a{len(self.index)}"

    def source(self) -> str:
        """The kernel: its range are the values; an index that is out of bounds ends it."""
        text, ndim = Text(), len(self.index)
        text.open("def kernel(args, lo, hi):")
        names = ["values", *(f"index{k}" for k in range(ndim))]
        for k, name in enumerate(names):
            text.add(f"{name}, {name}_step = arg(args, {k * WORDS}), arg(args, {k * WORDS + 2})")
        first = len(names) * WORDS
        text.add(f"total = arg(args, {first})")
        for axis in range(ndim):
            text.add(f"n{axis}, s{axis} = arg(args, {first + 1 + axis}), arg(args, {first + 1 + ndim + axis})")
        text.open("for i in range(lo, hi):")
        text.add("place = total")
        for axis in range(ndim):
            text.add(f"k = load_int64(index{axis}, i * index{axis}_step)")
            text.add(f"k += select(k < 0, n{axis}, 0)")
            text.open(f"if k < 0 or k >= n{axis}:")
            text.add(f"return {Status.INDEX_ERROR.name}")
            text.close()
            text.add(f"place += k * s{axis}")
        added = f"load_{self.dtype}(place, 0) + load_{self.dtype}(values, i * values_step)"
        text.add(f"store_{self.dtype}(place, 0, {typed(added, self.dtype)})")
        text.close()
        text.add("return OK")
        return str(text)


def scatter_of(node: Node) -> Scatter | None:
    """The scatter of a call, or None where NumPy does it."""
    if node.op is None or node.op.name != SCATTER_ADD.name or len(node.args) != 3:
        return None
    _, values, index = node.args
    meta = node.meta
    if not isinstance(meta, ArrayMeta) or meta.dtype.kind != "f" or not is_array(node) or not _is_row(values):
        return None
    if type(index) is not tuple or len(index) != meta.ndim or not all(_is_row(each) for each in index):
        return None
    sizes = {each.meta.shape for each in (values, *index)}
    is_fine = len(sizes) == 1 and values.meta.dtype == meta.dtype and all(i.meta.dtype == INDEX for i in index)
    return Scatter(values, index, meta.dtype) if is_fine else None


def _is_row(value: Any) -> bool:
    """Whether it is an array of one axis, of a size that is known."""
    if not isinstance(value, Node) or not is_array(value):
        return False
    meta = value.meta
    return isinstance(meta, ArrayMeta) and not meta.scalar and meta.ndim == 1 and type(meta.shape[0]) is int


def scatter_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all scatters of a program."""
    scatters = (scatter_of(step.node) for step in plan.steps if isinstance(step, Call))
    return [scatter.source() for scatter in scatters if scatter is not None]


def write_scatter(writer: Any, scatter: Scatter, node: Node) -> None:
    """Allocate zeros in a host program, and launch the kernel on one thread: the order of the sums is NumPy's."""
    assert isinstance(node.meta, ArrayMeta)
    shape, dtype = writer.shape(node.meta.shape), writer.constant(scatter.dtype, "d")
    writer.lines.append(f"    {writer.names[node]} = zeros({shape}, {dtype})")
    kernel = writer.constant(compile_kernel(scatter.source(), "kernel").address, "scatter")
    assert isinstance(scatter.values.meta, ArrayMeta)
    operands = ", ".join(writer.names[n] for n in (scatter.values, *scatter.index, node))
    writer.run_kernel(scatter.form, kernel, f"{scatter.values.meta.shape[0]}, 0, {operands}", 0, "scatter_add")
