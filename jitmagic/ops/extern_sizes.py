"""Takes a call of a function without a row, gives sizes that its result may have besides those of its operands.

They are said in terms of the sizes of the operands, which may be symbols. Whether one is that of an axis of the result
is found out by running the function (``probe``), and what really comes out is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.shapes import Dim, apply, hint_of
from jitmagic.ops.gradients.edits import block_shape
from jitmagic.ops.gradients.shapes import axes_of, shape_of
from jitmagic.ops.probing import Sizes
from jitmagic.ops.record import Arguments
from jitmagic.ops.sizes import same_size

__all__ = ["sizes_of"]

Change = Callable[[Any], Any]


def sizes_of(function: Any) -> Sizes | None:
    """The rule for ``function``; None where it has none."""
    if function in PLAIN:
        return PLAIN[function]
    module = getattr(function, "__module__", None) or ""
    if not module.startswith(("numpy.fft", "scipy.fft")):
        return None
    return TRANSFORMS.get(getattr(function, "__name__", ""))


def _block(call: Arguments) -> list[Dim]:
    return list(block_shape(call.get("arrays")))


def _bin_edges(call: Arguments) -> list[Dim]:
    bins = call.get("bins")
    return [bins + 1] if isinstance(bins, int) else []


def _rows(call: Arguments) -> list[Dim]:
    """Vectors are one row each."""
    shapes = [shape_of(x) for x in call.get("tup")]
    count: Any = 0
    for shape in shapes:
        count = count + (shape[0] if len(shape) > 1 else 1)
    return [count]


def _diag(call: Arguments) -> list[Dim]:
    """Of a vector; the length of a diagonal is found as it is."""
    shape, k = shape_of(call.get("v")), call.get("k")
    return [shape[0] + abs(k)] if len(shape) == 1 and isinstance(k, int) else []


def _kept(call: Arguments) -> list[Dim]:
    """Axes of size 1 in place of those that were folded (``keepdims``)."""
    return [1]


def _shorter(call: Arguments) -> list[Dim]:
    """As many as a matrix has rows or columns, whichever are fewer."""
    shape = shape_of(call.args[0] if call.args else call.get("a"))
    if len(shape) < 2:
        return []
    rows, columns = shape[-2:]
    if hint_of(rows) == hint_of(columns) and same_size(rows, columns):
        return [rows]
    return [apply("min", rows, columns)]


PLAIN: dict[Any, Sizes] = {
    np.linalg.norm: _kept,
    np.linalg.svd: _shorter,
    np.linalg.qr: _shorter,
    np.block: _block,
    np.diag: _diag,
    np.histogram_bin_edges: _bin_edges,
}
if hasattr(np, "row_stack"):  # not in every NumPy
    PLAIN[np.row_stack] = _rows


def _half(n: Any) -> Any:
    """Of a real signal of ``n`` elements the second half of the frequencies mirrors the first."""
    return n // 2 + 1


def _whole(n: Any) -> Any:
    return (n - 1) * 2


def _one_axis(given: Change, found: Change) -> Sizes:
    """``found(n)`` elements of the axis for the ``n`` that are asked for, ``given(length)`` for those there are."""

    def sizes(call: Arguments) -> list[Dim]:
        shape, n = shape_of(call.args[0]), call.get("n")
        if n is not None:
            return [found(n)]
        (axis,) = axes_of(call.args[0], call.get("axis"))
        return [given(shape[axis])] if shape else []

    return sizes


def _axes(given: Change, found: Change) -> Sizes:
    """As above for the last of several axes; the others have the sizes that are asked for."""

    def sizes(call: Arguments) -> list[Dim]:
        shape, asked, axes = shape_of(call.args[0]), call.get("s"), call.get("axes")
        if axes is None and asked is not None:
            axes = tuple(range(-len(asked), 0))
        places = axes_of(call.args[0], axes)
        if not places:
            return []
        if asked is None:
            return [given(shape[places[-1]])]
        whole = [shape[axis] if n is None or n == -1 else n for n, axis in zip(asked, places, strict=True)]
        last = given(shape[places[-1]]) if asked[-1] is None or asked[-1] == -1 else found(asked[-1])
        return [last, *whole[:-1]]

    return sizes


def _same(n: Any) -> Any:
    return n


TRANSFORMS: dict[str, Sizes] = {
    **dict.fromkeys(("fft", "ifft"), _one_axis(_same, _same)),
    **dict.fromkeys(("rfft", "ihfft"), _one_axis(_half, _half)),
    **dict.fromkeys(("irfft", "hfft"), _one_axis(_whole, _same)),
    **dict.fromkeys(("fft2", "ifft2", "fftn", "ifftn"), _axes(_same, _same)),
    **dict.fromkeys(("rfft2", "rfftn"), _axes(_half, _half)),
    **dict.fromkeys(("irfft2", "irfftn"), _axes(_whole, _same)),
}
