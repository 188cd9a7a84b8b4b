"""Takes nothing, gives the row of ``sliding_window_view``, a view in which elements stand several times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.gradients.indexing import placed
from jitmagic.ops.gradients.shapes import axes_of, counted, shape_of
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.refusals import refuse, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called

__all__: list[str] = []


def _windows(call: Arguments) -> Inferred:
    """A window may stand as often on an axis as that is longer than it, and once."""
    x, sizes, axis = call.args[0], call.get("window_shape"), call.get("axis")
    if not isinstance(x, ArrayMeta) or x.scalar or call.get("writeable"):
        unsupported(call, "windows of what is no array, or that may be written")
    sizes = tuple(sizes) if isinstance(sizes, tuple | list) else (sizes,)
    if not all(isinstance(n, int | SymInt | np.integer) and not isinstance(n, bool) for n in sizes):
        refuse(call)
    try:
        axes = axes_of(x, axis)
        found = sliding_window_view(x.standin(), tuple(map(hint_of, sizes)), axis=axis)
    except (ValueError, IndexError):
        refuse(call)
    shape: list[Dim] = list(x.shape)
    for at, n in zip(axes, sizes, strict=True):
        if not (n >= 0 and shape[at] >= n):  # for symbols a condition on the arguments
            refuse(call)
        shape[at] = shape[at] - n + 1
    meta = ArrayMeta(found.dtype, (*shape, *sizes), found.strides, writeable=False, owns=False)
    return Inferred(meta, view_of=0)


def _of_windows(g: Any, ans: Any, x: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    """Each element takes the sum over all places in the windows where it stands."""
    ndim, total = len(shape_of(x)), len(shape_of(g))

    def along(axis: int) -> Any:
        return np.reshape(counted(g, axis), (1,) * axis + (-1,) + (1,) * (total - axis - 1))

    index = [along(i) for i in range(ndim)]
    for place, at in enumerate(axes_of(x, axis)):
        index[at] = index[at] + along(ndim + place)
    return placed(x, g, tuple(index))


op(
    "sliding_window_view",
    sliding_window_view,
    meta=_windows,
    lower=View(),
    vjp=(_of_windows,),
    samples=(
        called((2, 2)),
        called(3, axis=0),
        called((2, 2), axis=(1, 1)),
        Sample(lambda rng: (rng.random(7), 3)),
    ),
)
