"""Takes a call of a function without a row, gives sizes that its result may have besides those of its operands.

They are said in terms of the sizes of the operands, which may be symbols. Whether one is that of an axis of the result
is found out by running the function (``probe``), and what really comes out is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.graph.shapes import Dim
from jitmagic.ops.gradients.shapes import axes_of, shape_of
from jitmagic.ops.probing import Sizes
from jitmagic.ops.record import Arguments

__all__ = ["sizes_of"]

Change = Callable[[Any], Any]


def sizes_of(function: Any) -> Sizes | None:
    """The rule for ``function`` of ``numpy.fft`` or ``scipy.fft``; None for other functions."""
    module = getattr(function, "__module__", None) or ""
    if not module.startswith(("numpy.fft", "scipy.fft")):
        return None
    return TRANSFORMS.get(getattr(function, "__name__", ""))


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
