"""Takes nothing, gives the rows of functions that made-up numbers would upset: fits, and checks of values."""

from __future__ import annotations

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta
from jitmagic.ops.gradients.polynomials import polyfit_rules
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.refusals import refuse, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called
from jitmagic.ops.sizes import same_size

__all__: list[str] = []


def _fitted(call: Arguments) -> Inferred:
    """Asked on a line through a few points; the number of coefficients does not depend on how many there are."""
    x, y, degree = array_meta(call.args[0]), array_meta(call.args[1]), call.get("deg")
    if call.get("full") or call.get("cov") or call.get("w") is not None or type(degree) is not int:
        unsupported(call, "more than the coefficients")
    if degree < 0 or x.ndim != 1 or y.ndim not in (1, 2) or not same_size(x.shape[0], y.shape[0]):
        refuse(call)
    points = np.arange(degree + 3)
    with Quiet():
        values = np.zeros((degree + 3,) + (2,) * (y.ndim - 1), y.dtype)
        found = np.polyfit(points.astype(x.dtype), values, degree)
    return Inferred(ArrayMeta.dense(found.dtype, (degree + 1, *y.shape[1:])).owned_as(found))


op(
    "polyfit",
    np.polyfit,
    meta=_fitted,
    raises=True,
    warns=frozenset({"divide", "over", "under", "invalid"}),
    vjp=polyfit_rules,
    samples=(
        Sample(lambda rng: (np.arange(6.0), rng.random(6), 2)),
        Sample(lambda rng: (np.arange(6.0), rng.random((6, 3)), 1)),
    ),
)


def _checked(call: Arguments) -> Inferred:
    """The operand itself; it is only looked at."""
    x = call.args[0]
    if not isinstance(x, ArrayMeta) or x.scalar or len(call.args) > 1 or call.kwargs:
        unsupported(call, "a conversion")
    return Inferred(x, same_as=0)


op(
    "asarray_chkfinite",
    np.asarray_chkfinite,
    meta=_checked,
    raises=True,
    vjp=(lambda g, ans, a: g,),
    samples=(called(),),
)
