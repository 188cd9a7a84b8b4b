"""Takes a ufunc call on descriptions, gives its result as NumPy would: dtypes, sizes, memory order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.shapes import hint_of
from jitmagic.ops.describe import ONE_OF_TYPE, array_meta, describe
from jitmagic.ops.orders import allocated, inner_first
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.refusals import refuse
from jitmagic.ops.sizes import broadcast, same_size
from jitmagic.ops.surrogates import surrogate

__all__ = ["keep_outs", "loop_dtypes", "ufunc_arguments", "ufunc_rule"]

SMALL = range(-128, 128)  # Python integers that fit every integer dtype but, if negative, the unsigned ones


def ufunc_arguments(
    ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Canonical form: inputs by position, outputs under ``out`` (alone, or a tuple if there are several)."""
    outs = args[ufunc.nin :]
    if outs and "out" not in kwargs and len(outs) <= ufunc.nout:
        given = outs + (None,) * (ufunc.nout - len(outs))
        args, kwargs = args[: ufunc.nin], {**kwargs, "out": given}
    out = kwargs.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    return args, kwargs


def ufunc_rule(call: Arguments) -> Inferred:
    """The rule of every elementwise ufunc."""
    ufunc: np.ufunc = call.op.call  # type: ignore[assignment]  # the class of rows
    if len(call.args) != ufunc.nin:
        refuse(call)
    outs = _outs(ufunc, call.kwargs.get("out"))
    given = [m for m in outs if m is not None]
    if any(m.scalar or not m.writeable for m in given):
        refuse(call)
    where = call.kwargs.get("where", True)
    dtypes = result_dtypes(call)
    if any(dtype.hasobject for dtype in dtypes):
        raise Unsupported("dtype", "object")
    inputs = [describe(a) for a in call.args]
    arrays = [m for m in inputs if isinstance(m, ArrayMeta)]
    masks = [] if where is True else [array_meta(where)]
    shape = broadcast(*(m.shape for m in (*arrays, *masks)))
    if shape is None:
        refuse(call)
    if given:
        full = broadcast(shape, *(m.shape for m in given))
        if full is None or any(not _same_shape(m.shape, full) for m in given):
            refuse(call)
        shape = full
    operands = [*arrays, *masks, *given]
    fresh = _fresh(dtypes, shape, operands, call)
    return keep_outs(tuple(o or f for o, f in zip(outs, fresh, strict=True)), bool(given))


def keep_outs(metas: tuple[Meta, ...], has_out: bool) -> Inferred:
    """One meta alone or several as a tuple; with ``out=`` the result is that very array."""
    same = "out" if has_out else None
    return Inferred(metas[0] if len(metas) == 1 else metas, same_as=same)


def _fresh(dtypes: tuple[Any, ...], shape: Any, operands: list[ArrayMeta], call: Arguments) -> tuple[ArrayMeta, ...]:
    if not shape and "out" not in call.kwargs:
        return tuple(ArrayMeta(dtype, scalar=True) for dtype in dtypes)
    order = call.kwargs.get("order", "K")
    if len(shape) > 1 and 1 in map(hint_of, shape) and 0 not in map(hint_of, shape):
        return _placed_by_running(call, dtypes, shape)
    return tuple(allocated(dtype, shape, operands, order) for dtype in dtypes)


def _placed_by_running(call: Arguments, dtypes: tuple[Any, ...], shape: Any) -> tuple[ArrayMeta, ...]:
    """Strides of axes of size 1 depend on which of NumPy's paths runs: let it run on the smallest arrays."""

    def small(value: Any) -> Any:
        meta = describe(value)
        if isinstance(meta, ArrayMeta):
            return surrogate(meta, lambda n: min(hint_of(n), 2))
        return ONE_OF_TYPE[meta.type] if meta else None

    options = {k: v for k, v in call.kwargs.items() if k != "out"}
    if options.pop("where", True) is not True:
        options |= {"where": small(call.kwargs["where"]), "out": None}
    with Quiet():
        result = call.op.call(*map(small, call.args), **options)
    results = result if isinstance(result, tuple) else (result,)
    return tuple(
        ArrayMeta.packed(dtype, shape, inner_first(r.shape, r.strides))
        for dtype, r in zip(dtypes, results, strict=True)
    )


def _outs(ufunc: np.ufunc, out: Any) -> tuple[ArrayMeta | None, ...]:
    if out is None:
        return (None,) * ufunc.nout
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != ufunc.nout or not all(isinstance(m, ArrayMeta | None) for m in given):
        raise Unsupported("extern-unknown", f"{ufunc.__name__} with this out=")
    return given


def _same_shape(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(same_size(n, m) for n, m in zip(a, b, strict=True))


def result_dtypes(call: Arguments) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the results. Raises NumPy's error if there is no loop, a cast is refused, or an int too large."""
    has_out = call.kwargs.get("out") is not None
    kwargs = tuple((k, _option(k, v)) for k, v in sorted(call.kwargs.items()) if k != "where" or has_out)
    return _ask(call.op.call, tuple(_operand(a) for a in call.args), kwargs)


def _operand(value: Any) -> Any:
    """A hashable stand-in that NumPy types in the same way: a dtype, or a type and a Python number of it."""
    if type(value) is int:
        return int, value if value not in SMALL or value < 0 else 1
    meta = describe(value)
    if isinstance(meta, PyMeta):
        return meta.type, ONE_OF_TYPE[meta.type]
    if meta is None:
        raise Unsupported("argument", "None")
    return meta.dtype


def _option(name: str, value: Any) -> Any:
    """Arrays among the options as dtypes; other values as NumPy gets them."""
    if name == "out" and isinstance(value, tuple):
        return tuple(m.dtype if isinstance(m, ArrayMeta) else m for m in value)
    if name == "where":
        return array_meta(value).dtype
    return value.dtype if isinstance(value, ArrayMeta) else value


@lru_cache(maxsize=4096)
def _ask(ufunc: np.ufunc, operands: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> tuple[np.dtype[Any], ...]:
    """Call the ufunc on empty arrays: every check on types happens, nothing is computed."""
    options = {k: _empty(v) if k in ("out", "where") else v for k, v in kwargs}
    with Quiet():
        result = ufunc(*(o[1] if isinstance(o, tuple) else _empty(o) for o in operands), **options)
    return tuple(r.dtype for r in (result if isinstance(result, tuple) else (result,)))


def _empty(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_empty, value))
    return np.empty(0, value) if isinstance(value, np.dtype) else value


def loop_dtypes(call: Arguments) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy runs: one per input, then one per output."""
    weak: dict[type, Any] = {bool: np.dtype(bool)}
    kinds = [m.dtype if isinstance(m, ArrayMeta) else weak.get(m.type, m.type) for m in map(describe, call.args) if m]
    if not any(isinstance(k, np.dtype) for k in kinds):
        kinds = [array_meta(a).dtype for a in call.args]
    outs = [m.dtype if m else None for m in _outs(call.op.call, call.kwargs.get("out"))]  # type: ignore[arg-type]  # the stubs are narrower
    options: Mapping[str, Any] = {k: v for k, v in call.kwargs.items() if k in ("casting", "signature")}
    if call.kwargs.get("dtype") is not None:
        options = {**options, "signature": (None,) * len(kinds) + (np.dtype(call.kwargs["dtype"]),) * len(outs)}
    return call.op.call.resolve_dtypes((*kinds, *outs), **options)  # type: ignore[no-any-return, attr-defined]  # callables are untyped
