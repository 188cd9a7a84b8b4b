"""Takes nothing, gives the rows of functions whose result shares the memory of their operand.

NumPy itself makes the view, of a stand-in without data; symbolic sizes are followed by tagging the axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, SymInt, apply, hint_of
from jitmagic.ops.creation import as_shape
from jitmagic.ops.describe import array_meta
from jitmagic.ops.gradients import cast, unbroadcast
from jitmagic.ops.gradients.views import (
    of_copies,
    of_diagonal,
    of_field,
    of_imag,
    of_moveaxis,
    of_ravel,
    of_reshape,
    of_retyped,
    of_rollaxis,
    of_transpose,
    reshaped,
)
from jitmagic.ops.lowering import View
from jitmagic.ops.orders import inner_first
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import refuse, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called
from jitmagic.ops.sizes import product, same_size
from jitmagic.ops.surrogates import surrogate

__all__ = ["reshape_sizes", "stretched", "view_result"]

FIRST_TAG = 1009  # axis i of the tagged array has 1009 + i elements; larger than any number of axes


def view_result(x: ArrayMeta, make: Callable[[Any], Any]) -> Inferred:
    """What ``make`` gives for ``x``, if it only permutes, drops, adds and turns axes."""
    standin = x.standin()
    result = make(standin)
    if result is standin:
        return Inferred(x, same_as=0)
    if isinstance(result, np.generic):
        return Inferred(ArrayMeta.of(result))
    shape = _followed(x, make) if x.is_symbolic else result.shape
    return Inferred(ArrayMeta(result.dtype, shape, result.strides, writeable=result.flags.writeable), view_of=0)


def _followed(x: ArrayMeta, make: Callable[[Any], Any]) -> tuple[Dim, ...]:
    """The result's shape with symbolic sizes, found by tagging the axes."""
    tags = {FIRST_TAG + i: n for i, n in enumerate(x.shape)}
    sizes = tuple(n if isinstance(n, int) and n == 1 else FIRST_TAG + i for i, n in enumerate(x.shape))
    tagged = make(as_strided(np.zeros((), x.dtype), sizes, (0,) * x.ndim))
    return tuple(tags.get(n, n) for n in tagged.shape)


def _view_rule(call: Arguments) -> Inferred:
    rest, kwargs = call.args[1:], dict(call.kwargs)
    x = call.args[0]
    if not isinstance(x, ArrayMeta) or x.scalar:
        return probe(call)
    return view_result(x, lambda a: call.op.call(a, *rest, **kwargs))


def _diagonal(call: Arguments) -> Inferred:
    """The diagonal is the last axis; it is as long as the shorter of its two axes, beside the offset."""
    x, offset = call.args[0], call.get("offset")
    if not isinstance(x, ArrayMeta) or not x.is_symbolic or not isinstance(offset, int):
        return _view_rule(call)
    found = _view_rule(replace(call, args=(replace(x, shape=x.hint_shape), *call.args[1:])))
    assert isinstance(found.meta, ArrayMeta)  # it has refused what has no diagonal
    axes = [int(call.get(name)) % x.ndim for name in ("axis1", "axis2")]
    rows, columns = (x.shape[axis] for axis in axes)
    if hint_of(rows) == hint_of(columns) and same_size(rows, columns):
        length = rows - abs(offset)
    else:
        length = apply("min", rows + min(offset, 0), columns - max(offset, 0))
    rest = (n for axis, n in enumerate(x.shape) if axis not in axes)
    return replace(found, meta=found.meta.with_shape((*rest, apply("max", length, 0))))


def _newshape(call: Arguments) -> Any:
    shape = call.get("shape")
    return call.kwargs.get("newshape") if shape is None else shape


def reshape_sizes(x: ArrayMeta, wanted: Any, call: Arguments) -> tuple[Dim, ...]:
    """The new shape with ``-1`` worked out; refuses a total that does not fit."""
    sizes = list(wanted) if isinstance(wanted, tuple | list) else [wanted]
    if not all(isinstance(n, int | SymInt | np.integer) for n in sizes):
        if any(isinstance(n, ArrayMeta) for n in sizes):
            unsupported(call, "a shape that only the data tell")
        refuse(call)
    holes = [i for i, n in enumerate(sizes) if not isinstance(n, SymInt) and n < 0]
    rest = product(n if isinstance(n, SymInt) else int(n) for i, n in enumerate(sizes) if i not in holes)
    if len(holes) > 1 or (holes and sizes[holes[0]] != -1) or (holes and not isinstance(rest, SymInt) and rest == 0):
        refuse(call)
    if holes:
        if x.size % rest != 0:
            refuse(call)
        sizes[holes[0]] = x.size // rest
    elif not same_size(rest, x.size):
        refuse(call)
    return tuple(n if isinstance(n, SymInt) else int(n) for n in sizes)


def _reshape(call: Arguments) -> Inferred:
    """A view where the strides allow it, else a copy; NumPy decides on a stand-in."""
    x = array_meta(call.args[0])
    shape = reshape_sizes(x, _newshape(call), call)
    order, copy = call.get("order"), call.get("copy")
    hints = tuple(map(hint_of, shape))
    if copy is not True and not x.scalar and isinstance(call.args[0], ArrayMeta):
        try:
            found = np.reshape(x.standin(), hints, order=order, copy=False)
        except ValueError:
            if copy is False:
                raise
        else:
            return Inferred(ArrayMeta(x.dtype, shape, found.strides, writeable=found.flags.writeable), view_of=0)
    if not shape and x.scalar and isinstance(call.args[0], ArrayMeta):  # the method of NumPy's scalars gives one
        return Inferred(x)
    if order == "A":
        order = "F" if np.isfortran(x.standin()) else "C"
    return Inferred(replace(ArrayMeta.dense(x.dtype, shape, order), owns=False))


def _ravel(call: Arguments) -> Inferred:
    x, order = array_meta(call.args[0]), call.get("order")
    shape = (x.size,)
    if x.scalar or not isinstance(call.args[0], ArrayMeta):
        return Inferred(replace(ArrayMeta.dense(x.dtype, shape), owns=False))
    if _ravels_in_place(x, order):
        step = x.dtype.itemsize
        return Inferred(ArrayMeta(x.dtype, shape, (step,), writeable=x.writeable), view_of=0)
    return Inferred(ArrayMeta.dense(x.dtype, shape))


def _ravels_in_place(x: ArrayMeta, order: str) -> bool:
    """``ravel`` gives a view of contiguous arrays only; ``"K"`` of any array without gaps (asked on a small copy)."""
    flags = x.contiguous
    if order == "A":
        order = "F" if "F" in flags and "C" not in flags else "C"
    if order in ("C", "F"):
        return order in flags
    if 0 in x.hint_shape:
        return bool(flags)
    dense = sorted((abs(s), n) for s, n in zip(x.strides, x.hint_shape, strict=True) if n != 1)
    step = x.dtype.itemsize
    for stride, n in dense:
        if stride != step:
            return False
        step *= n
    return all(s > 0 for s, n in zip(x.strides, x.hint_shape, strict=True) if n != 1)


def _flatten(call: Arguments) -> Inferred:
    x = array_meta(call.args[0])
    if 0 in x.hint_shape:
        return Inferred(ArrayMeta.of(x.standin().flatten(call.get("order"))))
    return Inferred(ArrayMeta.dense(x.dtype, (x.size,)))


def _broadcast_to(call: Arguments) -> Inferred:
    x = array_meta(call.args[0])
    shape = as_shape(call.get("shape"), call)
    if len(shape) < x.ndim:
        refuse(call)
    lead = len(shape) - x.ndim
    for n, m in zip(x.shape, shape[lead:], strict=True):
        if not (isinstance(n, int) and n == 1) and not same_size(n, m) and n != 1:
            refuse(call)
    hints = tuple(map(hint_of, shape))
    found = np.broadcast_to(x.standin(), hints)
    shares = isinstance(call.args[0], ArrayMeta) and not x.scalar
    meta = ArrayMeta(x.dtype, shape, found.strides, writeable=False, owns=False)
    return Inferred(meta, view_of=0 if shares else None)


def stretched(x: Any, shape: tuple[int, ...]) -> Any:
    """The view that ``np.broadcast_arrays`` gives of one of its operands: NumPy lets it be written, with a warning."""
    return np.broadcast_arrays(x, np.broadcast_to(np.False_, shape))[0]


def _imag(call: Arguments) -> Inferred:
    """Of a real array: new read-only zeros."""
    x = call.args[0]
    if not isinstance(x, ArrayMeta) or x.scalar or x.dtype.kind == "c":
        return _view_rule(call)
    if not x.ndim or 0 in x.hint_shape:
        return Inferred(
            ArrayMeta.of(np.imag(x.standin()), x.shape) if x.ndim else ArrayMeta.of(np.imag(np.ones((), x.dtype)))
        )
    small = np.imag(surrogate(x, lambda n: min(hint_of(n), 2)))
    packed = ArrayMeta.packed(x.dtype, x.shape, inner_first(small.shape, small.strides))
    return Inferred(replace(packed, dtype=small.dtype, writeable=small.flags.writeable))


def _retyped(call: Arguments) -> Inferred:
    """``x.view(dtype)``: the last axis changes size if the item size does."""
    x, dtype = call.args[0], call.get("dtype")
    if (
        not isinstance(x, ArrayMeta)
        or x.scalar
        or call.get("type") is not None
        or (isinstance(dtype, type) and issubclass(dtype, np.ndarray))
    ):
        unsupported(call, "a view as another class")
    found = x.standin().view() if dtype is None else x.standin().view(dtype)
    if found.dtype.hasobject:
        unsupported(call, f"dtype {found.dtype}")
    shape = x.shape
    if x.ndim and found.dtype.itemsize != x.dtype.itemsize:
        last = (x.shape[-1] * x.dtype.itemsize) // found.dtype.itemsize
        if isinstance(x.shape[-1], SymInt):
            same_size(last * found.dtype.itemsize, x.shape[-1] * x.dtype.itemsize)
        shape = (*x.shape[:-1], last)
    return Inferred(ArrayMeta(found.dtype, shape, found.strides, writeable=found.flags.writeable), view_of=0)


def _variadic(x: Any, *axes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``x.transpose(1, 0)`` and ``x.transpose((1, 0))``."""
    axes = axes[0] if len(axes) == 1 else axes or None  # type: ignore[assignment]  # the class of rows
    return (x, axes if axes is None or isinstance(axes, tuple | list) else (axes,)), {}


def _variadic_shape(x: Any, *shape: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``x.reshape(2, 3)`` and ``x.reshape((2, 3))``."""
    return (x, shape[0] if len(shape) == 1 else shape), kwargs


def _method_view(a: Any, dtype: Any = None, type: Any = None) -> Any:
    given = {k: v for k, v in (("dtype", dtype), ("type", type)) if v is not None}
    return a.view(**given)


def _method_flatten(a: Any, order: str = "C") -> Any:
    return a.flatten(order)


VIEW = View()


def view_row(
    name: str, call: Any, *samples: Sample, forms: tuple[Form, ...] = (), meta: Any = _view_rule, **columns: Any
) -> None:
    op(name, call, meta=meta, forms=forms, lower=VIEW, samples=samples, **columns)


def _get_t(a: Any) -> Any:
    return a.T


def _get_mt(a: Any) -> Any:
    return a.mT


def _get_field(a: Any, dtype: Any, offset: int = 0) -> Any:
    return a.getfield(dtype, offset)


def _field(call: Arguments) -> Inferred:
    """A part of the bytes of each element, as another dtype; sizes and strides stay."""
    x, dtype = call.args[0], np.dtype(call.get("dtype"))
    if not isinstance(x, ArrayMeta) or x.scalar or dtype.hasobject:
        unsupported(call, "what is no array of numbers")
    np.zeros(1, x.dtype).getfield(dtype, call.get("offset"))
    return Inferred(replace(x, dtype=dtype), view_of=0)


def _turned(g: Any, ans: Any, a: Any) -> Any:
    return np.swapaxes(g, -1, -2)


view_row(
    "transpose",
    np.transpose,
    called(),
    called((1, 2, 0), shape=(4, 3, 2)),
    forms=(Form("transpose", _variadic),),
    vjp=(of_transpose,),
)
view_row("T", _get_t, called(), called(shape=(4, 3, 2)), forms=(Form("T"),), vjp=(lambda g, ans, a: g.T,))
view_row("mT", _get_mt, called(), called(shape=(4, 3, 2)), forms=(Form("mT"),), vjp=(_turned,))
view_row("matrix_transpose", np.matrix_transpose, called(), forms=(Form(np.linalg.matrix_transpose),), vjp=(_turned,))
view_row(
    "swapaxes",
    np.swapaxes,
    called(0, 1),
    called(0, -1, shape=(4, 3, 2)),
    forms=(Form("swapaxes"),),
    vjp=(lambda g, ans, a, axis1, axis2: np.swapaxes(g, axis1, axis2),),
)
view_row("moveaxis", np.moveaxis, called(0, 1), called((0, 1), (2, 0), shape=(4, 3, 2)), vjp=(of_moveaxis,))
view_row("rollaxis", np.rollaxis, called(1), called(2, shape=(4, 3, 2)), called(0, 2), vjp=(of_rollaxis,))
view_row(
    "squeeze",
    np.squeeze,
    called(shape=(4, 1, 2)),
    called(axis=1, shape=(4, 1, 2)),
    forms=(Form("squeeze"),),
    vjp=(reshaped,),
)
view_row("expand_dims", np.expand_dims, called(0), called((0, 2)), vjp=(reshaped,))
view_row(
    "diagonal",
    np.diagonal,
    called(shape=(4, 4)),
    called(1, 0, 2, shape=(4, 3, 2)),
    forms=(Form("diagonal"),),
    meta=_diagonal,
    vjp=(of_diagonal,),
)
view_row("real", np.real, called(), forms=(Form("real"),), vjp=(lambda g, ans, a: cast(g, a),))
view_row("imag", np.imag, called(), forms=(Form("imag"),), meta=_imag, vjp=(of_imag,))
view_row(
    "flip",
    np.flip,
    called(),
    called(axis=0),
    called((0, 1)),
    vjp=(lambda g, ans, a, axis=None: np.flip(g, axis),),
)
view_row("fliplr", np.fliplr, called(), vjp=(lambda g, ans, a: np.fliplr(g),))
view_row("flipud", np.flipud, called(), called(shape=(5,)), vjp=(lambda g, ans, a: np.flipud(g),))
view_row(
    "rot90",
    np.rot90,
    called(),
    called(2),
    called(-1, (0, 2), shape=(4, 3, 2)),
    vjp=(lambda g, ans, a, k=1, axes=(0, 1): np.rot90(g, -k, axes),),
)
view_row("atleast_1d", np.atleast_1d, called(), called(shape=()), vjp=(of_copies,))
view_row("atleast_2d", np.atleast_2d, called(), called(shape=(5,)), vjp=(of_copies,))
view_row("atleast_3d", np.atleast_3d, called(), called(shape=(5,)), vjp=(of_copies,))
view_row(
    "broadcast_to",
    np.broadcast_to,
    called((2, 4, 3)),
    called((4, 3)),
    meta=_broadcast_to,
    vjp=(lambda g, ans, a, shape=None, subok=False: unbroadcast(g, a),),
)
view_row(
    "stretched",
    stretched,
    called((2, 4, 3)),
    meta=_broadcast_to,  # read-only: who writes into it is to hear NumPy's warning, so that runs plainly
    vjp=(lambda g, ans, x, shape: unbroadcast(g, x),),
)
view_row(
    "reshape",
    np.reshape,
    called((3, 4)),
    called(-1),
    called((2, -1), order="F"),
    Sample(lambda rng: (np.float64(rng.random()), ())),
    forms=(Form("reshape", _variadic_shape),),
    meta=_reshape,
    vjp=(of_reshape,),
)
view_row(
    "ravel",
    np.ravel,
    called(),
    called(order="K"),
    called(order="F"),
    forms=(Form("ravel"),),
    meta=_ravel,
    vjp=(of_ravel,),
)
view_row(
    "view",
    _method_view,
    called(),
    called("i8"),
    called("f4"),
    forms=(Form("view"),),
    meta=_retyped,
    vjp=(of_retyped,),
    note="differentiable between a real dtype and the complex dtype that pairs it",
)
view_row(
    "getfield",
    _get_field,
    called("i4", 4),
    called("f8"),
    forms=(Form("getfield"),),
    meta=_field,
    vjp=(of_field,),
    note="of complex numbers the parts have a gradient, of others the numbers themselves",
)
op(
    "flatten",
    _method_flatten,
    meta=_flatten,
    forms=(Form("flatten"),),
    samples=(called(), called("F")),
    vjp=(of_ravel,),
)
