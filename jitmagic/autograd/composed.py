"""Takes nothing, gives some functions of NumPy made of others that have rules; they only move elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.bodies import body_on_tensors
from jitmagic.autograd.by_value import BY_VALUE
from jitmagic.autograd.polynomials import POLYNOMIALS
from jitmagic.autograd.recorded import raw

__all__ = ["COMPOSED"]


def _diag(v: Any, k: int = 0) -> Any:
    return np.diagflat(v, k) if np.ndim(v) == 1 else np.diagonal(v, k)


def _block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, *(np.ndim(leaf) for leaf in _leaves(arrays)))

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return np.concatenate([joined(p, level + 1) for p in part], axis=-(depth - level))
        return np.reshape(part, (1,) * (ndim - np.ndim(part)) + np.shape(part))

    return joined(arrays, 0)


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value)) if isinstance(value, list) else 0


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, list) else [value]


def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    shape = np.broadcast_shapes(*map(np.shape, args))
    return tuple(a if np.shape(a) == shape else np.broadcast_to(a, shape) for a in args)


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    last = np.moveaxis(arr, axis, -1)
    kept = np.shape(last)[:-1]
    found = [func1d(last[place], *args, **kwargs) for place in np.ndindex(*kept)]
    inner = np.shape(found[0])
    whole = np.reshape(np.stack(found), kept + inner)
    place = axis % np.ndim(arr)
    return np.moveaxis(whole, tuple(range(len(kept), len(kept) + len(inner))), tuple(range(place, place + len(inner))))


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """NumPy's own, which asks for the class of the conditions: they are plain arrays."""
    body: Any = body_on_tensors(np.piecewise)
    return body(x, raw(condlist), funclist, *args, **kw)


def _histogramdd(sample: Any, *args: Any, **options: Any) -> Any:
    """NumPy's own, which takes one array of coordinates for a list of them."""
    body: Any = body_on_tensors(np.histogramdd)
    return body(np.stack(sample, axis=-1) if isinstance(sample, list | tuple) else sample, *args, **options)


COMPOSED: dict[Any, Callable[..., Any]] = {
    np.diag: _diag,
    np.block: _block,
    np.broadcast_arrays: _broadcast_arrays,
    np.apply_along_axis: _apply_along_axis,
    np.piecewise: _piecewise,
    np.histogramdd: _histogramdd,
    **POLYNOMIALS,
    **BY_VALUE,
}
