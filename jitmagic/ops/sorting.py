"""Takes nothing, gives the rows that sort, search, count, and pick what is different."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta
from jitmagic.ops.folding import along
from jitmagic.ops.gradients import cast, zero
from jitmagic.ops.gradients.histograms import histogram2d_rules, histogram_rules
from jitmagic.ops.gradients.indexing import of_taken, of_taken_along
from jitmagic.ops.gradients.orders import of_ordered, of_partitioned
from jitmagic.ops.gradients.picking import of_choices, of_compress, of_extract
from jitmagic.ops.gradients.sets import of_unique, setdiff1d_rules, setxor1d_rules, union1d_rules
from jitmagic.ops.probing import counted, probe
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import is_small, run_hollow, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import arrays, called, masks
from jitmagic.ops.spreading import laid_out, run_clipped

__all__: list[str] = []


def _partitioned(call: Arguments) -> Inferred:
    """As sorted; the place asked for does not change the description, but must lie inside."""
    x = array_meta(call.args[0])
    if is_small(call):
        run_hollow(call)
    rest = {k: v for k, v in call.kwargs.items() if k not in ("kth",)}
    small = run_clipped(Arguments(call.op, call.args[:1], {**rest, "kth": 0}, call.env))
    axis = call.get("axis")
    return Inferred(laid_out(small, x.shape if axis is not None else (x.size,)))


def _distinct(call: Arguments) -> Inferred:
    """How many are different only the data tell; the inverse has the size of the input."""
    wanted = [name for name in ("return_index", "return_inverse", "return_counts") if call.get(name)]
    inverse = 1 + wanted.index("return_inverse") if "return_inverse" in wanted else -1
    axis = call.get("axis")
    return probe(call, counted=lambda place, i: place != inverse and i == ((axis or 0) if place == 0 else 0))


def _compressed(call: Arguments) -> Inferred:
    axis = call.get("axis")
    ndim = array_meta(call.args[1]).ndim
    return probe(call, counted=lambda place, i: i == (0 if axis is None else axis % max(ndim, 1)))


TIES = "among equal elements the gradient follows a stable sort"
op("sort", np.sort, meta=along, vjp=(of_ordered,), note=TIES, samples=(called(), called(axis=0), called(axis=None)))
op("argsort", np.argsort, meta=along, forms=(Form("argsort"),), samples=(called(), called(axis=0), called(axis=None)))
op(
    "partition",
    np.partition,
    meta=_partitioned,
    raises=True,
    vjp=(of_partitioned,),
    note=TIES,
    samples=(called(1), called(2, axis=0)),
)
op("argpartition", np.argpartition, meta=_partitioned, forms=(Form("argpartition"),), raises=True, samples=(called(1),))
op(
    "lexsort",
    np.lexsort,
    meta=probe,
    signature="keys, axis=-1",
    samples=(Sample(lambda rng: ((rng.random(4), rng.random(4)),)),),
)
op(
    "searchsorted",
    np.searchsorted,
    meta=probe,
    forms=(Form("searchsorted"),),
    samples=(arrays((4,), (3,)), called(0.5, shape=(4,)), arrays((4,), (3, 2), side="right")),
)
op(
    "digitize",
    np.digitize,
    meta=probe,
    raises=True,
    samples=(Sample(lambda rng: (rng.random((4, 3)), np.arange(3.0))),),
)
op(
    "nonzero",
    np.nonzero,
    meta=counted,
    forms=(Form("nonzero"),),
    raises=True,
    samples=(Sample(lambda rng: (masks()(rng),)), called()),
)
op("flatnonzero", np.flatnonzero, meta=counted, samples=(Sample(lambda rng: (masks()(rng),)),))


def _positions(call: Arguments) -> Inferred:
    """``argwhere``: one row for each element, one column for each axis; NumPy transposes what it found by axis."""
    found = counted(call)
    meta = found.meta
    if not isinstance(meta, ArrayMeta) or meta.ndim != 2:
        return found
    itemsize, rows = meta.dtype.itemsize, meta.hint_shape[0]
    return replace(found, meta=replace(meta, strides=(itemsize, itemsize * rows)))


op("argwhere", np.argwhere, meta=_positions, samples=(Sample(lambda rng: (masks()(rng),)),))
FIRST = "of equal elements the first one gets the gradient"
op(
    "unique",
    np.unique,
    meta=_distinct,
    vjp=(of_unique,),
    note=FIRST,
    samples=(
        called(),
        called(axis=0),
        Sample(lambda rng: (rng.integers(0, 3, 9),)),
        called(return_index=True, shape=(5,)),
        Sample(lambda rng: (rng.integers(0, 3, 9),), {"return_inverse": True, "return_counts": True}),
    ),
)
SETS = {
    "intersect1d": setdiff1d_rules,
    "union1d": union1d_rules,
    "setdiff1d": setdiff1d_rules,
    "setxor1d": setxor1d_rules,
}
for _name in SETS:
    op(
        _name,
        getattr(np, _name),
        meta=counted,
        vjp=SETS[_name],
        note=FIRST,
        samples=(Sample(lambda rng: (rng.integers(0, 9, 6), rng.integers(0, 9, 5))), arrays((5,), (2, 3))),
    )
op("isin", np.isin, meta=probe, samples=(Sample(lambda rng: (rng.integers(0, 9, (4, 3)), rng.integers(0, 9, 5))),))
op(
    "bincount",
    np.bincount,
    meta=counted,
    vjp=(None, lambda g, ans, x, weights=None, minlength=0: cast(g[x], weights)),
    raises=True,
    signature="x, /, weights=None, minlength=0",
    samples=(Sample(lambda rng: (rng.integers(0, 5, 9),)), Sample(lambda rng: (rng.integers(0, 5, 9), rng.random(9)))),
)


def _bins(call: Arguments) -> Inferred:
    """How many bins a rule by name makes, the data tell."""
    if isinstance(call.get("bins"), str):
        unsupported(call, "a number of bins that only the data tell")
    return probe(call)


COUNTS = "counts have derivative 0, also where an element is on an edge"
op(
    "histogram",
    np.histogram,
    meta=_bins,
    raises=True,
    vjp=histogram_rules,
    note=COUNTS,
    samples=(
        called(),
        called(4, range=(0.0, 1.0)),
        called([0.1, 0.5, 1.5]),
        Sample(lambda rng: (rng.random(9), 4, (0.1, 0.8), None, rng.random(9))),
    ),
)
op(
    "histogram2d",
    np.histogram2d,
    meta=probe,
    raises=True,
    vjp=histogram2d_rules,
    note=COUNTS,
    samples=(
        Sample(lambda rng: (rng.random(9), rng.random(9), 3)),
        Sample(lambda rng: (rng.random(9), rng.random(9), [2, [0.1, 0.4, 0.9]], None, True, rng.random(9))),
    ),
)
op(
    "compress",
    np.compress,
    vjp=(None, of_compress),
    meta=_compressed,
    forms=(Form("compress", lambda a, c, *r, **k: ((c, a, *r), k)),),
    raises=True,
    samples=(Sample(lambda rng: (rng.random(4) < 0.5, rng.random((4, 3))), {"axis": 0}),),
)
op(
    "extract",
    np.extract,
    meta=counted,
    raises=True,
    vjp=(zero(0), of_extract),
    samples=(Sample(lambda rng: (masks()(rng), rng.random((4, 3)))),),
)


def _taken(call: Arguments) -> Inferred:
    """One axis is replaced by the axes of the index array."""
    x, indices = array_meta(call.args[0]), call.get("indices")
    axis = call.get("axis")
    index = array_meta(indices)
    shape = x.shape if axis is not None else (x.size,)
    place = 0 if axis is None else axis
    special = isinstance(call.kwargs.get("out"), ArrayMeta) or 0 in (*x.hint_shape, *index.hint_shape)
    if special or index.dtype.kind not in "iu" or not -len(shape) <= place < len(shape):
        return probe(call)
    place %= len(shape)
    full = (*shape[:place], *index.shape, *shape[place + 1 :])
    if not full:
        return Inferred(ArrayMeta(x.dtype.newbyteorder("="), scalar=True))
    return Inferred(ArrayMeta.dense(x.dtype, full))


op(
    "take",
    np.take,
    meta=_taken,
    vjp=(of_taken,),
    forms=(Form("take"),),
    raises=True,
    samples=(
        called(1),
        called([0, 2], axis=0),
        Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 3, (2, 2)), 1)),
    ),
)
op(
    "take_along_axis",
    np.take_along_axis,
    meta=probe,
    vjp=(of_taken_along,),
    raises=True,
    samples=(Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 3, (4, 2)), 1)),),
)
op(
    "choose",
    np.choose,
    meta=probe,
    vjp=(None, of_choices),
    forms=(Form("choose"),),
    raises=True,
    samples=(Sample(lambda rng: (rng.integers(0, 2, 3), (rng.random(3), rng.random(3)))),),
)
