"""From an array to a Python number: ``x.item()``, ``float(x)``, and the answer to ``value in x``."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.ops.describe import array_meta, describe
from jitmagic.ops.gradients import as_operand
from jitmagic.ops.gradients.shapes import shape_of
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.ops.refusals import unsupported
from jitmagic.ops.registry import op

__all__ = ["CONTAINS", "PYTHON_KINDS", "TO_LIST", "TO_PYTHON"]


def _to_float(array: Any) -> float:
    return float(array.item())


def _to_complex(array: Any) -> complex:
    return complex(array.item())


def _to_int(array: Any) -> int:
    return int(array.item())


def _to_bool(array: Any) -> bool:
    return bool(array.item())


def _from_number(g: Any, ans: Any, array: Any) -> Any:
    return as_operand(g if hasattr(g, "dtype") else np.asarray(g), array)


def _from_numbers(g: Any, ans: Any, array: Any) -> Any:
    """Of a list of numbers: None stands for those that nothing came back to."""
    given = (*g, *(None,) * (shape_of(array)[0] - len(g)))
    return as_operand(np.stack([np.zeros((), array.dtype) if each is None else each for each in given]), array)


def _meta(kind: type) -> Any:
    def rule(call: Arguments) -> Inferred:
        return Inferred(PyMeta(kind))

    return rule


TO_PYTHON: dict[str, Op] = {
    "f": op("to_float", _to_float, meta=_meta(float), vjp=(_from_number,)),
    "c": op("to_complex", _to_complex, meta=_meta(complex), vjp=(_from_number,)),
    "i": op("to_int", _to_int, meta=_meta(int)),
    "b": op("to_bool", _to_bool, meta=_meta(bool)),
}
TO_PYTHON["u"] = TO_PYTHON["i"]


PYTHON_KINDS: dict[str, type] = {"f": float, "c": complex, "i": int, "u": int, "b": bool}


def _listed(call: Arguments) -> Inferred:
    """One number for each element of an array of a known size."""
    (x,) = call.args
    if not isinstance(x, ArrayMeta) or x.ndim != 1 or x.is_symbolic or x.dtype.char in "gG":
        unsupported(call, "of an array of that shape")
    return Inferred((PyMeta(PYTHON_KINDS[x.dtype.kind]),) * x.hint_shape[0], container=list)


def _list(array: Any) -> Any:
    return array.tolist()


TO_LIST = op("to_list", _list, meta=_listed, vjp=(_from_numbers,))


def _contained(call: Arguments) -> Inferred:
    """As ``(x == value).any()``: NumPy refuses what does not broadcast."""
    x, value = call.args
    if isinstance(x, ArrayMeta) and (describe(value) is None or array_meta(value).ndim):
        unsupported(call, "in an array")
    return Inferred(PyMeta(bool))


CONTAINS = op("contains", operator.contains, meta=_contained)
