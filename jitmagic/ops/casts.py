"""Takes nothing, gives the rows that copy an array, or give it another dtype or memory order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta, find_arrays
from jitmagic.ops.gradients import as_operand
from jitmagic.ops.lowering import Cast
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called
from jitmagic.ops.spreading import clipped, laid_out

__all__: list[str] = []

INVALID = frozenset({"invalid", "over", "under"})


def _astype(
    a: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    return a.astype(dtype, order=order, casting=casting, subok=subok, copy=copy)


def _converted(call: Arguments) -> Inferred:
    """Asked on a tiny array of the same layout: a new array, or the operand itself if nothing is to be done."""
    x = call.args[0] if call.args else None
    if not isinstance(x, ArrayMeta):
        return _from_other(call)
    small = clipped(x)
    with Quiet():
        result = call.op.call(small, *call.args[1:], **call.kwargs)
    if result is small:
        return Inferred(x, same_as=0)
    if (
        isinstance(result, np.ndarray)
        and result.size
        and isinstance(small, np.ndarray)
        and np.may_share_memory(result, small)
    ):
        unsupported(call, "a view that is no copy")
    lead = np.ndim(result) - x.ndim
    return Inferred(laid_out(result, (1,) * lead + x.shape))


def _from_other(call: Arguments) -> Inferred:
    """Lists and Python numbers: constants are converted for real, the rest by what is known of the elements."""
    value = call.args[0]
    if not find_arrays(value) and _is_constant(value):
        with Quiet():
            made = call.op.call(*call.args, **call.kwargs)
            return Inferred(ArrayMeta.of(made).owned_as(made))
    meta = array_meta(value)
    options = {k: v for k, v in call.kwargs.items() if k not in ("copy",)}
    made = call.op.call(np.ones((1,) * meta.ndim, meta.dtype), *call.args[1:], **options)
    lead = made.ndim - meta.ndim
    order = "F" if options.get("order") == "F" or call.op.name == "asfortranarray" else "C"
    result = ArrayMeta.dense(made.dtype, (1,) * lead + meta.shape, order).owned_as(made)
    return Inferred(replace(result, strides=(0,) * result.ndim) if 0 in result.hint_shape else result)


def _is_constant(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_constant, value))
    return type(value) in (bool, int, float, complex, range)


def _copy_method(a: Any, order: str = "C") -> Any:
    return a.copy(order)


def of_cast(g: Any, ans: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    """Also of a nested list of arrays and numbers: a list of cotangents."""
    if isinstance(a, list | tuple):
        return [of_cast(g[i], None, item) for i, item in enumerate(a)]
    return as_operand(g, a)


ARRAY_SAMPLES = (
    called(),
    called(dtype="f4"),
    called(order="F"),
    Sample(lambda rng: ([1, 2.5],)),
    Sample(lambda rng: ([rng.random(3)] * 2,)),
)

op(
    "astype",
    _astype,
    meta=_converted,
    forms=(Form("astype"), Form(np.astype)),
    lower=Cast(),
    warns=INVALID,
    vjp=(of_cast,),
    samples=(called("f4"), called(np.int64), called("c16"), called("f8", copy=False), called("?", order="F")),
)
op(
    "copy",
    np.copy,
    meta=_converted,
    lower=Cast(),
    vjp=(of_cast,),
    samples=(called(), called(order="C")),
)
op(
    "copy_method",
    _copy_method,
    meta=_converted,
    forms=(Form("copy"),),
    lower=Cast(),
    vjp=(of_cast,),
    samples=(called(), called(order="K"), Sample(lambda rng: (np.float64(rng.random()),))),
    note="the copy of a NumPy scalar is a scalar, where np.copy gives an array",
)
for _name in ("array", "asarray", "asanyarray"):
    op(_name, getattr(np, _name), meta=_converted, warns=INVALID, raises=True, vjp=(of_cast,), samples=ARRAY_SAMPLES)
for _name in ("ascontiguousarray", "asfortranarray"):
    op(
        _name,
        getattr(np, _name),
        meta=_converted,
        warns=INVALID,
        raises=True,
        vjp=(of_cast,),
        samples=(called(), called(dtype="f4")),
    )


def _swapped(call: Arguments) -> Inferred:
    if call.get("inplace") is not False:
        unsupported(call, "swapping bytes in place")
    return _converted(call)


op(
    "byteswap",
    lambda a, inplace=False: a.byteswap(inplace),
    meta=_swapped,
    forms=(Form("byteswap"),),
    no_vjp="the bytes of a number are no smooth function of it",
    samples=(called(),),
)
