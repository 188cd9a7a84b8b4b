"""Takes a call of NumPy that Python can say shorter, gives that text: ``np.expand_dims(x, 1)`` is ``x.reshape(8, 1)``.

NumPy's functions of views are Python functions, which check what is known here; some take 5 us before they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from jitmagic.backends.loops.updates import is_subscript
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.functional import ViewStep
from jitmagic.ops.lowering import Fill

__all__ = ["spelled", "spelled_part"]


class Speller(Protocol):
    """What the writer of a host program offers."""

    def text(self, value: Any) -> str: ...
    def subscript(self, index: Any) -> str: ...
    def shape(self, sizes: tuple[Any, ...]) -> str: ...
    def constant(self, value: Any, prefix: str) -> str: ...
    def is_shown(self, node: Node) -> bool: ...
    def is_plain(self, meta: Any) -> bool: ...
    def allocation(self, node: Node, function: str = "empty") -> str: ...


def spelled(writer: Speller, node: Node) -> str | None:
    """The text of a call, or None where only the function itself will do."""
    lower = getattr(node.op, "lower", None)
    if isinstance(lower, Fill) and lower.value == 0 and writer.is_plain(node.meta):
        return writer.allocation(node, "zeros")
    operand = node.args[0] if node.args else None
    if node.op is not None and node.op.name == "astype" and len(node.args) == 2 and not node.kwargs:
        return f"{writer.text(operand)}.astype({writer.text(node.args[1])})"
    spell = None if not _is_usual(node) or node.op is None else SPELLINGS.get(node.op.name)
    if spell is None or not isinstance(operand, Node) or not isinstance(node.meta, ArrayMeta):
        return None
    if isinstance(operand.value, np.generic) and not writer.is_shown(node) and len(list(node.operands())) == 1:
        assert node.op is not None
        return writer.constant(node.op.call(operand.value, *node.args[1:]), "c") if _is_static(node.meta) else None
    is_array = isinstance(operand.meta, ArrayMeta) and not operand.meta.scalar
    return spell(writer, node, operand) if is_array else None


def spelled_part(writer: Speller, path: Sequence[ViewStep], picked: Sequence[str] = ()) -> str:
    """What leads from an array to the part that an update writes, ``picked`` being the end of it.

    ``path`` has the steps that ``is_plain_update`` knows.
    """
    steps = [*(_step(writer, step) for step in path), *picked]
    return "".join(steps if steps and steps[-1].endswith("]") else [*steps, "[...]"])


def _step(writer: Speller, step: ViewStep) -> str:
    if is_subscript(step):
        return f"[{writer.subscript(step.args[0])}]"
    name, arguments = step.op.name, ", ".join(map(writer.text, step.args))
    return f".{name}({arguments})" if callable(getattr(np.ndarray, name)) else f".{name}"


def _is_usual(node: Node) -> bool:
    """Whether keywords say nothing that goes without saying."""
    return not node.kwargs or (node.kwargs == {"order": "C"} and getattr(node.op, "name", "") == "reshape")


def _transposed(writer: Speller, node: Node, operand: Node) -> str | None:
    return f"{writer.text(operand)}.T" if len(node.args) == 1 else None


def _reshaped(writer: Speller, node: Node, operand: Node) -> str | None:
    assert isinstance(node.meta, ArrayMeta)
    return f"{writer.text(operand)}.reshape({writer.shape(node.meta.shape)})" if len(node.args) == 2 else None


def _swapped(writer: Speller, node: Node, operand: Node) -> str | None:
    axes = node.args[1:]
    is_known = len(axes) == 2 and all(type(axis) is int for axis in axes)
    return f"{writer.text(operand)}.swapaxes({axes[0]}, {axes[1]})" if is_known else None


def _repeated(writer: Speller, node: Node, operand: Node) -> str | None:
    """An array that a program has made, seen with more axes; such a view may be written, so nobody may see it."""
    meta, source = node.meta, operand.meta
    assert isinstance(meta, ArrayMeta)
    assert isinstance(source, ArrayMeta)
    if (
        writer.is_shown(node)
        or not _is_static(meta)
        or not _is_static(source)
        or not _is_packed(operand)
        or 0 in meta.shape
    ):
        return None
    dtype = writer.constant(meta.dtype, "d")
    return f"ndarray({writer.shape(meta.shape)}, {dtype}, {writer.text(operand)}, 0, {writer.shape(meta.strides)})"


def _is_static(meta: ArrayMeta) -> bool:
    return all(type(n) is int for n in (*meta.shape, *meta.strides))


def _is_packed(operand: Node) -> bool:
    """Whether the array lies in memory of its own, in C order."""
    meta = operand.meta
    assert isinstance(meta, ArrayMeta)
    packed = ArrayMeta.packed(meta.dtype, meta.shape, tuple(range(meta.ndim))[::-1])
    return operand.storage.kind == "call" and meta.strides == packed.strides


SPELLINGS: Mapping[str, Callable[[Speller, Node, Node], str | None]] = {
    "T": _transposed,
    "expand_dims": _reshaped,
    "reshape": _reshaped,
    "swapaxes": _swapped,
    "broadcast_to": _repeated,
}
