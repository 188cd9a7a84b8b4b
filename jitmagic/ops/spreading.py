"""Takes a call that works element by element on broadcast operands, gives its result; NumPy is asked on tiny arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.describe import ONE_OF_TYPE, array_meta, replace_leaves
from jitmagic.ops.orders import inner_first
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.refusals import refuse
from jitmagic.ops.sizes import Shape, broadcast
from jitmagic.ops.surrogates import surrogate

__all__ = ["clipped", "laid_out", "run_clipped", "spread"]


_KNOWN = (list, tuple, np.ndarray)  # operands whose elements are known keep their sizes, unless they are described


def clipped(value: Any) -> Any:
    """The nesting with small arrays of the same layouts: no axis longer than 2."""

    def leaf(v: Any) -> Any:
        if isinstance(v, ArrayMeta):
            return surrogate(v, lambda n: min(hint_of(n), 2))
        if isinstance(v, PyMeta):
            return ONE_OF_TYPE[v.type]
        return v.hint if isinstance(v, SymInt) else v

    return replace_leaves(value, leaf)


def run_clipped(call: Arguments, args: tuple[Any, ...] | None = None) -> Any:
    """The operation on such arrays."""
    with Quiet():
        return call.op.call(*clipped(call.args if args is None else args), **clipped(dict(call.kwargs)))


def laid_out(small: Any, shape: tuple[Dim, ...]) -> ArrayMeta:
    """A new array of ``shape`` with dtype, memory order and kind of ``small``, which NumPy made of tiny operands."""
    if isinstance(small, np.generic):
        return ArrayMeta(small.dtype, scalar=True)
    if small.dtype.hasobject:
        raise Unsupported("dtype", "object")
    if 0 in map(hint_of, shape):
        return ArrayMeta(small.dtype, shape, _empty_strides(small, shape)).owned_as(small)
    return ArrayMeta.packed(small.dtype, shape, inner_first(small.shape, small.strides)).owned_as(small)


def _empty_strides(small: np.ndarray[Any, Any], shape: tuple[Dim, ...]) -> tuple[int, ...]:
    """NumPy's iterator gives zeros beyond the empty axis, other allocations count it as 1."""
    axes = sorted(range(small.ndim), key=lambda axis: (small.strides[axis] == 0, small.strides[axis], -axis))
    if not any(small.strides) and small.ndim:
        return (0,) * small.ndim
    packed = ArrayMeta.packed(small.dtype, shape, tuple(axes)).strides
    kept: list[int] = [p if s else 0 for p, s in zip(packed, small.strides, strict=True)]
    return tuple(kept)


def spread(call: Arguments) -> Inferred:
    """The rule: operands are all arguments by position; with ``out=`` the result is that array."""
    out = call.kwargs.get("out")
    operands = [array_meta(a) for a in call.args if a is not None]
    shape: Shape | None = broadcast(*(m.shape for m in operands))
    if shape is None:
        refuse(call)
    small = run_clipped(call, tuple(array_meta(a) if isinstance(a, _KNOWN) else a for a in call.args))
    if isinstance(out, ArrayMeta):
        if broadcast(shape, out.shape) != out.shape:
            refuse(call)
        return Inferred(out, same_as="out")
    return Inferred(laid_out(small, shape))
