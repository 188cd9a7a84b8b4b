"""From a one-element array to a Python number (``x.item()``, ``float(x)``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph.meta import PyMeta
from jitmagic.ops.gradients import as_operand
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.registry import op

__all__ = ["TO_PYTHON"]


def _to_float(array: Any) -> float:
    return float(array.item())


def _to_complex(array: Any) -> complex:
    return complex(array.item())


def _from_number(g: Any, ans: Any, array: Any) -> Any:
    return as_operand(np.asarray(g), array)


def _meta(kind: type) -> Any:
    def rule(call: Arguments) -> Inferred:
        return Inferred(PyMeta(kind))

    return rule


TO_PYTHON: dict[str, Op] = {
    "f": op("to_float", _to_float, meta=_meta(float), vjp=(_from_number,)),
    "c": op("to_complex", _to_complex, meta=_meta(complex), vjp=(_from_number,)),
}
