"""Takes nothing, gives the rows of functions that make arrays of known values."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.describe import array_meta, describe
from jitmagic.ops.gradients import fit, shape_of
from jitmagic.ops.gradients.picking import of_diagflat, of_tri, of_vander, spaced_rules
from jitmagic.ops.gradients.shapes import counted
from jitmagic.ops.lowering import Fill
from jitmagic.ops.orders import inner_first
from jitmagic.ops.probing import probe, sized
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.refusals import unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called
from jitmagic.ops.surrogates import surrogate

__all__ = ["as_shape"]


def as_shape(value: Any, call: Arguments) -> tuple[Dim, ...]:
    """A shape argument: one size, or several. Raises NumPy's error for a negative or non-integer size."""
    sizes = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not all(isinstance(n, int | SymInt | np.integer) for n in sizes):
        if any(isinstance(n, ArrayMeta) or not isinstance(n, float | str | None) for n in sizes):
            unsupported(call, "a shape that only the data tell")
        np.empty(value)
    known = tuple(n if isinstance(n, SymInt) else int(n) for n in sizes)
    if any(n < 0 for n in known):
        np.empty(tuple(hint_of(n) for n in known))
    return known


def _dtype(value: Any, default: Any = np.float64) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(default if value is None else value)
    return dtype


def _new(call: Arguments, dtype: np.dtype[Any], shape: tuple[Dim, ...]) -> Inferred:
    order = call.get("order")
    if order not in ("C", "F"):
        np.empty(0, order=order)
    if dtype.hasobject:
        unsupported(call, f"dtype {dtype}")
    return Inferred(ArrayMeta.dense(dtype, shape, order))


def _filled(call: Arguments) -> Inferred:
    return _new(call, _dtype(call.get("dtype")), as_shape(call.get("shape"), call))


def _full(call: Arguments) -> Inferred:
    shape = as_shape(call.get("shape"), call)
    value, dtype = call.get("fill_value"), call.get("dtype")
    meta = array_meta(value)
    if meta.shape:
        unsupported(call, "an array as fill value")
    if dtype is not None and type(value) in (int, float, complex, bool):
        with Quiet():
            np.full((1,), value, dtype=dtype)
    return _new(call, _dtype(dtype, meta.dtype), shape)


def _alike(call: Arguments) -> Inferred:
    """Same shape and layout as the prototype: NumPy decides on an array with sizes clipped to 2."""
    proto = array_meta(call.args[0] if call.args else next(iter(call.kwargs.values())))
    order = call.get("order")
    dtype = np.dtype(call.get("dtype") or proto.dtype)
    if dtype.itemsize == 0:
        unsupported(call, f"dtype {dtype}")
    shape = call.get("shape")
    if shape is not None:
        sizes = as_shape(shape, call)
        if len(sizes) != proto.ndim and order == "K":
            order = "C"
    else:
        sizes = proto.shape
    if call.op.name == "full_like":
        value = call.get("fill_value")
        if describe(value) is None or array_meta(value).shape:
            unsupported(call, "an array as fill value")
        if type(value) in (int, float, complex, bool):
            with Quiet():
                np.full_like(np.empty(1, proto.dtype), value, dtype=dtype)
    return Inferred(like(proto, sizes, dtype, order))


def like(proto: ArrayMeta, sizes: tuple[Dim, ...], dtype: np.dtype[Any], order: str) -> ArrayMeta:
    """What ``np.empty_like(proto, dtype, order, shape=sizes)`` gives."""
    base = surrogate(ArrayMeta(proto.dtype, proto.shape, proto.strides), lambda n: min(hint_of(n), 2))
    clipped = tuple(min(hint_of(n), 2) for n in sizes)
    if 0 in clipped:
        base = proto.standin()
        clipped = tuple(map(hint_of, sizes))
        made = np.empty_like(base, dtype, order, shape=clipped, subok=False)  # type: ignore[call-overload]  # the stubs miss this combination
        return ArrayMeta(dtype, sizes, made.strides)
    made = np.empty_like(base, dtype, order, shape=clipped, subok=False)  # type: ignore[call-overload]  # the stubs miss this combination
    return ArrayMeta.packed(dtype, sizes, inner_first(made.shape, made.strides))


def _arange(call: Arguments) -> Inferred:
    """Lengths of integer ranges stay symbolic; others are computed by NumPy's own formula from known numbers."""
    bounds = [a for a in call.args if a is not None]
    named = {k: call.kwargs[k] for k in ("start", "stop", "step") if call.kwargs.get(k) is not None}
    dtype = call.kwargs.get("dtype", call.args[3] if len(call.args) > 3 else None)
    start, stop, step = _bounds(bounds[:3], named)
    if any(isinstance(b, SymInt) for b in (start, stop, step)):
        if not all(isinstance(b, int | SymInt) for b in (start, stop, step)):
            start, stop, step = (int(b) if isinstance(b, SymInt) else b for b in (start, stop, step))
        else:
            return Inferred(ArrayMeta.dense(_dtype(dtype, np.int64), (_range_length(start, stop, step),)))
    if not all(isinstance(b, int | float | np.generic | str) for b in (start, stop, step)):  # texts: days
        unsupported(call, "bounds that only the data tell")
    return Inferred(ArrayMeta.of(np.arange(start, stop, step, dtype=dtype)))


def _bounds(given: list[Any], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    names = ("start", "stop", "step")
    if len(given) == 1 and "stop" not in named:
        named = {"stop": given[0], **named}
        given = []
    values = {"start": 0, "step": 1, **dict(zip(names, given, strict=False)), **named}
    return values["start"], values["stop"], values["step"]


def _range_length(start: Any, stop: Any, step: Any) -> Dim:
    if step == 0:
        raise ZeroDivisionError("division by zero")
    span, stride = (stop - start, step) if step > 0 else (start - stop, -step)
    if span < 0:
        return 0
    return span if stride == 1 else (span + (stride - 1)) // stride  # type: ignore[no-any-return]  # arithmetic of sizes is untyped


def shaped(name: str, value: float | None) -> None:
    function = getattr(np, name)
    op(
        name,
        function,
        meta=_filled,
        signature="shape, dtype=None, order='C', *, device=None, like=None",
        lower=Fill(value),
        vjp=(),
        samples=(Sample(lambda rng: ((4, 3),)), Sample(lambda rng: (5,), {"dtype": "f4"})),
    )
    op(
        f"{name}_like",
        getattr(np, f"{name}_like"),
        meta=_alike,
        signature="a, dtype=None, order='K', subok=True, shape=None, *, device=None",
        lower=Fill(value),
        vjp=(),
        samples=(called(), called(dtype="i2"), called(shape=(2, 5))),
    )


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", None)):
    shaped(_name, _value)
op(
    "full",
    np.full,
    meta=_full,
    vjp=(None, lambda g, ans, shape, fill_value, *args, **kwargs: fit(g, fill_value)),
    signature="shape, fill_value, dtype=None, order='C', *, device=None, like=None",
    samples=(Sample(lambda rng: ((4, 3), 2.5)), Sample(lambda rng: (5, 7), {"dtype": "f4"})),
)
op(
    "full_like",
    np.full_like,
    meta=_alike,
    vjp=(
        lambda g, ans, a, *args, **kwargs: np.zeros_like(a),
        lambda g, ans, a, fill_value, *args, **kwargs: fit(g, fill_value),
    ),
    signature="a, fill_value, dtype=None, order='K', subok=True, shape=None, *, device=None",
    samples=(called(2), called(1.5, dtype="f4")),
)


def _arange_start(g: Any, ans: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    return fit(g, start) if stop is not None else np.zeros_like(start)


def _arange_stop(g: Any, ans: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    return np.zeros_like(stop)


def _arange_step(g: Any, ans: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    return fit(g * counted(g, 0), step)


op(
    "arange",
    np.arange,
    meta=_arange,
    warns=frozenset({"divide", "over", "invalid"}),  # the length is a quotient
    vjp=(_arange_start, _arange_stop, _arange_step),
    note="the length, and derivatives by the end, count as constant",
    signature="start_or_stop, stop=None, step=1, *, dtype=None, device=None, like=None",
    samples=(
        Sample(lambda rng: (7,)),
        Sample(lambda rng: (2, 9, 3)),
        Sample(lambda rng: (9, 0, -2)),
        Sample(lambda rng: (0.5, 4.0, 0.25)),
        Sample(lambda rng: (4,), {"dtype": "f4"}),
    ),
)


def _two_sizes(call: Arguments) -> Inferred:
    """``eye``, ``tri``, ``identity``: N rows, M (else N) columns."""
    names = list(call.op.signature.parameters)
    (rows,) = as_shape(call.get(names[0]), call)
    wide = call.get("M") if "M" in names else None
    (columns,) = (rows,) if wide is None else as_shape(wide, call)
    default = np.dtype(np.float64)
    dtype = np.dtype(call.get("dtype")) if call.get("dtype") is not None else default
    order = call.get("order") if "order" in names else "C"
    return Inferred(ArrayMeta.dense(dtype, (rows, columns), order))


def _spaced(call: Arguments) -> Inferred:
    """``linspace``, ``logspace``, ``geomspace``: NumPy makes one of two steps, the number of steps is an argument."""
    num = call.kwargs.get("num", call.args[2] if len(call.args) > 2 else 50)
    (count,) = as_shape(num, call)
    ends = [
        array_meta(call.kwargs.get(n, call.args[i] if len(call.args) > i else None))
        for i, n in enumerate(("start", "stop"))
    ]
    if any(m.shape for m in ends):
        unsupported(call, "array ends")
    dtype = call.get("dtype")
    start, stop = (np.ones((), m.dtype)[()] for m in ends)
    found = call.op.call(start, stop, 2, dtype=dtype)
    line = ArrayMeta.dense(found.dtype, (count,)).owned_as(found)
    if "retstep" in call.op.signature.parameters and call.get("retstep"):
        return Inferred((line, ArrayMeta(np.dtype(np.float64), scalar=True)))
    return Inferred(line)


RUNNING = frozenset({"over", "under", "invalid"})  # what products report
op("tril", np.tril, meta=probe, vjp=(of_tri(np.tril),), samples=(called(), called(k=1), called(-1, shape=(4, 4))))
op("triu", np.triu, meta=probe, vjp=(of_tri(np.triu),), samples=(called(), called(k=1), called(-1, shape=(4, 4))))
op(
    "vander",
    np.vander,
    meta=probe,
    warns=RUNNING,
    vjp=(of_vander,),
    samples=(called(shape=(4,)), called(N=3, shape=(4,))),
)


def _diagflat_sizes(call: Arguments) -> list[Dim]:
    k = call.get("k")
    return [prod(shape_of(call.get("v"))) + abs(k)] if isinstance(k, int) else []


op(
    "diagflat",
    np.diagflat,
    meta=sized(_diagflat_sizes),
    vjp=(of_diagflat,),
    samples=(called(shape=(3,)), called(k=1, shape=(3,))),
)
for _name, _samples in (
    ("eye", (Sample(lambda rng: (4,)), Sample(lambda rng: (4, 3), {"k": 1, "dtype": "f4"}))),
    ("tri", (Sample(lambda rng: (4,)), Sample(lambda rng: (4, 3), {"k": 1}))),
    ("identity", (Sample(lambda rng: (4,)),)),
):
    op(_name, getattr(np, _name), meta=_two_sizes, vjp=(), samples=_samples)
for _name, _kind in (("linspace", "linear"), ("logspace", "logarithmic"), ("geomspace", "geometric")):
    op(
        _name,
        getattr(np, _name),
        meta=_spaced,
        vjp=spaced_rules(_kind),
        samples=(
            Sample(lambda rng: (1.0, 2.0)),
            Sample(lambda rng: (1, 5), {"num": 7}),
            Sample(lambda rng: (1, 5, 4), {"dtype": "f4"}),
        ),
    )
