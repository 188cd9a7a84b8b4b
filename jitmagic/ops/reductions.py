"""Takes nothing, gives the rows of functions that fold an axis: sums, extremes, means, tests, positions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.folding import fold
from jitmagic.ops.gradients.folds import (
    average_rules,
    extreme_rules,
    nanprod_rules,
    nanstd_rules,
    nansum_rules,
    nanvar_rules,
    of_mean,
    of_nanmean,
    of_ptp,
    prod_rules,
    std_rules,
    sum_rules,
    var_rules,
)
from jitmagic.ops.gradients.orders import (
    of_median,
    of_nanmedian,
    of_nanpercentile,
    of_nanquantile,
    of_percentile,
    of_quantile,
)
from jitmagic.ops.lowering import Reduction
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Form, Inferred, MetaRule, Rules, Sample
from jitmagic.ops.refusals import unsupported
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

RULES: dict[str, Rules] = {
    "sum": sum_rules,
    "prod": prod_rules,
    "max": extreme_rules,
    "min": extreme_rules,
    "mean": (of_mean,),
    "std": std_rules,
    "var": var_rules,
    "ptp": (of_ptp,),
    "average": average_rules,
    "nansum": nansum_rules,
    "nanprod": nanprod_rules,
    "nanmax": extreme_rules,
    "nanmin": extreme_rules,
    "nanmean": (of_nanmean,),
    "nanstd": nanstd_rules,
    "nanvar": nanvar_rules,
    "median": (of_median,),
    "nanmedian": (of_nanmedian,),
    "percentile": (of_percentile,),
    "nanpercentile": (of_nanpercentile,),
    "quantile": (of_quantile,),
    "nanquantile": (of_nanquantile,),
}
SHARED = "elements that share the extreme share the gradient evenly, half of it with an equal initial="
NOTES = {
    **dict.fromkeys(("max", "min", "nanmax", "nanmin"), SHARED),
    "ptp": "elements that share an extreme share the gradient evenly",
    **dict.fromkeys(("std", "nanstd"), "the derivative counts as 0 where all elements are equal"),
    **dict.fromkeys(("median", "nanmedian", "quantile", "percentile"), "the gradient goes to the one that sorts first"),
}

REFUSE_EMPTY = frozenset({"max", "min", "argmax", "argmin", "ptp", "nanmax", "nanmin"})
DATA_ERRORS = frozenset({"nanargmax", "nanargmin", "average", "percentile", "quantile", "nanpercentile", "nanquantile"})


def _may_be_empty(call: Arguments) -> bool:
    """Nothing is the largest of no elements; a size that only the data tell may be 0."""
    x = call.args[0] if call.args else None
    sizes = x.shape if isinstance(x, ArrayMeta) else ()
    return any(s.run_time for n in sizes if isinstance(n, SymInt) for s in symbols_of(n.poly))


WARN_OF_NOTHING = frozenset({"mean", "std", "var", "median", "nanmean", "nanstd", "nanvar", "nanmedian"})


def _of_something(rule: MetaRule) -> MetaRule:
    """``rule`` for folds that warn in words of their own (``Mean of empty slice``) where there is nothing to fold."""

    def checked(call: Arguments) -> Inferred:
        x = call.args[0] if call.args else None
        if isinstance(x, ArrayMeta) and any(n == 0 for n in x.shape if isinstance(n, int)):
            unsupported(call, "an empty array, of which NumPy warns")
        if isinstance(x, ArrayMeta) and call.kwargs.get("ddof"):
            _check_freedom(call, x, call.kwargs.get("axis", call.args[1] if len(call.args) > 1 else None))
        return rule(call)

    return checked


def _check_freedom(call: Arguments, x: ArrayMeta, axis: Any) -> None:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count: Any = 1
    for each in axes:
        if not isinstance(each, int) or not -x.ndim <= each < x.ndim:
            return  # the rule refuses it
        count = count * x.shape[each]
    ddof = call.kwargs["ddof"]
    if isinstance(ddof, int | float) and count <= int(ddof):
        unsupported(call, "fewer elements than degrees of freedom, of which NumPy warns")


FAST = frozenset({"sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "argmax", "argmin", "ptp", "nansum"})


def _quiet_about_nothing(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` that raises at once for no elements where its caller wants errors raised.

    It would warn in words of its own before NumPy raises; the plain run, which comes after such an error, warns again.
    """

    @functools.wraps(function)
    def fold_of_something(*args: Any, **kwargs: Any) -> Any:
        if args and np.size(args[0]) == 0 and np.geterr()["invalid"] == "raise":
            raise FloatingPointError(f"{function.__name__} of an empty array")
        return function(*args, **kwargs)

    return fold_of_something


def _call_of(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(np, name)
    return _quiet_about_nothing(function) if name in WARN_OF_NOTHING else function


def _functions_of(name: str, others: tuple[str, ...]) -> list[Any]:
    """NumPy's functions that mean the row, besides its ``call``."""
    own = (name,) if name in WARN_OF_NOTHING else ()
    return [getattr(np, each) for each in (*own, *others)]


def _meta_of(name: str) -> MetaRule:
    rule = fold if name in FAST else probe
    return _of_something(rule) if name in WARN_OF_NOTHING else rule


for _name, _functions, _methods, _lower, _warns, _samples in FOLDS:
    op(
        _name,
        _call_of(_name),
        meta=_meta_of(_name),
        forms=tuple(map(Form, (*_functions_of(_name, _functions), *_methods))),
        lower=_lower,
        warns=_warns,
        raises=_may_be_empty if _name in REFUSE_EMPTY else _name in DATA_ERRORS,
        vjp=RULES.get(_name),
        note=NOTES.get(_name, ""),
        samples=_samples,
    )
