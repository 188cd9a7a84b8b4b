"""Takes nothing, gives the rows of functions that fold an axis: sums, extremes, means, tests, positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.folding import fold
from jitmagic.ops.lowering import Reduction
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Form, Sample
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called

__all__ = ["folding_samples"]

ALL = frozenset({"divide", "over", "under", "invalid"})
NONE: frozenset[str] = frozenset()


def folding_samples(**kwargs: Any) -> tuple[Sample, ...]:
    return (
        called(**kwargs),
        called(axis=0, **kwargs),
        called(axis=-1, keepdims=True, **kwargs),
        called(axis=(0, 2), shape=(4, 3, 2), **kwargs),
    )


SAMPLES = folding_samples()
ONE_AXIS = (called(), called(axis=0), called(axis=1, shape=(4, 3, 2)))

# name, other functions, methods, lowering, floating-point conditions, samples
FOLDS: tuple[
    tuple[str, tuple[str, ...], tuple[str, ...], Reduction | None, frozenset[str], tuple[Sample, ...]], ...
] = (
    ("sum", (), ("sum",), Reduction("sum"), ALL, SAMPLES),
    ("prod", (), ("prod",), Reduction("prod"), ALL, SAMPLES),
    ("max", ("amax",), ("max",), Reduction("max"), frozenset({"invalid"}), SAMPLES),
    ("min", ("amin",), ("min",), Reduction("min"), frozenset({"invalid"}), SAMPLES),
    ("any", (), ("any",), Reduction("any"), NONE, SAMPLES),
    ("all", (), ("all",), Reduction("all"), NONE, SAMPLES),
    ("mean", (), ("mean",), Reduction("mean"), ALL, SAMPLES),
    ("std", (), ("std",), None, ALL, SAMPLES),
    ("var", (), ("var",), None, ALL, SAMPLES),
    ("argmax", (), ("argmax",), Reduction("argmax"), NONE, ONE_AXIS),
    ("argmin", (), ("argmin",), Reduction("argmin"), NONE, ONE_AXIS),
    ("ptp", (), (), None, ALL, SAMPLES),
    ("count_nonzero", (), (), None, NONE, SAMPLES),
    ("median", (), (), None, ALL, SAMPLES),
    ("average", (), (), None, ALL, (called(), called(axis=0), called(axis=1))),
    ("nansum", (), (), None, ALL, SAMPLES),
    ("nanprod", (), (), None, ALL, SAMPLES),
    ("nanmax", (), (), None, ALL, SAMPLES),
    ("nanmin", (), (), None, ALL, SAMPLES),
    ("nanmean", (), (), None, ALL, SAMPLES),
    ("nanstd", (), (), None, ALL, SAMPLES),
    ("nanvar", (), (), None, ALL, SAMPLES),
    ("nanmedian", (), (), None, ALL, SAMPLES),
    ("nanargmax", (), (), None, NONE, ONE_AXIS),
    ("nanargmin", (), (), None, NONE, ONE_AXIS),
    ("percentile", (), (), None, ALL, (called(30.0), called((25, 75), axis=0))),
    ("quantile", (), (), None, ALL, (called(0.3), called((0.25, 0.75), axis=0))),
    ("nanpercentile", (), (), None, ALL, (called(30.0), called((25, 75), axis=0))),
    ("nanquantile", (), (), None, ALL, (called(0.3), called((0.25, 0.75), axis=0))),
)

REFUSE_EMPTY = frozenset({"max", "min", "argmax", "argmin", "ptp", "nanmax", "nanmin"})
DATA_ERRORS = frozenset({"nanargmax", "nanargmin", "average", "percentile", "quantile", "nanpercentile", "nanquantile"})


def _may_be_empty(call: Arguments) -> bool:
    """Nothing is the largest of no elements; a size that only the data tell may be 0."""
    x = call.args[0] if call.args else None
    sizes = x.shape if isinstance(x, ArrayMeta) else ()
    return any(s.run_time for n in sizes if isinstance(n, SymInt) for s in symbols_of(n.poly))


FAST = frozenset({"sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "argmax", "argmin", "ptp", "nansum"})

for _name, _functions, _methods, _lower, _warns, _samples in FOLDS:
    op(
        _name,
        getattr(np, _name),
        meta=fold if _name in FAST else probe,
        forms=(*(Form(getattr(np, f)) for f in _functions), *(Form(m) for m in _methods)),
        lower=_lower,
        warns=_warns,
        raises=_may_be_empty if _name in REFUSE_EMPTY else _name in DATA_ERRORS,
        samples=_samples,
    )
