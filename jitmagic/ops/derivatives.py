"""The nodes that ask for derivatives in a captured graph, and what their expansion is made of.

* ``detach(x)``: ``x`` as a constant;
* ``watch(x)``: ``x`` itself, as the value with respect to which a derivative is taken;
* ``with_history_of(value, old)``: ``value`` as ``old`` after a write that is not recorded;
* ``gradient(y, cotangent, (x1, x2, ...))``: one entry per watched value; ``jitmagic.aot`` puts the backward
  computation in its place, so nothing ever runs it;
* ``scatter_add(like, values, index)``: zeros like ``like`` to which ``values`` are added at ``index``, repeated places
  included.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.errors import InternalError
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.registry import parse_signature

__all__ = ["DETACH", "GRADIENT", "HISTORY_OF", "SCATTER_ADD", "WATCH", "gradient_meta"]


def _watch(value: Any) -> Any:
    return value.view() if isinstance(value, np.ndarray) else value


def _watch_meta(call: Arguments) -> Inferred:
    meta = call.args[0]
    is_array = isinstance(meta, ArrayMeta) and not meta.scalar
    return Inferred(meta, view_of=0 if is_array else None)


def _pass_on(g: Any, ans: Any, x: Any) -> Any:
    return g


WATCH = Op("watch", _watch, _watch_meta, signature=parse_signature("x, /"), lower=View(), vjp=(_pass_on,))


DETACH = replace(WATCH, name="detach", vjp=())


# ``with_history_of(value, old)``: the value, whose derivatives are those of ``old``: a write that nothing records.
HISTORY_OF = Op(
    "with_history_of",
    lambda value, old: _watch(value),
    _watch_meta,
    signature=parse_signature("value, old, /"),
    lower=View(),
    vjp=(lambda g, ans, value, old: np.zeros_like(g), lambda g, ans, value, old: g),
)


def gradient_meta(meta: Meta | None) -> ArrayMeta:
    """The description of a cotangent: of the same shape and dtype, dense; a NumPy scalar for a number."""
    if isinstance(meta, PyMeta):
        return ArrayMeta(np.dtype(meta.type), scalar=True)
    assert meta is not None
    if meta.scalar:
        return replace(meta, writeable=True)
    return ArrayMeta.dense(meta.dtype.newbyteorder("="), meta.shape)


def _gradient(*_: Any) -> Any:
    raise InternalError("a request for a gradient was run before it was expanded")


def _gradient_meta(call: Arguments) -> Inferred:
    return Inferred(tuple(gradient_meta(m) for m in call.args[2]))


GRADIENT = Op("gradient", _gradient, _gradient_meta, signature=parse_signature("value, cotangent, watched, /"))


def _scatter_add(like: Any, values: Any, index: Any) -> Any:
    total = np.zeros(like.shape, np.result_type(values))
    np.add.at(total, index, values)
    return total


def _scatter_meta(call: Arguments) -> Inferred:
    like, values = call.args[:2]
    return Inferred(ArrayMeta.dense(np.dtype(values.dtype), like.shape))


SCATTER_ADD = Op("scatter_add", _scatter_add, _scatter_meta, signature=parse_signature("like, values, index, /"))
