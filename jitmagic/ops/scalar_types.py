"""Takes nothing, gives the rows of NumPy's scalar classes when they are called: ``np.float32(x)``, ``np.int64(n)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.gradients import as_operand
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred, Sample
from jitmagic.ops.registry import op

__all__: list[str] = []

CLASSES: tuple[type[np.generic], ...] = (
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float32, np.float64, np.complex64, np.complex128),
)


def _rule(call: Arguments) -> Inferred:
    """One number gives a scalar of the class; arrays with axes are left to plain Python."""
    value = call.get("value")
    if isinstance(value, ArrayMeta):
        if value.ndim:
            raise Unsupported("operator", f"{call.op.name}() of an array")
    elif not isinstance(value, PyMeta | SymInt):
        if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
            raise Unsupported("operator", f"{call.op.name}() of a {type(value).__name__}")
        with Quiet():
            call.op.call(value)  # a number that the class refuses raises here
    return Inferred(ArrayMeta(np.dtype(call.op.name), scalar=True))


SMOOTH = CLASSES[8:]


def _given(value: Any) -> Sample:
    return Sample(lambda rng: (value,))


for _class in CLASSES:
    op(
        _class.__name__,
        _class,
        meta=_rule,
        signature="value=0, /",
        raises=True,
        vjp=(lambda g, ans, value=0: as_operand(g, value),) if _class in SMOOTH else None,
        warns=frozenset({"invalid", "over", "under"}),
        samples=tuple(map(_given, (0, 1, 2.5, True, np.float32(1.5), np.int8(3), np.array(2.0)))),
        note="arrays with axes are left to plain Python",
    )
