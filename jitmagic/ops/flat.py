"""Takes nothing, gives the row of ``x.flat[index]``: elements by their number in C order, always as a copy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import shape_of
from jitmagic.ops.indexing import normalise
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.refusals import refuse, unsupported
from jitmagic.ops.registry import by_name, op
from jitmagic.ops.samples import called

__all__: list[str] = []


def _flat_item(a: Any, index: Any, /) -> Any:
    return a.flat[index]


def _picked(call: Arguments) -> Inferred:
    """What the same index picks of one axis; a part of it is a copy here."""
    x, index = call.args
    if not isinstance(x, ArrayMeta) or x.scalar:
        unsupported(call, "elements of what is no array")
    if any(item.kind == "new" or (item.kind == "mask" and item.axes != 1) for item in normalise(index, call)):
        unsupported(call, "an index of several axes")
    line = ArrayMeta.dense(x.dtype, (x.size,))
    getitem = by_name("getitem")
    try:
        found = getitem.meta(replace(call, op=getitem, args=(line, index), kwargs={}))
    except IndexError:
        refuse(call)  # in the words of x.flat
    meta = found.meta
    if not isinstance(meta, ArrayMeta) or meta.scalar:
        return found
    if 0 in meta.hint_shape:
        unsupported(call, "no element")
    return Inferred(ArrayMeta.dense(meta.dtype, meta.shape), run_time_sizes=found.run_time_sizes)


def _of_flat_item(g: Any, ans: Any, a: Any, index: Any) -> Any:
    return np.reshape(placed(np.reshape(a, -1), g, index), shape_of(a))


op(
    "flat_item",
    _flat_item,
    meta=_picked,
    signature="a, index, /",
    raises=True,
    vjp=(_of_flat_item,),
    samples=(
        called(5),
        called(-1),
        called(slice(1, None, 3)),
        called(...),
        called([0, 2, 2]),
        Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 12, (2, 2)))),
        Sample(lambda rng: (rng.random((4, 3)), rng.random(12) < 0.5)),
    ),
    note="elements by their number in C order, as a copy",
)
