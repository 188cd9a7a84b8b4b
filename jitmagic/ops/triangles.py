"""Rows of our own that derivatives of matrix factors call: the inverse of a lower triangle, a matrix and its mirror."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import hint_of
from jitmagic.ops.describe import array_meta
from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast
from jitmagic.ops.gradients.triangles import check_square, inverse_of_lower, lower, plus_adjoint
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.registry import op

__all__ = ["ALL", "square"]


def square(call: Arguments) -> Inferred:
    """Of functions that give new square matrices like the first operand."""
    meta = array_meta(call.args[0])
    check_square(meta)
    if any(hint_of(n) == 0 for n in meta.shape):  # NumPy's new arrays without elements have no strides
        return Inferred(ArrayMeta(meta.dtype, meta.shape, (0,) * meta.ndim))
    return Inferred(ArrayMeta.dense(meta.dtype, meta.shape))


def _of_inverse(g: Any, ans: Any, low: Any) -> Any:
    back = turned(ans)
    return cast(lower(-back @ g @ back), low)


ALL = frozenset({"divide", "over", "under", "invalid"})

op(
    "inverse_of_lower",
    inverse_of_lower,
    meta=square,
    signature="low, /",
    raises=True,
    warns=ALL,
    vjp=(_of_inverse,),
    samples=(
        Sample(lambda rng: (np.tril(rng.uniform(0.5, 2, (5, 5))),)),
        Sample(lambda rng: (np.tril(rng.uniform(-0.1, 0.1, (2, 40, 40))) + np.eye(40),)),
    ),
)

op(
    "plus_adjoint",
    plus_adjoint,
    meta=square,
    signature="x, /",
    warns=ALL,
    vjp=(lambda g, ans, x: cast(invoke(plus_adjoint, g), x),),
    samples=(Sample(lambda rng: (rng.uniform(-3, 3, (2, 4, 4)),)), Sample(lambda rng: (np.eye(300),))),
)
