"""Takes calls of ``np.concatenate`` along the last axis, gives the text of a kernel for each whose parts are short.

NumPy copies part after part, and starts anew for each row of each: 15 ns for 64 bytes. Windows of an image, side by
side for a product of matrices, are such parts. The kernel walks the rows of all parts together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jitmagic.backends.loops.operands import is_array, memory_order
from jitmagic.backends.loops.schedule import Call, Schedule
from jitmagic.backends.native.abi import Status
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.graph import ArrayMeta, Node

__all__ = ["Join", "join_of", "join_texts", "write_join"]

LEAST = 4096  # elements from which on the launch is made up for
LONGEST_RUN = 1024  # bytes that NumPy copies in about the time that it takes to begin
MOST_PARTS = 16
UNROLLED = 8  # words of 8 bytes that are copied at a time


@dataclass(frozen=True, slots=True)
class Join:
    """``parts`` of equal dtype and equal outer sizes, side by side; ``single`` says which have one element per row."""

    parts: tuple[Node, ...]
    ndim: int
    itemsize: int
    single: tuple[bool, ...]

    @property
    def form(self) -> str:
        return f"a{self.ndim}" * (len(self.parts) + 1)

    def source(self) -> str:
        """The kernel: its range is the first axis, its operands are the parts and the result."""
        text = Text()
        text.open("def kernel(args, lo, hi):")
        names = [*(f"p{k}" for k in range(len(self.parts))), "o"]
        width = 1 + 2 * self.ndim
        for k, name in enumerate(names):
            text.add(f"{name} = arg(args, {k * width})")
            for axis in range(self.ndim):
                text.add(f"{name}_n{axis} = arg(args, {k * width + 1 + axis})")
                text.add(f"{name}_s{axis} = arg(args, {k * width + 1 + self.ndim + axis})")
        self._checks(text, names)
        for axis in range(self.ndim - 1):
            text.open(f"for i{axis} in range({'lo, hi' if axis == 0 else f'o_n{axis}'}):")
            for name in names:
                text.add(f"{name}_{axis + 1} = {_at(name, axis)} + i{axis} * {name}_s{axis}")
        text.add(f"to = {_at('o', self.ndim - 1)}")
        for name, is_single in zip(names[:-1], self.single, strict=True):
            (self._copy_one if is_single else self._copy_row)(text, name)
        text.close(self.ndim - 1)
        text.add("return OK")
        return str(text)

    def _checks(self, text: Text, names: list[str]) -> None:
        """What is known when the text is written must hold when it runs."""
        last = self.ndim - 1
        wrong = [
            f"o_n{last} != {' + '.join(f'{name}_n{last}' for name in names[:-1])}",
            f"o_s{last} != {self.itemsize}",
        ]
        for name, is_single in zip(names[:-1], self.single, strict=True):
            wrong += [f"{name}_n{axis} != o_n{axis}" for axis in range(last)]
            wrong.append(f"{name}_n{last} != 1" if is_single else f"{name}_s{last} != {self.itemsize}")
        for condition in wrong:
            text.open(f"if {condition}:")
            text.add(f"return {Status.SHAPE_ERROR.name}")
            text.close()

    def _copy_one(self, text: Text, name: str) -> None:
        word = f"uint{8 * self.itemsize}"
        text.add(f"store_{word}(to, 0, load_{word}({_at(name, self.ndim - 1)}, 0))")
        text.add(f"to += {self.itemsize}")

    def _copy_row(self, text: Text, name: str) -> None:
        source, step = _at(name, self.ndim - 1), 8 * UNROLLED
        words = [f"w{k}" for k in range(UNROLLED)]
        text.add(f"end = {name}_n{self.ndim - 1} * {self.itemsize}")
        text.add(f"whole = end - end % {step}")
        text.open(f"for j in range(0, whole, {step}):")
        for k, word in enumerate(words):
            text.add(f"{word} = load_int64({source}, j + {8 * k})")
        for k, word in enumerate(words):
            text.add(f"store_int64(to, j + {8 * k}, {word})")
        text.close()
        text.open("for j in range(whole, end - 7, 8):")
        text.add(f"store_int64(to, j, load_int64({source}, j))")
        text.close()
        if self.itemsize < 8:
            word = f"uint{8 * self.itemsize}"
            text.open(f"for j in range(end - end % 8, end, {self.itemsize}):")
            text.add(f"store_{word}(to, j, load_{word}({source}, j))")
            text.close()
        text.add("to += end")


def _at(name: str, depth: int) -> str:
    return f"{name}_{depth}" if depth else name


def join_of(node: Node) -> Join | None:
    """The join of a call, or None where NumPy does as well."""
    if node.op is None or node.op.name != "concatenate" or not is_array(node) or node.kwargs.keys() - {"axis"}:
        return None
    parts, meta = node.args[0] if node.args else (), node.meta
    axis = node.kwargs.get("axis", node.args[1] if len(node.args) == 2 else None)
    assert isinstance(meta, ArrayMeta)
    if type(axis) is not int or axis % meta.ndim != meta.ndim - 1 or len(node.args) > 2:
        return None
    if type(parts) not in (list, tuple) or not 2 <= len(parts) <= MOST_PARTS or meta.ndim < 2:
        return None
    if not all(isinstance(p, Node) and is_array(p) for p in parts) or not _is_packed(meta):
        return None
    metas = [p.meta for p in parts]
    size = meta.dtype.itemsize
    if any(m.dtype != meta.dtype or not (m.shape[-1] == 1 or m.strides[-1] == size) for m in metas):
        return None
    if any(type(n) is not int or not n for m in (meta, *metas) for n in m.shape):
        return None
    short = meta.shape[-1] * size <= LONGEST_RUN * len(parts) and math.prod(meta.shape) >= LEAST
    return Join(tuple(parts), meta.ndim, size, tuple(m.shape[-1] == 1 for m in metas)) if short else None


def _is_packed(meta: ArrayMeta) -> bool:
    whole: Any = ArrayMeta.dense(meta.dtype, meta.shape)
    return not meta.scalar and memory_order(meta) == tuple(range(meta.ndim)) and meta.strides == whole.strides


def join_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all joins of a program."""
    joins = (join_of(step.node) for step in plan.steps if isinstance(step, Call))
    return [join.source() for join in joins if join is not None]


def write_join(writer: Any, join: Join, node: Node) -> None:
    """Allocate the result in a host program, and launch the kernel."""
    name = writer.names[node]
    writer.lines.append(f"    {name} = {writer.allocation(node)}")
    kernel = writer.constant(compile_kernel(join.source(), "kernel").address, "join")
    operands = ", ".join(writer.names[n] for n in (*join.parts, node))
    assert isinstance(node.meta, ArrayMeta)
    rows, *others = node.meta.shape
    writer.run_kernel(join.form, kernel, f"{rows}, {writer.told(math.prod(others))}, {operands}", 0, "concatenate")
